//! Which flavor each pod set gets for each resource: the first one in the queue's order that suits, or the best of those that
//! would do with borrowing or with others going first.
//!
//! Resources come in groups, and a pod set gets one flavor for all it asks of a group. Pod sets are looked at in order, and
//! what the earlier ones got counts for the later ones. Nothing is decided here that changes anything: the outcome says what
//! would be used, what would have to happen first, and for every flavor that was looked at why it was or was not taken.

pub mod matching;
pub mod mode;
pub mod reduce;

use crate::{
    amount::Amount,
    share::Resource,
    tree::{FlavorResource, NodeIx, Tree, Usage},
};
use matching::{Label, Mismatch, Needs, Taint, Toleration};
use mode::{Fungibility, Mode, Reach, Standing, lowest_subtree};

/// A flavor, as its place in a list that the caller keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlavorIx(pub u32);

/// What a flavor says of its nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flavor {
    /// Labels they carry.
    pub labels: Vec<Label>,
    /// What keeps pods away from them.
    pub taints: Vec<Taint>,
    /// What pods on it put up with without saying so.
    pub tolerations: Vec<Toleration>,
    /// Whether places on them are chosen here, by topology.
    pub topology: bool,
}

/// Resources that a queue offers together, and the flavors it has of them, best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The resources.
    pub resources: Vec<Resource>,
    /// The flavors.
    pub flavors: Vec<FlavorIx>,
    /// What is counted: flavor by flavor, one for each resource.
    pub cells: Vec<FlavorResource>,
}

/// What a queue offers, and how it chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// Groups; a resource that is in two belongs to the first.
    pub groups: Vec<Group>,
    /// How it chooses among flavors.
    pub fungibility: Fungibility,
}

/// What happens to a resource that a queue does not offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Undeclared {
    /// The workload waits until it does.
    #[default]
    Block,
    /// It is not counted.
    Ignore,
}

/// Pods of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodSet {
    /// How many.
    pub count: u32,
    /// How few would do; without one, all are needed.
    pub least: Option<u32>,
    /// What each of them asks for, in the order of resources.
    pub requests: Vec<(Resource, Amount)>,
    /// What they ask of nodes.
    pub needs: Needs,
    /// Pod sets with the same number get the same flavors.
    pub group: Option<u32>,
    /// Whether they ask for places by topology.
    pub topology: bool,
}

/// Whether telling others to go would make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Possibility {
    /// Nobody may be told to.
    NoCandidates,
    /// Yes, some of the same queue among them.
    Preempt,
    /// Yes, all of them of other queues.
    Reclaim,
}

/// Answers whether telling others to go would make room, for one resource alone, and how far away the quota is after that.
pub trait Oracle {
    /// The answer for so much of this on top of what the queue uses. Leaves the usage as it was.
    fn possibility(
        &mut self,
        usage: &mut Usage,
        queue: NodeIx,
        what: FlavorResource,
        more: Amount,
    ) -> (Possibility, u32);
}

/// Why a flavor was not taken as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// More than the queue could ever use.
    ExceedsCapacity {
        /// Of what.
        what: FlavorResource,
        /// What the earlier pod sets got.
        earlier: Amount,
        /// What is asked for.
        asked: Amount,
        /// What the queue could ever use.
        capacity: Amount,
    },
    /// More than is free now.
    Insufficient {
        /// Of what.
        what: FlavorResource,
        /// How much more is needed.
        missing: Amount,
    },
    /// The pods may not run there.
    Mismatch {
        /// On this flavor.
        flavor: FlavorIx,
        /// Because of this.
        why: Mismatch,
    },
    /// Nobody knows this flavor.
    NoSuchFlavor {
        /// Which.
        flavor: FlavorIx,
    },
    /// The flavor chooses places by topology and the pods do not ask for it, or the other way round.
    Topology {
        /// Which flavor.
        flavor: FlavorIx,
        /// Whether the pods ask for it.
        wanted: bool,
    },
    /// The queue does not offer this.
    NotOffered {
        /// Which resource.
        resource: Resource,
    },
    /// The plan is made again, and this flavor was not in it.
    NotNominated {
        /// Which flavor.
        flavor: FlavorIx,
        /// For this resource.
        resource: Resource,
    },
    /// There is quota, but no place.
    NoPlace,
}

/// Why an assignment cannot be, in one word; the most severe last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocked {
    /// There is quota, but no place even if everybody went.
    NoPlace,
    /// Quota is in use by others.
    WaitingForQuota,
    /// More than the queue could ever use.
    ExceedsMaxQuota,
    /// No flavor that these pods may run on.
    NoMatchingFlavor,
}

/// A flavor that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// In this group of the queue.
    pub group: u32,
    /// Which flavor.
    pub flavor: FlavorIx,
    /// How well it suits.
    pub standing: Standing,
    /// Why it cannot be, where it cannot.
    pub blocked: Option<Blocked>,
}

/// What one pod set gets of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assigned {
    /// The resource.
    pub resource: Resource,
    /// The flavor.
    pub flavor: FlavorIx,
    /// Both.
    pub what: FlavorResource,
    /// How much, all pods together.
    pub amount: Amount,
    /// What has to happen first.
    pub mode: Mode,
    /// The same in finer steps, by quota alone.
    pub reach: Reach,
    /// How far away the quota is.
    pub level: u32,
    /// Where the search stopped; none where it went through all flavors and would start again.
    pub stopped_at: Option<u32>,
}

/// What one pod set gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodSetAssignment {
    /// So many pods.
    pub count: u32,
    /// Resource by resource.
    pub resources: Vec<Assigned>,
    /// Why not better.
    pub reasons: Vec<Reason>,
    /// All flavors that were looked at.
    pub attempts: Vec<Attempt>,
    /// Whether there is something that it cannot get.
    pub failed: bool,
}

/// What a workload gets, and what has to happen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Pod set by pod set; ends with the first that gets nothing.
    pub pod_sets: Vec<PodSetAssignment>,
    /// All of it together.
    pub usage: Vec<(FlavorResource, Amount)>,
    /// The farthest quota it needs; nothing where it does not borrow.
    pub level: u32,
    /// What has to happen first.
    pub mode: Mode,
    /// Why it cannot be, where it cannot.
    pub blocked: Option<Blocked>,
}

/// Where an earlier search stopped, pod set by pod set: the resource and the place of the flavor in its group.
pub type Progress = Vec<Vec<(Resource, u32)>>;

/// The flavors of an earlier plan, pod set by pod set.
pub type Nominated = Vec<Vec<(Resource, FlavorIx)>>;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Pods of all kinds.
    pub pod_sets: &'a [PodSet],
    /// Fewer pods of each than `pod_sets` says.
    pub counts: Option<&'a [u32]>,
    /// Where an earlier search stopped: flavors up to there are left out.
    pub progress: Option<&'a Progress>,
    /// Only these flavors.
    pub only: Option<&'a Nominated>,
}

/// Assigns flavors in one queue.
#[derive(Debug, Clone, Copy)]
pub struct Assigner<'a> {
    /// The quotas.
    pub tree: &'a Tree,
    /// The queue.
    pub queue: NodeIx,
    /// What it offers.
    pub offer: &'a Offer,
    /// All flavors; one that is nothing is named by a queue and does not exist.
    pub catalog: &'a [Option<Flavor>],
    /// The resource that counts pods, if there is one.
    pub pods: Option<Resource>,
    /// What happens to resources that the queue does not offer.
    pub undeclared: Undeclared,
    /// Whether others may be told to go for a request that borrows.
    pub preempts_while_borrowing: bool,
}

// What came of the search in one group.
struct Found {
    taken: Vec<Assigned>,
    reasons: Vec<Reason>,
    attempts: Vec<Attempt>,
    failed: bool,
}

// A set of pod sets that get the same flavors, and what they ask for together.
struct Joined {
    members: Vec<usize>,
    total: Vec<(Resource, Amount)>,
}

impl Assignment {
    /// The flavors it would use, to make the same plan again.
    #[must_use]
    pub fn nominated(&self) -> Nominated {
        let flavors = |set: &PodSetAssignment| set.resources.iter().map(|one| (one.resource, one.flavor)).collect();
        self.pod_sets.iter().map(flavors).collect()
    }

    /// Where the search stopped, if there are flavors that it did not look at.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        let stops = |set: &PodSetAssignment| {
            set.resources.iter().filter_map(|one| Some((one.resource, one.stopped_at?))).collect()
        };
        let progress: Progress = self.pod_sets.iter().map(stops).collect();
        progress.iter().any(|set| !set.is_empty()).then_some(progress)
    }

    /// What is contested: where others would have to go.
    pub fn contested(&self) -> impl Iterator<Item = FlavorResource> + '_ {
        let all = self.pod_sets.iter().flat_map(|set| &set.resources);
        all.filter(|one| one.mode == Mode::Preempt).map(|one| one.what)
    }

    /// Says that all of it is in this mode.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.pod_sets.iter_mut().flat_map(|set| &mut set.resources).for_each(|one| one.mode = mode);
    }

    fn used(&self, what: FlavorResource) -> Amount {
        self.usage.iter().find(|(of, _)| *of == what).map_or(Amount::ZERO, |(_, much)| *much)
    }

    fn take(&mut self, set: PodSetAssignment) {
        for one in &set.resources {
            self.level = self.level.max(one.level);
            match self.usage.iter_mut().find(|(of, _)| *of == one.what) {
                Some((_, much)) => *much = much.plus(one.amount),
                None => self.usage.push((one.what, one.amount)),
            }
        }
        let modes = set.resources.iter().map(|one| one.mode).min().unwrap_or(Mode::Fit);
        self.mode = self.mode.min(if set.failed { Mode::NoFit } else { modes });
        self.pod_sets.push(set);
    }

    // Flavors of one group are alternatives, so the least severe counts; groups are all needed, so the most severe does.
    fn explain(&mut self) {
        self.blocked = None;
        for set in self.pod_sets.iter().filter(|set| set.failed) {
            let missing = set.reasons.iter().any(|reason| matches!(reason, Reason::NotOffered { .. }));
            let mut worst = (set.attempts.is_empty() || missing).then_some(Blocked::NoMatchingFlavor);
            for attempt in set.attempts.iter().filter(|attempt| attempt.standing.reach == Reach::NoFit) {
                let in_group = set.attempts.iter().filter(|other| other.group == attempt.group);
                let in_group = in_group.filter(|other| other.standing.reach == Reach::NoFit);
                worst = worst.max(in_group.map(|other| other.blocked).min().flatten());
            }
            self.blocked = self.blocked.max(worst);
        }
    }
}

impl Assigner<'_> {
    /// Finds flavors for all pod sets. Leaves the usage as it was.
    pub fn assign(&self, usage: &mut Usage, oracle: &mut dyn Oracle, request: Request<'_>) -> Assignment {
        let mut whole = Assignment { pod_sets: vec![], usage: vec![], level: 0, mode: Mode::Fit, blocked: None };
        if request.pod_sets.is_empty() {
            whole.mode = Mode::NoFit;
        }
        let totals: Vec<Vec<(Resource, Amount)>> =
            (0..request.pod_sets.len()).map(|at| self.total(request, at)).collect();
        for joined in join(request.pod_sets, &totals) {
            let found = self.find_all(usage, oracle, request, &joined, &whole);
            for at in joined.members {
                let asked = |one: &&Assigned| totals[at].iter().any(|(resource, _)| *resource == one.resource);
                let own = |one: &Assigned| {
                    let amount = totals[at].iter().find(|(resource, _)| *resource == one.resource);
                    Assigned { amount: amount.map_or(Amount::ZERO, |(_, much)| *much), ..*one }
                };
                whole.take(PodSetAssignment {
                    count: count(request, at),
                    resources: found.taken.iter().filter(asked).map(own).collect(),
                    reasons: found.reasons.clone(),
                    attempts: found.attempts.clone(),
                    failed: found.failed,
                });
            }
            if found.failed {
                break;
            }
        }
        whole.explain();
        whole
    }

    fn offers(&self, resource: Resource) -> Option<usize> {
        self.offer.groups.iter().position(|group| group.resources.contains(&resource))
    }

    // What all pods of a set ask for, in the order of resources.
    fn total(&self, request: Request<'_>, at: usize) -> Vec<(Resource, Amount)> {
        let count = i64::from(count(request, at));
        let pod_set = &request.pod_sets[at];
        let mut total: Vec<(Resource, Amount)> =
            pod_set.requests.iter().map(|(resource, each)| (*resource, each.times(count))).collect();
        if let Some(pods) = self.pods.filter(|pods| self.offers(*pods).is_some()) {
            total.retain(|(resource, _)| *resource != pods);
            total.push((pods, Amount::new(count)));
        }
        total.sort_unstable_by_key(|(resource, _)| *resource);
        total
    }

    fn find_all(
        &self,
        usage: &mut Usage,
        oracle: &mut dyn Oracle,
        request: Request<'_>,
        joined: &Joined,
        before: &Assignment,
    ) -> Found {
        let mut all = Found { taken: vec![], reasons: vec![], attempts: vec![], failed: false };
        for (resource, much) in &joined.total {
            let group = self.offers(*resource);
            let uncounted = *much == Amount::ZERO || self.undeclared == Undeclared::Ignore;
            if (group.is_none() && uncounted) || all.taken.iter().any(|one| one.resource == *resource) {
                continue;
            }
            let Some(group) = group else {
                return Found { reasons: vec![Reason::NotOffered { resource: *resource }], failed: true, ..all };
            };
            let mut found = self.find(usage, oracle, request, joined, (group, *resource), before);
            all.attempts.append(&mut found.attempts);
            if found.failed {
                return Found { taken: vec![], reasons: found.reasons, failed: true, ..all };
            }
            all.taken.append(&mut found.taken);
            all.reasons.append(&mut found.reasons);
        }
        all
    }

    // One flavor for all that is asked of a group.
    fn find(
        &self,
        usage: &mut Usage,
        oracle: &mut dyn Oracle,
        request: Request<'_>,
        joined: &Joined,
        (at, resource): (usize, Resource),
        before: &Assignment,
    ) -> Found {
        let group = &self.offer.groups[at];
        let first = first_flavor(request, joined, resource);
        let mut found = Found { taken: vec![], reasons: vec![], attempts: vec![], failed: true };
        let (mut best, mut last) = (Standing::WORST, None);
        let fungibility = self.offer.fungibility;
        for (flavor, place) in group.flavors.iter().zip(0_u32..).skip(first) {
            last = Some(place);
            if let Some(reason) = self.refusal(request, joined, *flavor, resource) {
                found.reasons.push(reason);
                if !matches!(reason, Reason::NotNominated { .. }) {
                    let blocked = Some(Blocked::NoMatchingFlavor);
                    found.attempts.push(attempt(at, *flavor, Standing::WORST, blocked));
                }
                continue;
            }
            let mut blocked = None;
            let (standing, taken) =
                self.try_flavor(usage, oracle, (group, place), joined, before, &mut found.reasons, &mut blocked);
            found.attempts.push(attempt(at, *flavor, standing, blocked));
            let stops = !standing.wants_next(fungibility);
            if stops || standing.is_better(best, fungibility.preference) {
                (best, found.taken) = (standing, taken);
            }
            if stops {
                break;
            }
        }
        let through = last.is_none_or(|place| place as usize + 1 == group.flavors.len());
        let stopped_at = last.filter(|_| !through);
        found.taken.iter_mut().for_each(|one| one.stopped_at = stopped_at);
        found.failed = best.reach == Reach::NoFit;
        if best.reach == Reach::Fit {
            found.reasons.clear();
        }
        found
    }

    // Why pods may not run on a flavor at all.
    fn refusal(&self, request: Request<'_>, joined: &Joined, flavor: FlavorIx, resource: Resource) -> Option<Reason> {
        if let Some(only) = request.only {
            let named = |at: &usize| only.get(*at).is_some_and(|set| set.contains(&(resource, flavor)));
            if !joined.members.iter().any(named) {
                return Some(Reason::NotNominated { flavor, resource });
            }
        }
        let Some(known) = self.catalog.get(flavor.0 as usize).and_then(Option::as_ref) else {
            return Some(Reason::NoSuchFlavor { flavor });
        };
        for pod_set in joined.members.iter().map(|at| &request.pod_sets[*at]) {
            let wanted = pod_set.topology || self.is_topology_only();
            if wanted != known.topology {
                return Some(Reason::Topology { flavor, wanted });
            }
            if let Some(why) = known.mismatch(&pod_set.needs) {
                return Some(Reason::Mismatch { flavor, why });
            }
        }
        None
    }

    // A queue all of whose flavors choose places by topology does so for pods that do not ask for it, too.
    fn is_topology_only(&self) -> bool {
        let topology = |flavor: &FlavorIx| {
            self.catalog.get(flavor.0 as usize).and_then(Option::as_ref).is_some_and(|known| known.topology)
        };
        let mut all = self.offer.groups.iter().flat_map(|group| &group.flavors).peekable();
        all.peek().is_some() && all.all(topology)
    }

    // How well a flavor suits is how well it suits what it suits worst.
    #[allow(clippy::too_many_arguments, reason = "the state of one search")]
    fn try_flavor(
        &self,
        usage: &mut Usage,
        oracle: &mut dyn Oracle,
        (group, place): (&Group, u32),
        joined: &Joined,
        before: &Assignment,
        reasons: &mut Vec<Reason>,
        blocked: &mut Option<Blocked>,
    ) -> (Standing, Vec<Assigned>) {
        let mut worst = Standing::BEST;
        let mut taken = vec![];
        for (resource, asked) in &joined.total {
            let Some(column) = group.resources.iter().position(|covered| covered == resource) else { continue };
            let what = group.cells[place as usize * group.resources.len() + column];
            let (standing, reason, why) = self.fits_quota(usage, oracle, what, before.used(what), *asked);
            reasons.extend(reason);
            *blocked = (*blocked).max(why);
            if worst.is_better(standing, self.offer.fungibility.preference) {
                worst = standing;
            }
            taken.push(Assigned {
                resource: *resource,
                flavor: group.flavors[place as usize],
                what,
                amount: *asked,
                mode: standing.reach.mode(),
                reach: standing.reach,
                level: standing.level,
                stopped_at: None,
            });
        }
        (worst, taken)
    }

    fn fits_quota(
        &self,
        usage: &mut Usage,
        oracle: &mut dyn Oracle,
        what: FlavorResource,
        earlier: Amount,
        asked: Amount,
    ) -> (Standing, Option<Reason>, Option<Blocked>) {
        let (tree, queue) = (self.tree, self.queue);
        let more = earlier.plus(asked);
        let capacity = tree.potential(queue, what);
        if more > capacity {
            let reason = Reason::ExceedsCapacity { what, earlier, asked, capacity };
            return (Standing { level: 0, ..Standing::WORST }, Some(reason), Some(Blocked::ExceedsMaxQuota));
        }
        let (level, may_reclaim) = lowest_subtree(tree, usage, queue, what, more);
        let available = tree.available(usage, queue, what).or_zero();
        if more <= available {
            return (Standing { reach: Reach::Fit, level }, None, None);
        }
        let reason = Some(Reason::Insufficient { what, missing: more.minus(available) });
        let within_own = tree.quota(queue, what).nominal >= more;
        if !(within_own || may_reclaim || self.preempts_while_borrowing) {
            return (Standing { reach: Reach::NoFit, level }, reason, Some(Blocked::WaitingForQuota));
        }
        let (possibility, level) = oracle.possibility(usage, queue, what, more);
        let reach = match possibility {
            Possibility::NoCandidates => Reach::NoCandidates,
            Possibility::Preempt => Reach::Preempt,
            Possibility::Reclaim => Reach::Reclaim,
        };
        (Standing { reach, level }, reason, None)
    }
}

fn attempt(group: usize, flavor: FlavorIx, standing: Standing, blocked: Option<Blocked>) -> Attempt {
    Attempt { group: u32::try_from(group).unwrap_or(u32::MAX), flavor, standing, blocked }
}

fn count(request: Request<'_>, at: usize) -> u32 {
    request.counts.and_then(|counts| counts.get(at).copied()).unwrap_or(request.pod_sets[at].count)
}

fn first_flavor(request: Request<'_>, joined: &Joined, resource: Resource) -> usize {
    let stops = request.progress.zip(joined.members.first()).and_then(|(progress, at)| progress.get(*at));
    let stop = stops.and_then(|set| set.iter().find(|(of, _)| *of == resource));
    stop.map_or(0, |(_, place)| *place as usize + 1)
}

// Pod sets that belong together, each set where its first member stands.
fn join(pod_sets: &[PodSet], totals: &[Vec<(Resource, Amount)>]) -> Vec<Joined> {
    let mut all: Vec<Joined> = vec![];
    for (at, pod_set) in pod_sets.iter().enumerate() {
        let same = |joined: &&mut Joined| {
            pod_set.group.is_some() && joined.members.iter().any(|member| pod_sets[*member].group == pod_set.group)
        };
        match all.iter_mut().find(same) {
            None => all.push(Joined { members: vec![at], total: totals[at].clone() }),
            Some(joined) => {
                joined.members.push(at);
                for (resource, much) in &totals[at] {
                    match joined.total.iter_mut().find(|(of, _)| of == resource) {
                        Some((_, sum)) => *sum = sum.plus(*much),
                        None => joined.total.push((*resource, *much)),
                    }
                }
                joined.total.sort_unstable_by_key(|(resource, _)| *resource);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
