//! Worlds for the tests of the search: a tree with quotas, what runs in it, and who may take what.

mod beyond;
mod classical;
mod fair;
mod naive;
mod properties;

use super::*;
use crate::{
    share::Resource,
    tree::{NodeSpec, Quota},
    weight::Weight,
    workload::{Elastic, Terms, Workload},
};

pub(super) const GPU: FlavorResource = FlavorResource(0);
pub(super) const CPU: FlavorResource = FlavorResource(1);

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) tree: Tree,
    pub(super) shares: Shares,
    pub(super) running: Running,
    pub(super) policies: Vec<QueuePolicy>,
    pub(super) rules: PreemptionRules,
    pub(super) now: i64,
}

/// A cohort below another.
pub(super) fn cohort(parent: Option<u32>, gpus: i64) -> NodeSpec {
    NodeSpec { parent, quotas: quotas(gpus), ..NodeSpec::default() }
}

/// A queue in a cohort.
pub(super) fn queue(parent: Option<u32>, gpus: i64) -> NodeSpec {
    NodeSpec { is_queue: true, ..cohort(parent, gpus) }
}

fn quotas(gpus: i64) -> Vec<(FlavorResource, Quota)> {
    vec![(GPU, Quota { nominal: Amount::new(gpus), ..Quota::default() })]
}

pub(super) fn gpus(much: i64) -> Vec<(FlavorResource, Amount)> {
    vec![(GPU, Amount::new(much))]
}

impl World {
    /// Queues take whatever is lower in their own and anything that others borrow.
    pub(super) fn new(specs: Vec<NodeSpec>) -> Self {
        let tree = Tree::build(&specs, 2).unwrap();
        let shares = Shares::build(&tree, &[Resource(0), Resource(1)]);
        let policy = QueuePolicy { within_queue: Takes::LowerPriority, reclaim: Takes::Any, while_borrowing: None };
        let (policies, rules) = (vec![policy; specs.len()], PreemptionRules::kueue(None));
        Self { tree, shares, running: Running::new(), policies, rules, now: 1000 }
    }

    pub(super) fn policy(mut self, node: u32, change: impl FnOnce(&mut QueuePolicy)) -> Self {
        change(&mut self.policies[node as usize]);
        self
    }

    pub(super) fn rules(mut self, rules: PreemptionRules) -> Self {
        self.rules = rules;
        self
    }

    /// A workload that uses so many GPUs; its identity is its place.
    pub(super) fn run(mut self, node: u32, priority: i64, much: i64) -> Self {
        let workload = self.workload(node, priority, much);
        self.running.add(workload);
        self
    }

    pub(super) fn run_with(mut self, node: u32, priority: i64, much: i64, change: impl FnOnce(&mut Workload)) -> Self {
        let mut workload = self.workload(node, priority, much);
        change(&mut workload);
        self.running.add(workload);
        self
    }

    fn workload(&self, node: u32, priority: i64, much: i64) -> Workload {
        Workload {
            queue: NodeIx(node),
            priority,
            identity: self.running.iter().count() as u64,
            queued_at: Some(0),
            quota_at: Some(0),
            usage: gpus(much),
            evicting: false,
            local_usage: 0,
            elastic: None,
            terms: Terms::default(),
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let mut usage = self.tree.unused();
        self.running.iter().for_each(|(_, workload)| workload.charge(&self.tree, &mut usage));
        usage
    }

    /// Searches, and makes sure that the usage is left as it was.
    pub(super) fn search_in(&self, asking: &Asking<'_>, place: &mut dyn Place) -> Result<Plan, Refusal> {
        let before = self.usage();
        let mut usage = before.clone();
        let Self { tree, shares, running, policies, rules, now, .. } = self;
        let mut scene = Scene { tree, shares, usage: &mut usage, running, policies, rules, now: *now };
        let found = search(&mut scene, asking, place);
        assert_eq!(usage, before);
        found
    }

    pub(super) fn ask(&self, node: u32, priority: i64, much: i64) -> Result<Plan, Refusal> {
        let (request, contested) = (gpus(much), [GPU]);
        let queued_at = Some(5);
        let asking = Asking {
            queue: NodeIx(node),
            priority,
            queued_at,
            request: &request,
            contested: &contested,
            displaced_by: None,
        };
        self.search_in(&asking, &mut AnyPlace)
    }

    /// Who would have to go.
    pub(super) fn victims(&self, node: u32, priority: i64, much: i64) -> Vec<u32> {
        self.ask(node, priority, much).unwrap().victims.iter().map(|victim| victim.workload.0).collect()
    }

    pub(super) fn refusal(&self, node: u32, priority: i64, much: i64) -> Because {
        self.ask(node, priority, much).unwrap_err().because
    }
}

/// So many spare units of one GPU.
pub(super) fn elastic(spare: u32) -> Option<Elastic> {
    Some(Elastic { unit: gpus(1), spare })
}

pub(super) fn weight(spec: NodeSpec, weight: &str) -> NodeSpec {
    NodeSpec { weight: Weight::from_decimal(weight).unwrap(), ..spec }
}
