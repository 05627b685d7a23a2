//! How many pods of one request fit in every domain: counted at the leaves and summed up the tree.
//!
//! A leaf holds as many pods as its shortest resource allows. A domain above holds the sum, where each child first rounds down
//! to the slices that are asked for on its level: what is left over in two hosts makes no slice. At the level of the largest
//! slices pods become slices, and above slices are summed. With a leader each domain also says how much it would hold beside
//! it: the sum less the smallest loss among the children that could take it.
//!
//! When the load of a leaf changes only it and the domains above it are counted anew.

use super::{Domains, LeafIx, LevelIx, Load, PerPod, Placement, Plan, Refusal, ResourceIx};

/// What fits in one domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) pods: i64,
    // Of the largest layer; none below its level.
    pub(super) slices: i64,
    // The same beside the leader.
    pub(super) pods_led: i64,
    pub(super) slices_led: i64,
    // The leader fits.
    pub(super) leads: bool,
    // How much its leaves are liked.
    pub(super) score: i64,
}

/// How much of one request fits where.
#[derive(Debug, Clone)]
pub struct Room {
    pub(super) plan: Plan,
    pub(super) slots: Vec<Slot>,
    // How many domains of the level of the request hold all of it.
    holding: u32,
}

// The most that is counted on one leaf: pods without any request fit without end.
const PODS_MAX: i64 = i32::MAX as i64;

/// How often a pod fits, and what it runs out of first.
fn fit(per_pod: &PerPod, free: impl Fn(u32) -> i64) -> (i64, Option<ResourceIx>) {
    let mut most = (PODS_MAX, None);
    for (what, each) in &per_pod.0 {
        let times = (free(*what) / each).max(0);
        if times < most.0 {
            most = (times, Some(ResourceIx(*what)));
        }
    }
    most
}

fn down(pods: i64, size: i64) -> i64 {
    if size > 1 { pods / size * size } else { pods }
}

impl Plan {
    pub(super) fn leaf(&self, domains: &Domains, load: &Load, leaf: usize) -> Slot {
        if !self.open[leaf] {
            return Slot::default();
        }
        let free = load.of(leaf);
        let (pods, _) = fit(&self.per_pod, |what| free[what as usize]);
        let mut slot = Slot { pods, pods_led: pods, score: self.score[leaf], ..Slot::default() };
        if let Some(leader) = &self.leader
            && self.leader_open[leaf]
            && fit(leader, |what| free[what as usize]).0 > 0
        {
            let taken = |what: u32| leader.0.iter().find(|(which, _)| *which == what).map_or(0, |(_, each)| *each);
            slot.leads = true;
            slot.pods_led = fit(&self.per_pod, |what| free[what as usize].saturating_sub(taken(what))).0;
        }
        if self.slice_level == domains.last() {
            (slot.slices, slot.slices_led) = (slot.pods / self.size, slot.pods_led / self.size);
        }
        slot
    }

    // The first thing that a leaf has too little of for even one pod.
    pub(super) fn short(&self, load: &Load, leaf: usize) -> Option<ResourceIx> {
        let free = load.of(leaf);
        let (pods, what) = fit(&self.per_pod, |what| free[what as usize]);
        what.filter(|_| pods == 0 && self.open[leaf])
    }

    // A domain of a level from its children. `inner` is what each level rounds to.
    pub(super) fn sum(&self, level: usize, inner: i64, kids: &[Slot]) -> Slot {
        let mut sum = Slot::default();
        let (mut pods_lost, mut slices_lost, mut some) = (i64::MAX, i64::MAX, false);
        for kid in kids {
            let (pods, pods_led) = (down(kid.pods, inner), down(kid.pods_led, inner));
            sum.pods += pods;
            sum.slices += kid.slices;
            sum.score += kid.score;
            sum.leads |= kid.leads;
            if self.leader.is_none() || kid.leads {
                some = true;
                pods_lost = pods_lost.min(pods - pods_led);
                slices_lost = slices_lost.min(kid.slices - kid.slices_led);
            }
        }
        if some {
            (sum.pods_led, sum.slices_led) = (sum.pods - pods_lost, sum.slices - slices_lost);
        }
        if level == self.slice_level {
            (sum.slices, sum.slices_led) = (sum.pods / self.size, sum.pods_led / self.size);
        }
        sum
    }

    // Whether a domain holds the whole request.
    pub(super) fn holds(&self, slot: &Slot) -> bool {
        slot.slices_led >= self.need() && (self.leader.is_none() || slot.leads)
    }
}

impl Room {
    /// Counts everything.
    #[must_use]
    pub fn new(domains: &Domains, load: &Load, plan: Plan) -> Self {
        let mut room = Self { plan, slots: vec![Slot::default(); domains.names.len()], holding: 0 };
        room.recount(domains, load);
        room
    }

    /// What it is counted for.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The same pods in another number.
    ///
    /// # Errors
    /// When they do not make whole slices.
    pub fn set_count(&mut self, domains: &Domains, count: u32) -> Result<(), Refusal> {
        self.plan.set_count(count)?;
        self.recount_holding(domains);
        Ok(())
    }

    /// Counts everything anew, after a change of the load that it was not told of.
    pub fn recount(&mut self, domains: &Domains, load: &Load) {
        let first = domains.leaves().start as usize;
        for (leaf, slot) in self.slots[first..].iter_mut().enumerate() {
            *slot = self.plan.leaf(domains, load, leaf);
        }
        for level in (0..domains.last()).rev() {
            for domain in domains.range(level) {
                self.slots[domain as usize] = self.summed(domains, level, domain);
            }
        }
        self.recount_holding(domains);
    }

    fn recount_holding(&mut self, domains: &Domains) {
        let level = domains.range(self.plan.level);
        let holding = level.filter(|domain| self.plan.holds(&self.slots[*domain as usize])).count();
        self.holding = u32::try_from(holding).unwrap_or(u32::MAX);
    }

    fn summed(&self, domains: &Domains, level: usize, domain: u32) -> Slot {
        let kids = domains.kids(domain);
        self.plan.sum(level, self.plan.inner[level + 1], &self.slots[kids.start as usize..kids.end as usize])
    }

    /// Adds pods to the load and counts what that changes.
    pub fn add(&mut self, domains: &Domains, load: &mut Load, per_pod: &PerPod, placement: &Placement) {
        for (leaf, pods) in &placement.0 {
            load.add(domains, per_pod, *leaf, *pods);
            self.touch(domains, load, *leaf);
        }
    }

    /// Takes pods from the load and counts what that changes.
    pub fn remove(&mut self, domains: &Domains, load: &mut Load, per_pod: &PerPod, placement: &Placement) {
        for (leaf, pods) in &placement.0 {
            load.remove(domains, per_pod, *leaf, *pods);
            self.touch(domains, load, *leaf);
        }
    }

    /// Counts one leaf anew, and the domains above it.
    pub fn touch(&mut self, domains: &Domains, load: &Load, leaf: LeafIx) {
        let mut domain = domains.domain(leaf);
        let mut new = self.plan.leaf(domains, load, leaf.0 as usize);
        let mut level = domains.last();
        loop {
            let old = std::mem::replace(&mut self.slots[domain as usize], new);
            if old == new {
                return;
            }
            if level == self.plan.level {
                self.holding -= u32::from(self.plan.holds(&old));
                self.holding += u32::from(self.plan.holds(&new));
            }
            let Some(parent) = domains.parent(domain) else { return };
            level -= 1;
            new = match self.plan.leader {
                Some(_) => self.summed(domains, level, parent),
                None => self.moved(level, self.slots[parent as usize], old, new),
            };
            domain = parent;
        }
    }

    // Without a leader nothing but sums: what one child changed is what changes.
    fn moved(&self, level: usize, above: Slot, old: Slot, new: Slot) -> Slot {
        let inner = self.plan.inner[level + 1];
        let pods = above.pods + down(new.pods, inner) - down(old.pods, inner);
        let slices = match level.cmp(&self.plan.slice_level) {
            std::cmp::Ordering::Less => above.slices + new.slices - old.slices,
            std::cmp::Ordering::Equal => pods / self.plan.size,
            std::cmp::Ordering::Greater => 0,
        };
        Slot { pods, slices, pods_led: pods, slices_led: slices, ..above }
    }

    /// Whether the request fits now. In a few steps, whatever the size of the tree.
    #[must_use]
    pub fn fits(&self, domains: &Domains) -> bool {
        if domains.leaves().is_empty() {
            return false;
        }
        if self.plan.required() {
            return self.holding > 0;
        }
        let roots = &self.slots[..domains.range(0).end as usize];
        let all: i64 = roots.iter().map(|root| root.slices).sum();
        let lost = match self.plan.leader {
            None => Some(0),
            Some(_) => roots.iter().filter(|root| root.leads).map(|root| root.slices - root.slices_led).min(),
        };
        lost.is_some_and(|lost| all - lost >= self.plan.need())
    }

    /// How many pods fit in all domains of a level together.
    #[must_use]
    pub fn pods(&self, domains: &Domains, level: LevelIx) -> u64 {
        let range = domains.range(usize::from(level.0).min(domains.last()));
        let slots = &self.slots[range.start as usize..range.end as usize];
        slots.iter().map(|slot| u64::try_from(slot.pods).unwrap_or(0)).sum()
    }
}
