//! The policies that can be compared. Each is an estate and a profile of the same engine: where quota is, who is next, and
//! what may be taken from whom.
//!
//! ```text
//!   fifo, lifo, priority   one queue for everybody; its first holds up the others
//!   fair, drf              one queue for each team, all quota in common; the smallest share is served first
//!   kueue, gpuaas          one queue for each team with quota of its own; what is lent can be taken back
//!   kai                    the same quotas under the rules of the other scheduler that the engine knows
//! ```

use crate::{
    stage::{Setup, Stage},
    trace::{Asks, Job},
};
use govern::{
    amount::Amount,
    cycle::{
        Estate, Profile, Scheduler,
        book::{ShapeIx, Strategy},
    },
    flavors::{
        Flavor, FlavorIx, Group, Offer, PodSet,
        matching::{Label, Needs, Value},
    },
    order::Order,
    preempt::{FairStrategies, PreemptionRules, QueuePolicy, Takes},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree, TreeFault},
    weight::Weight,
};

/// A policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// Who came first.
    Fifo,
    /// Who came last.
    Lifo,
    /// The highest class, then who came first; lower classes are stopped for higher ones.
    Priority,
    /// The team with the smallest share of GPUs.
    Fair,
    /// The team with the smallest dominant share.
    Drf,
    /// As Kueue does it.
    Kueue,
    /// As the KAI scheduler does it.
    Kai,
    /// Our own.
    Gpuaas,
}

/// All of them, in the order in which they are shown.
pub const ALL: [Policy; 8] = [
    Policy::Fifo,
    Policy::Lifo,
    Policy::Priority,
    Policy::Fair,
    Policy::Drf,
    Policy::Kueue,
    Policy::Kai,
    Policy::Gpuaas,
];

// With our own policy a job runs this long before it can be stopped for others: as long as checkpoints are apart.
const RUN_S_MIN: u32 = 3600;
// And a team that is this little beyond its own, in thousandths, is left alone.
const DEAD_ZONE_PER_MILLE: u32 = 100;
// Shares that differ by less than this, in thousandths, are equal enough. With less, teams trade places over next to nothing,
// and the work that is lost buys no fairness that one could see.
const SHARE_MARGIN_PER_MILLE: u32 = 50;
// A cycle looks at many workloads of a queue where the policy does not say otherwise.
const HEADS: u32 = 64;
// The label that names a model of GPU.
const MODEL: u32 = 0;

impl Policy {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lifo => "lifo",
            Self::Priority => "priority",
            Self::Fair => "fair",
            Self::Drf => "drf",
            Self::Kueue => "kueue",
            Self::Kai => "kai",
            Self::Gpuaas => "gpuaas",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// What it does, in a sentence.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Fifo => "One line for everybody; whoever came first holds up the rest until it fits.",
            Self::Lifo => "One line for everybody; whoever came last goes first and holds up the rest until it fits.",
            Self::Priority => "One line by class, then by age; lower classes are stopped for higher ones.",
            Self::Fair => "The team with the smallest share of the GPUs is served next; nobody is stopped.",
            Self::Drf => "The team whose largest share of any resource is smallest is served next; nobody is stopped.",
            Self::Kueue => "Each team has quota and borrows what others leave; what is lent is reclaimed at once.",
            Self::Kai => {
                "Each team has quota and a fair part of the surplus; teams below theirs reclaim from those above."
            }
            Self::Gpuaas => {
                "Quota, borrowing by fair share, fewest victims, and a first hour that only owners take away."
            }
        }
    }

    /// Whether it stops jobs for others.
    #[must_use]
    pub const fn stops_jobs(self) -> bool {
        matches!(self, Self::Priority | Self::Kueue | Self::Kai | Self::Gpuaas)
    }

    const fn has_one_line(self) -> bool {
        matches!(self, Self::Fifo | Self::Lifo | Self::Priority)
    }

    const fn has_quotas(self) -> bool {
        matches!(self, Self::Kueue | Self::Gpuaas)
    }

    fn profile(self) -> Profile {
        let fair = Some(FairStrategies::Both);
        let many = |rules| Profile { heads_per_queue: HEADS, ..Profile::kueue(rules) };
        match self {
            Self::Fifo | Self::Lifo | Self::Priority => many(PreemptionRules::kueue(None)),
            Self::Fair | Self::Drf => many(PreemptionRules::kueue(fair)),
            Self::Kueue | Self::Kai => Profile::kueue(PreemptionRules::kueue(None)),
            Self::Gpuaas => {
                let rules = PreemptionRules {
                    run_s_min: RUN_S_MIN,
                    dead_zone_per_mille: DEAD_ZONE_PER_MILLE,
                    share_margin_per_mille: SHARE_MARGIN_PER_MILLE,
                    ..PreemptionRules::own(fair)
                };
                // No job of a trace says how long it will run, so GPUs kept for who waits longest would only stand idle.
                Profile { patience_s: None, ..Profile::own(rules) }
            }
        }
    }

    fn takes(self) -> QueuePolicy {
        let (within_queue, reclaim) = match self {
            Self::Priority => (Takes::LowerPriority, Takes::Never),
            Self::Kueue | Self::Gpuaas => (Takes::LowerPriority, Takes::Any),
            _ => (Takes::Never, Takes::Never),
        };
        QueuePolicy { within_queue, reclaim, while_borrowing: None }
    }

    /// The queue of a team.
    pub(crate) const fn queue_of(self, team: u32) -> NodeIx {
        NodeIx(if self.has_one_line() { 1 } else { team.saturating_add(1) })
    }

    /// The engine under this policy, with nothing in it.
    pub(crate) fn scheduler(self, stage: &Stage, setup: &Setup) -> Result<Scheduler, TreeFault> {
        let cells = Cells { width: stage.width, models: setup.models.max(1) };
        let specs = self.nodes(stage, &cells);
        let width = cells.models.saturating_mul(u32::try_from(cells.width).unwrap_or(u32::MAX));
        let tree = Tree::build(&specs, width)?;
        let resource = |cell: u32| Resource(cell % u32::try_from(cells.width).unwrap_or(1).max(1));
        let resources: Vec<Resource> = (0..width).map(resource).collect();
        // Where shares count GPUs alone, the rest is measured against nothing and so does not count.
        let shares = if self == Self::Drf {
            Shares::build(&tree, &resources)
        } else {
            let gpu = |(what, _): &(FlavorResource, Quota)| resource(what.0) == Resource(0);
            let mut bare = specs.clone();
            bare.iter_mut().for_each(|spec| spec.quotas.retain(gpu));
            Shares::build(&Tree::build(&bare, width)?, &resources)
        };
        let flavor = |model: u32| {
            let value = Value { id: model, number: None };
            Some(Flavor { labels: vec![Label { key: MODEL, value }], ..Flavor::default() })
        };
        let estate = Estate {
            shares,
            catalog: (0..cells.models).map(flavor).collect(),
            offers: vec![cells.offer(); specs.len()],
            policies: vec![self.takes(); specs.len()],
            tree,
            pods: None,
        };
        let queues: Vec<NodeIx> = estate.tree.nodes().filter(|node| estate.tree.is_queue(*node)).collect();
        let mut scheduler = Scheduler::new(estate, self.profile());
        let strategy = if self.has_one_line() { Strategy::Strict } else { Strategy::BestEffort };
        let order = match self {
            Self::Fifo | Self::Fair | Self::Drf => Order::Age,
            Self::Lifo => Order::NewestFirst,
            Self::Priority | Self::Kueue | Self::Kai | Self::Gpuaas => Order::PriorityThenAge,
        };
        queues.into_iter().for_each(|queue| scheduler.set_queue(queue, strategy, order));
        Ok(scheduler)
    }

    // The cohort first, then the queues.
    fn nodes(self, stage: &Stage, cells: &Cells) -> Vec<NodeSpec> {
        let queue = |quota: [i64; 3], weight: u64| NodeSpec {
            parent: Some(0),
            is_queue: true,
            weight: Weight::from_nano(Weight::ONE.nano().saturating_mul(weight.min(1_000_000_000))),
            quotas: cells.quotas(quota),
        };
        let common = |own: [i64; 3]| NodeSpec { quotas: cells.quotas(own), ..NodeSpec::default() };
        if self.has_one_line() {
            return vec![common([0; 3]), queue(stage.total, 1)];
        }
        let own = |quota: [i64; 3]| if self.has_quotas() { quota } else { [0; 3] };
        let mut rest = stage.total;
        for team in &stage.teams {
            for (left, much) in rest.iter_mut().zip(own(team.quota)) {
                *left = left.saturating_sub(much);
            }
        }
        let queues = stage.teams.iter().map(|team| queue(own(team.quota), team.weight));
        std::iter::once(common(rest)).chain(queues).collect()
    }
}

// What is counted: for each model of GPU, each resource.
struct Cells {
    width: usize,
    models: u32,
}

impl Cells {
    fn cell(&self, model: u32, resource: usize) -> FlavorResource {
        let (width, resource) = (u32::try_from(self.width).unwrap_or(1), u32::try_from(resource).unwrap_or(0));
        FlavorResource(model.saturating_mul(width).saturating_add(resource))
    }

    // In equal parts; the first model has what is left over.
    fn quotas(&self, much: [i64; 3]) -> Vec<(FlavorResource, Quota)> {
        let mut quotas = vec![];
        for model in 0..self.models {
            for (resource, much) in much.into_iter().enumerate().take(self.width) {
                // Whole GPUs stay whole.
                let unit = if resource == 0 { 1000 } else { 1 };
                let part = much / unit / i64::from(self.models) * unit;
                let first = much.saturating_sub(part.saturating_mul(i64::from(self.models.saturating_sub(1))));
                let nominal = Amount::new(if model == 0 { first } else { part });
                quotas.push((self.cell(model, resource), Quota { nominal, ..Quota::default() }));
            }
        }
        quotas
    }

    fn offer(&self) -> Offer {
        let all = |model: u32| (0..self.width).map(move |resource| self.cell(model, resource));
        let group = Group {
            resources: (0..self.width).map(|at| Resource(u32::try_from(at).unwrap_or(0))).collect(),
            flavors: (0..self.models).map(FlavorIx).collect(),
            cells: (0..self.models).flat_map(all).collect(),
        };
        Offer { groups: vec![group], ..Offer::default() }
    }
}

/// What a job asks the engine for: a gang of pods with a GPU each where it is made of whole GPUs, else one pod.
pub(crate) fn shape(scheduler: &mut Scheduler, stage: &Stage, setup: &Setup, job: &Job) -> ShapeIx {
    let Asks { gpu_milli, cpu_milli, .. } = job.asks;
    let gang = gpu_milli.is_multiple_of(1000) && cpu_milli == 0;
    let count = if gang { u32::try_from(gpu_milli / 1000).unwrap_or(u32::MAX) } else { 1 };
    let amounts = job.asks.list().into_iter().take(stage.width);
    let each = |much: u64| i64::try_from(much / u64::from(count.max(1))).unwrap_or(i64::MAX);
    let requests = (0..).map(Resource).zip(amounts.map(|much| Amount::new(each(much)))).collect();
    let mut needs = Needs::default();
    if setup.pinned {
        let model = u32::try_from(job.line % u64::from(setup.models.max(1))).unwrap_or(0);
        needs.selector.push(Label { key: MODEL, value: Value { id: model, number: None } });
    }
    scheduler.shape(&[PodSet { count, requests, needs, ..PodSet::default() }])
}
