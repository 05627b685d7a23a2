//! From the objects of governance to what the engine counts: every cohort, queue, flavor and resource gets a number, in the
//! order of names, and keeps its name here for whoever has to tell people.

use std::collections::{BTreeMap, BTreeSet};

use engine::Request;
use govern::{
    amount::Amount,
    cycle::Estate,
    flavors::{
        Flavor, FlavorIx, Group, Offer, PodSet,
        matching::{Effect, Expression, Label, Needs, Taint, Test, Tolerates, Toleration, Value},
        mode::{Fungibility, Preference, Search},
    },
    preempt::{QueuePolicy, Takes, TakesWhileBorrowing},
    share::{Resource, Shares},
    timetable::{Change, Days, Timetable, Window},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    weight::Weight,
};
use model::{
    PoolId, Timestamp,
    governance::{self, ClusterQueue, Governance, ResourceGroup},
    number::WeightMilli,
    text::Slug,
    workload::Hardware,
};

use super::seconds;

/// The names behind the numbers of an [`Estate`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    nodes: Vec<Slug>,
    queues: BTreeMap<Slug, NodeIx>,
    flavors: Vec<governance::Flavor>,
    resources: Vec<Slug>,
    pools: BTreeMap<Slug, PoolId>,
    words: Words,
}

// Labels and their values, by number.
#[derive(Debug, Clone, Default)]
struct Words(BTreeMap<String, u32>);

impl Words {
    fn learn(&mut self, word: &str) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(word.to_owned()).or_insert(next)
    }

    fn value(&self, word: &str) -> Value {
        // A word that no flavor has is equal to none.
        Value { id: self.0.get(word).copied().unwrap_or(u32::MAX), number: word.parse().ok() }
    }

    fn label(&self, key: &str, value: &str) -> Option<Label> {
        self.0.get(key).map(|key| Label { key: *key, value: self.value(value) })
    }
}

const GPU_MODEL: &str = "gpu_model";
const POOL: &str = "pool";
// No label of an object can be called so.
const FLAVOR: &str = "the flavor";

impl Names {
    /// The queue of this name.
    pub(crate) fn queue(&self, slug: &Slug) -> Option<NodeIx> {
        self.queues.get(slug).copied()
    }

    /// The name of a cohort or queue.
    pub(crate) fn node(&self, node: NodeIx) -> &str {
        self.nodes.get(node.0 as usize).map_or("", Slug::as_str)
    }

    /// The flavor with this number.
    pub(crate) fn flavor(&self, flavor: FlavorIx) -> Option<&governance::Flavor> {
        self.flavors.get(flavor.0 as usize)
    }

    /// What is counted in a flavor: GPUs.
    pub(crate) fn gpus_of(&self, flavor: &str) -> Option<FlavorResource> {
        let at = self.flavors.iter().position(|known| known.slug.as_str() == flavor)?;
        let gpu = self.resources.iter().position(|resource| *resource == Slug::gpu())?;
        u32::try_from(at * self.resources.len() + gpu).ok().map(FlavorResource)
    }

    /// The flavor and the resource of what is counted.
    pub(crate) fn counted(&self, what: FlavorResource) -> (&str, &str) {
        let width = self.resources.len().max(1);
        let (flavor, resource) = (what.0 as usize / width, what.0 as usize % width);
        let flavor = self.flavors.get(flavor).map_or("", |flavor| flavor.slug.as_str());
        (flavor, self.resources.get(resource).map_or("", Slug::as_str))
    }

    /// The pool that a flavor is limited to; `Err` where there is no such pool.
    pub(crate) fn pool_of(&self, flavor: FlavorIx) -> Result<Option<&PoolId>, ()> {
        match self.flavor(flavor).and_then(|flavor| flavor.pool.as_ref()) {
            None => Ok(None),
            Some(slug) => self.pools.get(slug).map(Some).ok_or(()),
        }
    }

    /// What a workload asks of the queue: so many members with so many GPUs each, of the model that was bought, or of any
    /// flavor that its hardware profile lists.
    pub(crate) fn pod_set(&self, request: &Request, members: u32, hardware: Option<&Hardware>) -> PodSet {
        let model = self.words.label(GPU_MODEL, request.gpu_model.as_str()).filter(|_| hardware.is_none());
        let pool = request.pool_id.as_ref().and_then(|wanted| {
            let slug = self.pools.iter().find(|(_, id)| *id == wanted).map_or("", |(slug, _)| slug.as_str());
            self.words.label(POOL, slug)
        });
        let gpu = self.resources.iter().position(|resource| *resource == Slug::gpu()).unwrap_or_default();
        PodSet {
            count: members,
            least: None,
            requests: vec![(Resource(index(gpu)), Amount::new(i64::from(request.gpu_count)))],
            needs: Needs { selector: model.into_iter().chain(pool).collect(), ..self.needs(hardware) },
            group: None,
            topology: false,
        }
    }
}

impl Names {
    // Which flavors would do, and what is put up with.
    fn needs(&self, hardware: Option<&Hardware>) -> Needs {
        let (Some(hardware), Some(key)) = (hardware, self.words.0.get(FLAVOR).copied()) else {
            return Needs::default();
        };
        let values = hardware.choices.iter().map(|choice| self.words.value(choice.flavor.as_str())).collect();
        // A taint that no flavor has needs no toleration.
        let tolerated = |it: &governance::Toleration| {
            let key = Some(self.words.0.get(it.key.as_str()).copied()?);
            let values = it.value.as_ref().map_or(Tolerates::Any, |it| Tolerates::Equal(self.words.value(it.as_str())));
            Some(Toleration { key, values, effect: it.effect.map(effect) })
        };
        Needs {
            selector: vec![],
            affinity: vec![vec![Expression { key, test: Test::In(values) }]],
            tolerations: hardware.tolerations.iter().filter_map(tolerated).collect(),
        }
    }
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What the objects say, counted.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// With the quotas that hold at the moment it was asked for.
    pub(crate) estate: Estate,
    /// Who is behind the numbers.
    pub(crate) names: Names,
    /// When other quotas hold, in seconds; never where no queue has a schedule.
    pub(crate) until: Option<i64>,
}

/// Counts what the objects say at a moment, where the quotas of open windows count.
pub(crate) fn build(governance: &Governance, pools: BTreeMap<Slug, PoolId>, at: Timestamp) -> Result<Counted, String> {
    let mut names = names(governance, pools);
    let width = index(names.flavors.len() * names.resources.len());
    let catalog = names.flavors.clone().iter().map(|flavor| Some(flavor_of(&mut names.words, flavor))).collect();
    let mut specs = vec![];
    let cohorts: BTreeMap<&Slug, u32> =
        sorted(&governance.cohorts, |cohort| &cohort.slug).into_iter().map(|it| &it.slug).zip(0_u32..).collect();
    for cohort in sorted(&governance.cohorts, |cohort| &cohort.slug) {
        let quotas = quotas(&names, &cohort.resource_groups);
        let parent = cohort.parent.as_ref().and_then(|parent| cohorts.get(parent).copied());
        specs.push(NodeSpec { parent, is_queue: false, weight: weight(cohort.weight_milli), quotas });
    }
    let (mut offers, mut policies) = (vec![Offer::default(); specs.len()], vec![QueuePolicy::default(); specs.len()]);
    for queue in sorted(&governance.cluster_queues, |queue| &queue.slug) {
        let quotas = quotas(&names, &queue.resource_groups);
        let parent = queue.cohort.as_ref().and_then(|parent| cohorts.get(parent).copied());
        specs.push(NodeSpec { parent, is_queue: true, weight: weight(queue.weight_milli), quotas });
        offers.push(offer(&names, queue));
        policies.push(policy(queue));
    }
    let tree = Tree::build(&specs, width).map_err(|fault| fault.to_string())?;
    let resources = index(names.resources.len()).max(1);
    let resource_of: Vec<Resource> = (0..width).map(|what| Resource(what % resources)).collect();
    // GPUs are what has a speed; whatever else is counted is counted by the piece.
    let gpu = names.resources.iter().position(|resource| *resource == Slug::gpu()).map(index);
    let speed = |what: u32| match names.flavors.get((what / resources) as usize) {
        Some(flavor) if Some(what % resources) == gpu => u32::try_from(flavor.speed_milli.get()).unwrap_or(u32::MAX),
        _ => SPEED_USUAL,
    };
    let speeds: Vec<u32> = (0..width).map(speed).collect();
    let shares = Shares::build_by_work(&tree, &resource_of, &speeds);
    let described = Estate { tree, shares, catalog, offers, policies, pods: None };
    let timetable = Timetable::new(windows(governance, &names)).map_err(|fault| fault.to_string())?;
    let now = seconds(at);
    let estate = timetable.estate_at(&described, now).map_err(|fault| fault.to_string())?;
    Ok(Counted { estate, names, until: timetable.next_change_after(now) })
}

const SPEED_USUAL: u32 = 1000;

fn windows(governance: &Governance, names: &Names) -> Vec<Window> {
    let mut all = vec![];
    for queue in &governance.cluster_queues {
        let Some(node) = names.queue(&queue.slug) else { continue };
        let described = quotas(names, &queue.resource_groups);
        for window in &queue.schedule {
            let change = |quota: &governance::WindowQuota| {
                let what = cell(names, &quota.flavor, &quota.resource)?;
                let (_, usual) = described.iter().find(|(of, _)| *of == what)?;
                Some(Change { node, what, quota: Quota { nominal: Amount::new(quota.nominal.get()), ..*usual } })
            };
            let day = |day: &governance::Day| {
                let at = governance::Day::ALL.iter().position(|known| known == day).unwrap_or_default();
                Days::one(u8::try_from(at).unwrap_or(u8::MAX))
            };
            all.push(Window {
                days: window.days.iter().map(day).fold(Days::default(), Days::and),
                from_minute: u32::try_from(window.from_minute.get()).unwrap_or(u32::MAX),
                to_minute: u32::try_from(window.to_minute.get()).unwrap_or(u32::MAX),
                utc_offset_minutes: i32::try_from(window.utc_offset_minutes.get()).unwrap_or(i32::MAX),
                changes: window.quotas.iter().filter_map(change).collect(),
            });
        }
    }
    all
}

fn sorted<T>(all: &[T], name: impl Fn(&T) -> &Slug) -> Vec<&T> {
    let mut sorted: Vec<&T> = all.iter().collect();
    sorted.sort_by(|a, b| name(a).cmp(name(b)));
    sorted
}

fn names(governance: &Governance, pools: BTreeMap<Slug, PoolId>) -> Names {
    let mut nodes: Vec<Slug> =
        sorted(&governance.cohorts, |cohort| &cohort.slug).into_iter().map(|it| it.slug.clone()).collect();
    let mut queues = BTreeMap::new();
    for queue in sorted(&governance.cluster_queues, |queue| &queue.slug) {
        queues.insert(queue.slug.clone(), NodeIx(index(nodes.len())));
        nodes.push(queue.slug.clone());
    }
    let groups = governance.cohorts.iter().flat_map(|cohort| &cohort.resource_groups);
    let groups = groups.chain(governance.cluster_queues.iter().flat_map(|queue| &queue.resource_groups));
    let quotas = groups.flat_map(|group| &group.flavors).flat_map(|flavor| &flavor.quotas);
    let mut resources: BTreeSet<Slug> = quotas.map(|quota| quota.resource.clone()).collect();
    resources.insert(Slug::gpu());
    let flavors = sorted(&governance.flavors, |flavor| &flavor.slug).into_iter().cloned().collect();
    let mut words = Words::default();
    words.learn(GPU_MODEL);
    words.learn(POOL);
    words.learn(FLAVOR);
    Names { nodes, queues, flavors, resources: resources.into_iter().collect(), pools, words }
}

fn flavor_of(words: &mut Words, flavor: &governance::Flavor) -> Flavor {
    let own = flavor.gpu_model.map(|model| (GPU_MODEL.to_owned(), model.as_str().to_owned()));
    let pool = flavor.pool.as_ref().map(|pool| (POOL.to_owned(), pool.to_string()));
    let mut labels = vec![];
    let named = Some((FLAVOR.to_owned(), flavor.slug.to_string()));
    for (key, value) in own.into_iter().chain(pool).chain(named) {
        words.learn(&value);
        labels.extend(words.label(&key, &value));
    }
    for label in flavor.labels.as_slice() {
        words.learn(label.key.as_str());
        words.learn(label.value.as_str());
        labels.extend(words.label(label.key.as_str(), label.value.as_str()));
    }
    let mut taints = vec![];
    for taint in &flavor.taints {
        let (key, value) = (words.learn(taint.key.as_str()), taint.value.as_ref().map_or("", |value| value.as_str()));
        words.learn(value);
        taints.push(Taint { key, value: words.value(value), effect: effect(taint.effect) });
    }
    let mut tolerations = vec![];
    for toleration in &flavor.tolerations {
        let key = Some(words.learn(toleration.key.as_str()));
        let values = toleration.value.as_ref().map_or(Tolerates::Any, |value| {
            words.learn(value.as_str());
            Tolerates::Equal(words.value(value.as_str()))
        });
        tolerations.push(Toleration { key, values, effect: toleration.effect.map(effect) });
    }
    Flavor { labels, taints, tolerations, topology: false }
}

const fn effect(effect: governance::TaintEffect) -> Effect {
    match effect {
        governance::TaintEffect::NoSchedule => Effect::NoSchedule,
        governance::TaintEffect::PreferNoSchedule => Effect::PreferNoSchedule,
        governance::TaintEffect::NoExecute => Effect::NoExecute,
    }
}

/// A weight as the engine counts it.
pub(super) fn weight(milli: WeightMilli) -> Weight {
    Weight::from_nano(u64::try_from(milli.get()).unwrap_or(0).saturating_mul(1_000_000))
}

fn quotas(names: &Names, groups: &[ResourceGroup]) -> Vec<(FlavorResource, Quota)> {
    let mut all = vec![];
    for flavor in groups.iter().flat_map(|group| &group.flavors) {
        for quota in &flavor.quotas {
            let Some(what) = cell(names, &flavor.flavor, &quota.resource) else { continue };
            let amount = |quantity: &model::number::Quantity| Amount::new(quantity.get());
            all.push((
                what,
                Quota {
                    nominal: amount(&quota.nominal),
                    borrowing_limit: quota.borrowing_limit.as_ref().map(amount),
                    lending_limit: quota.lending_limit.as_ref().map(amount),
                },
            ));
        }
    }
    all
}

fn cell(names: &Names, flavor: &Slug, resource: &Slug) -> Option<FlavorResource> {
    let flavor = names.flavors.iter().position(|known| known.slug == *flavor)?;
    let resource = names.resources.iter().position(|known| known == resource)?;
    Some(FlavorResource(index(flavor * names.resources.len() + resource)))
}

fn offer(names: &Names, queue: &ClusterQueue) -> Offer {
    let group = |group: &ResourceGroup| {
        let resources: Vec<Slug> =
            group.flavors.first().map(|flavor| flavor.quotas.iter().map(|quota| quota.resource.clone()).collect())?;
        let known = |flavor: &Slug| names.flavors.iter().position(|known| known.slug == *flavor);
        let flavors: Vec<(&Slug, usize)> =
            group.flavors.iter().filter_map(|it| known(&it.flavor).map(|at| (&it.flavor, at))).collect();
        let numbers =
            resources.iter().filter_map(|resource| names.resources.iter().position(|known| known == resource));
        Some(Group {
            resources: numbers.map(|at| Resource(index(at))).collect(),
            flavors: flavors.iter().map(|(_, at)| FlavorIx(index(*at))).collect(),
            cells: flavors
                .iter()
                .flat_map(|(flavor, _)| resources.iter().filter_map(|resource| cell(names, flavor, resource)))
                .collect(),
        })
    };
    Offer { groups: queue.resource_groups.iter().filter_map(group).collect(), fungibility: fungibility(queue) }
}

fn fungibility(queue: &ClusterQueue) -> Fungibility {
    let search = |search| match search {
        governance::Search::MayStop => Search::Stop,
        governance::Search::TryNext => Search::TryNext,
    };
    Fungibility {
        when_can_borrow: search(queue.fungibility.when_can_borrow),
        when_can_preempt: search(queue.fungibility.when_can_preempt),
        preference: match queue.fungibility.preference {
            governance::Preference::BorrowingOverPreemption => Preference::BorrowRatherThanPreempt,
            governance::Preference::PreemptionOverBorrowing => Preference::PreemptRatherThanBorrow,
        },
    }
}

fn policy(queue: &ClusterQueue) -> QueuePolicy {
    let takes = |takes| match takes {
        governance::Takes::Never => Takes::Never,
        governance::Takes::LowerPriority => Takes::LowerPriority,
        governance::Takes::LowerOrNewerEqualPriority => Takes::LowerOrNewerEqualPriority,
        governance::Takes::Any => Takes::Any,
    };
    let preemption = &queue.preemption;
    let borrowing = preemption.borrow_within_cohort.as_ref();
    let borrowing = borrowing.filter(|it| it.policy == governance::TakesWhileBorrowing::LowerPriority);
    QueuePolicy {
        within_queue: takes(preemption.within_queue),
        reclaim: takes(preemption.reclaim_within_cohort),
        while_borrowing: borrowing
            .map(|it| TakesWhileBorrowing { priority_max: it.max_priority_threshold.map(|it| it.get()) }),
    }
}
