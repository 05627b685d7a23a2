//! From how much fits where to where it goes.
//!
//! First the level: one domain that holds everything, the smallest such (best fit), or for unconstrained work the fullest
//! (least free). Where none does: required work is refused, preferred work tries the level above, and at the coarsest level
//! (or for unconstrained work) the largest domains are filled one after the other and the last is chosen best. Then down:
//! as long as slices are whole, all children of the chosen domains are taken together and as few as possible are used;
//! below that each domain shares its pods out among its own children.

use super::ask::level_ix;
use super::balance;
use super::room::Slot;
use super::{Domains, Layer, LayerFit, LeafIx, Load, Plan, Refusal, Room, Spread, Unit};

/// How many pods go to which leaf, in the order of the leaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement(pub Vec<(LeafIx, u32)>);

impl Placement {
    /// All pods of it.
    #[must_use]
    pub fn pods(&self) -> u64 {
        self.0.iter().map(|(_, pods)| u64::from(*pods)).sum()
    }
}

/// Where one request goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// Its pods.
    pub pods: Placement,
    /// Its leader, where there is one.
    pub leader: Option<LeafIx>,
}

/// What a domain was given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen {
    pub(super) domain: u32,
    pub(super) pods: i64,
    pub(super) leader: bool,
}

/// In what a list of domains is filled.
#[derive(Debug, Clone, Copy)]
enum Fill {
    // Slices of the largest layer, as counted.
    Slices,
    // Groups of this size of what each domain can hold.
    Groups(i64),
}

/// The counts of one request, to choose from.
pub(super) struct Search<'a> {
    pub(super) domains: &'a Domains,
    pub(super) plan: &'a Plan,
    pub(super) slots: &'a [Slot],
}

impl Room {
    /// Where the request goes.
    ///
    /// # Errors
    /// With how many of it fit, and why not more.
    pub fn place(&self, domains: &Domains, load: &Load) -> Result<Placed, Refusal> {
        let search = Search { domains, plan: &self.plan, slots: &self.slots };
        if self.plan.balanced
            && let Some(balanced) = balance::find(&search)
        {
            let search = Search { slots: &balanced.slots, ..search };
            if let Some(chosen) = search.share_out(balanced.level, balanced.chosen) {
                return Ok(search.placed(chosen));
            }
        }
        search.greedy().map_err(|fault| search.refuse(load, fault))
    }
}

// How many slices fit, and on which level that was found; or the level without domains.
struct Short {
    fits: i64,
    level: usize,
    empty: bool,
}

impl Search<'_> {
    pub(super) fn slot(&self, domain: u32) -> &Slot {
        &self.slots[domain as usize]
    }

    fn key_led(&self, domain: u32) -> (bool, i64, i64, i64, u32) {
        let slot = self.slot(domain);
        let slices = if self.plan.least_free() { slot.slices_led } else { -slot.slices_led };
        (!slot.leads, -slot.score, slices, slot.pods_led, domain)
    }

    fn key(&self, domain: u32) -> (i64, i64, i64, u32) {
        let slot = self.slot(domain);
        let slices = if self.plan.least_free() { slot.slices } else { -slot.slices };
        (-slot.score, slices, slot.pods, domain)
    }

    pub(super) fn sort_led(&self, domains: &mut [u32]) {
        domains.sort_unstable_by_key(|domain| self.key_led(*domain));
    }

    pub(super) fn sort(&self, domains: &mut [u32]) {
        domains.sort_unstable_by_key(|domain| self.key(*domain));
    }

    fn amounts(&self, fill: Fill, domain: u32) -> (i64, i64) {
        let slot = self.slot(domain);
        match fill {
            Fill::Slices => (slot.slices, slot.slices_led),
            Fill::Groups(size) => (slot.pods / size, slot.pods_led / size),
        }
    }

    fn greedy(&self) -> Result<Placed, Short> {
        let (level, chosen) = self.choose(self.plan.level)?;
        let lost = Short { fits: 0, level, empty: false };
        let mut chosen = self.fewest(chosen, self.plan.count, self.plan.leader.is_some(), Fill::Slices).ok_or(lost)?;
        let whole = self.plan.slice_level.min(self.domains.last()).max(level);
        for level in level..whole {
            let mut lower: Vec<u32> = chosen.iter().flat_map(|chosen| self.domains.kids(chosen.domain)).collect();
            self.sort(&mut lower);
            let lost = Short { fits: 0, level, empty: false };
            chosen = self.fewest(lower, self.plan.count, self.plan.leader.is_some(), Fill::Slices).ok_or(lost)?;
        }
        let chosen = self.share_out(whole, chosen).ok_or(Short { fits: 0, level, empty: false })?;
        Ok(self.placed(chosen))
    }

    // The domains of a level, or of one above it, that take everything.
    fn choose(&self, level: usize) -> Result<(usize, Vec<u32>), Short> {
        let range = self.domains.range(level);
        let Some(top) = range.clone().min_by_key(|domain| self.key_led(*domain)) else {
            return Err(Short { fits: 0, level, empty: true });
        };
        let mut holding = range.clone().filter(|domain| self.plan.holds(self.slot(*domain)));
        let first = holding.clone().min_by_key(|domain| self.key_led(*domain));
        match first {
            Some(first) if self.plan.least_free() => return Ok((level, vec![first])),
            // Work that only prefers the level goes up rather than to a domain that is liked less.
            Some(first) if self.plan.required() || first == top => {
                let score = self.slot(first).score;
                let same = holding.by_ref().filter(|domain| self.slot(*domain).score == score);
                let best = same.min_by_key(|domain| (self.slot(*domain).slices_led, self.key_led(*domain)));
                return Ok((level, vec![best.unwrap_or(first)]));
            }
            _ => {}
        }
        match self.plan.spread {
            Spread::Required(_) => Err(Short { fits: self.slot(top).slices, level, empty: false }),
            Spread::Preferred(_) if level > 0 => self.choose(level - 1),
            _ => self.several(level).map(|domains| (level, domains)),
        }
    }

    fn several(&self, level: usize) -> Result<Vec<u32>, Short> {
        let mut order: Vec<u32> = self.domains.range(level).collect();
        self.sort_led(&mut order);
        let (need, mut left, mut chosen) = (self.plan.need(), self.plan.need(), vec![]);
        let best_fit = !self.plan.least_free();
        if self.plan.leader.is_some() {
            self.leader_first(&mut order, need, Fill::Slices);
            let first = order[0];
            if !self.slot(first).leads {
                return Err(Short { fits: 0, level, empty: false });
            }
            let best = best_fit && self.slot(first).slices_led >= left;
            let host = if best { self.best(&order, left, true, Fill::Slices) } else { first };
            chosen.push(host);
            left -= self.slot(host).slices_led;
            order.remove(0);
        }
        self.sort(&mut order);
        for at in 0..order.len() {
            if left <= 0 {
                break;
            }
            let best = best_fit && self.slot(order[at]).slices >= left;
            let next = if best { self.best(&order[at..], left, false, Fill::Slices) } else { order[at] };
            chosen.push(next);
            left -= self.slot(next).slices;
        }
        if left > 0 { Err(Short { fits: need - left, level, empty: false }) } else { Ok(chosen) }
    }

    // The first of the smallest domains that still hold so much, among those liked as much as the first.
    fn best(&self, domains: &[u32], need: i64, leader: bool, fill: Fill) -> u32 {
        let first = domains[0];
        let score = self.slot(first).score;
        let amount = |domain: u32| if leader { self.amounts(fill, domain).1 } else { self.amounts(fill, domain).0 };
        let tier = domains.iter().copied().take_while(|domain| self.slot(*domain).score == score);
        let able = tier.filter(|domain| (!leader || self.slot(*domain).leads) && amount(*domain) >= need);
        able.min_by_key(|domain| amount(*domain)).unwrap_or(first)
    }

    // The sums above took the smallest loss to a leader for granted; so the leader goes where the loss leaves enough.
    fn leader_first(&self, domains: &mut [u32], need: i64, fill: Fill) {
        let all: i64 = domains.iter().map(|domain| self.amounts(fill, *domain).0).sum();
        let affords = |domain: &u32| {
            let (alone, led) = self.amounts(fill, *domain);
            self.slot(*domain).leads && all - (alone - led) >= need
        };
        if let Some(at) = domains.iter().position(affords) {
            domains[..=at].rotate_right(1);
        }
    }

    // As few of these domains as possible, in their order, the last chosen best.
    fn fewest(&self, mut domains: Vec<u32>, count: i64, leader: bool, fill: Fill) -> Option<Vec<Chosen>> {
        let size = match fill {
            Fill::Slices => self.plan.size,
            Fill::Groups(size) => size,
        };
        let (mut left, mut leader, mut chosen) = (count / size, leader, vec![]);
        let best_fit = !self.plan.least_free();
        if leader {
            self.leader_first(&mut domains, left, fill);
        }
        for at in 0..domains.len() {
            let holds = |domain: u32, leader: bool| {
                let (alone, led) = self.amounts(fill, domain);
                if leader { led >= left && self.slot(domain).leads } else { alone >= left }
            };
            let mut domain = domains[at];
            if best_fit && holds(domain, leader) {
                domain = self.best(&domains[at..], left, leader, fill);
            }
            if holds(domain, leader) {
                chosen.push(Chosen { domain, pods: left * size, leader });
                return Some(chosen);
            }
            let (alone, led) = self.amounts(fill, domain);
            let taken = if leader { led.min(left) } else { alone };
            let here = leader && self.slot(domain).leads;
            chosen.push(Chosen { domain, pods: taken * size, leader: here });
            left -= taken;
            leader &= !here;
        }
        None
    }

    // Below a level each domain shares what it was given out among its own children, down to the leaves.
    fn share_out(&self, from: usize, mut chosen: Vec<Chosen>) -> Option<Vec<Chosen>> {
        for level in from..self.domains.last() {
            let size = if level < self.plan.slice_level { self.plan.size } else { self.plan.inner[level + 1] };
            let mut lower = Vec::with_capacity(chosen.len());
            for above in chosen.iter().filter(|above| above.pods > 0 || above.leader) {
                let mut kids: Vec<u32> = self.domains.kids(above.domain).collect();
                self.sort(&mut kids);
                lower.append(&mut self.fewest(kids, above.pods, above.leader, Fill::Groups(size))?);
            }
            chosen = lower;
        }
        Some(chosen)
    }

    fn placed(&self, mut chosen: Vec<Chosen>) -> Placed {
        chosen.sort_unstable_by_key(|chosen| chosen.domain);
        let first = self.domains.leaves().start;
        let leaf = |chosen: &Chosen| LeafIx(chosen.domain - first);
        let some = chosen.iter().filter(|chosen| chosen.pods > 0);
        let pods = some.map(|chosen| (leaf(chosen), u32::try_from(chosen.pods).unwrap_or(u32::MAX))).collect();
        Placed { pods: Placement(pods), leader: chosen.iter().find(|chosen| chosen.leader).map(leaf) }
    }

    fn refuse(&self, load: &Load, short: Short) -> Refusal {
        if short.empty {
            return Refusal::NoDomains { level: level_ix(short.level) };
        }
        let mut excluded = self.plan.excluded.clone();
        for leaf in 0..self.domains.leaves().len() {
            if let Some(what) = self.plan.short(load, leaf) {
                *excluded.resources.entry(what).or_default() += 1;
            }
        }
        let count = |count: i64| u64::try_from(count).unwrap_or(0);
        let layers = if self.plan.layers.len() > 1 { self.layers_fit(short.level) } else { vec![] };
        let unit = if self.plan.size == 1 { Unit::Pods } else { Unit::Slices };
        let (fits, of, for_leader) = (count(short.fits), count(self.plan.need()), self.for_leader());
        Refusal::DoesNotFit { fits, of, unit, for_leader, layers, excluded }
    }

    // Only the leader is too much.
    fn for_leader(&self) -> bool {
        let slices = |level: usize| self.domains.range(level).map(|domain| self.slot(domain).slices);
        let alone = if self.plan.required() { slices(self.plan.level).max() } else { Some(slices(0).sum()) };
        self.plan.leader.is_some() && alone.is_some_and(|alone| alone >= self.plan.need())
    }

    // In the domain of the level with the most slices.
    fn layers_fit(&self, level: usize) -> Vec<LayerFit> {
        let most = self.domains.range(level).min_by_key(|domain| (-self.slot(*domain).slices, *domain));
        let Some(most) = most else { return vec![] };
        let fit = |layer: &Layer| {
            let mut range = most..most + 1;
            for _ in level..usize::from(layer.level.0) {
                range = match (range.clone().next(), range.clone().next_back()) {
                    (Some(first), Some(last)) => self.domains.kids(first).start..self.domains.kids(last).end,
                    _ => range,
                };
            }
            let size = i64::from(layer.size);
            let fits: i64 = range.map(|domain| self.slot(domain).pods / size).sum();
            let count = |count: i64| u64::try_from(count).unwrap_or(0);
            LayerFit { layer: *layer, fits: count(fits), of: count(self.plan.count / size) }
        };
        self.plan.layers.iter().map(fit).collect()
    }
}
