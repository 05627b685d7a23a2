//! Balanced placement: where pods prefer a level, give every domain they need about as many, rather than fill some to the brim.
//!
//! For each set of siblings of the level the largest share is sought that every domain one level below could take (the
//! threshold); domains that cannot take it are left out. The set with the largest threshold wins, then the one that needs fewest
//! domains. Which domains exactly is chosen by a table over how many pods are still to be placed: fewest domains, then
//! the least room. Every domain gets the threshold, and the rest goes to the first. Where any of that fails the usual way of
//! placing is taken.
//!
//! Among domains with equal room those are tried first whose children share it most evenly, measured by the entropy of
//! the shares. It is worked out in whole numbers and rounded to 2^-24 bits; shares that differ by less count as equal.

use super::Domains;
use super::place::{Chosen, Search};
use super::room::Slot;
use std::{cmp::Reverse, collections::BTreeMap};

// A table that would take more steps is not begun.
const STEPS_MAX: usize = 1 << 22;

/// What the domains of a level were given, and what is left of the counts for the levels below.
pub(super) struct Balanced {
    pub(super) level: usize,
    pub(super) chosen: Vec<Chosen>,
    pub(super) slots: Vec<Slot>,
}

struct Best {
    threshold: i64,
    count: usize,
    siblings: Vec<u32>,
    slots: Vec<Slot>,
}

pub(super) fn find(search: &Search<'_>) -> Option<Balanced> {
    let plan = search.plan;
    if plan.need() == 0 {
        return None;
    }
    let mut best: Option<Best> = None;
    for siblings in siblings(search.domains, plan.level) {
        best = better(search, siblings, best);
    }
    let Best { threshold, siblings, slots, .. } = best?;
    let pruned = Search { slots: &slots, ..*search };
    let (level, candidates) = if plan.level < plan.slice_level {
        let mut order = siblings.clone();
        order.sort_unstable_by_key(|domain| pruned.evenness_key(*domain));
        (plan.level + 1, lower(search.domains, &pruned.fewest_and_least(&siblings, &order)?))
    } else {
        (plan.level, siblings)
    };
    let chosen = pruned.share_evenly(candidates, threshold)?;
    Some(Balanced { level, chosen, slots })
}

fn siblings(domains: &Domains, level: usize) -> Vec<Vec<u32>> {
    match level.checked_sub(1) {
        None => vec![domains.range(0).collect()],
        Some(above) => domains.range(above).map(|parent| domains.kids(parent).collect()).collect(),
    }
}

fn lower(domains: &Domains, above: &[u32]) -> Vec<u32> {
    above.iter().flat_map(|domain| domains.kids(*domain)).collect()
}

// Whether these siblings do better than what was found before.
fn better(search: &Search<'_>, siblings: Vec<u32>, best: Option<Best>) -> Option<Best> {
    let plan = search.plan;
    let shared = if plan.level < plan.slice_level { lower(search.domains, &siblings) } else { siblings.clone() };
    let Some(filled) = search.filled(&shared) else { return best };
    let mut threshold = plan.need() / i64::try_from(filled.count).unwrap_or(i64::MAX).max(1);
    if let Some(host) = filled.host {
        threshold = threshold.min(search.slot(host).slices_led);
    }
    let mut with_leader_kept = threshold;
    if let Some(last) = filled.last {
        threshold = threshold.min(search.slot(last).slices);
        let led = if plan.leader.is_some() { search.slot(last).slices_led } else { threshold };
        with_leader_kept = threshold.min(led);
    }
    let beats = |threshold: i64| threshold > 0 && best.as_ref().is_none_or(|best| threshold >= best.threshold);
    if !beats(threshold) {
        return best;
    }
    let attempt = |threshold: i64| {
        let slots = pruned(search, &siblings, threshold);
        let count = Search { slots: &slots, ..*search }.filled(&siblings)?.count;
        Some((threshold, count, slots))
    };
    let found = attempt(threshold).or_else(|| {
        if with_leader_kept < threshold && beats(with_leader_kept) { attempt(with_leader_kept) } else { None }
    });
    let Some((threshold, count, slots)) = found else { return best };
    match best {
        Some(best) if (best.threshold, Reverse(best.count)) >= (threshold, Reverse(count)) => Some(best),
        _ => Some(Best { threshold, count, siblings, slots }),
    }
}

// The counts without what cannot take the threshold, neither at the level of the siblings nor right below.
fn pruned(search: &Search<'_>, siblings: &[u32], threshold: i64) -> Vec<Slot> {
    let mut slots = search.slots.to_vec();
    for kid in lower(search.domains, siblings) {
        prune(search, &mut slots, kid, threshold);
    }
    for domain in siblings {
        recount(search, &mut slots, *domain, search.plan.level);
        prune(search, &mut slots, *domain, threshold);
    }
    slots
}

fn prune(search: &Search<'_>, slots: &mut [Slot], domain: u32, threshold: i64) {
    let slot = slots[domain as usize];
    if slot.slices < threshold {
        each_below(search.domains, domain, &mut |below| {
            slots[below as usize] = Slot { score: slots[below as usize].score, ..Slot::default() };
        });
    } else if slot.leads && slot.slices_led < threshold {
        // It can still take workers, only not the leader as well.
        each_below(search.domains, domain, &mut |below| {
            let slot = &mut slots[below as usize];
            (slot.pods_led, slot.slices_led, slot.leads) = (0, 0, false);
        });
    }
}

fn each_below(domains: &Domains, domain: u32, change: &mut impl FnMut(u32)) {
    change(domain);
    for kid in domains.kids(domain) {
        each_below(domains, kid, change);
    }
}

// Finer layers of slices are not rounded to here.
fn recount(search: &Search<'_>, slots: &mut [Slot], domain: u32, level: usize) {
    let kids = search.domains.kids(domain);
    if kids.is_empty() {
        if level == search.plan.slice_level {
            let slot = &mut slots[domain as usize];
            (slot.slices, slot.slices_led) = (slot.pods / search.plan.size, slot.pods_led / search.plan.size);
        }
        return;
    }
    for kid in kids.clone() {
        recount(search, slots, kid, level + 1);
    }
    slots[domain as usize] = search.plan.sum(level, 1, &slots[kids.start as usize..kids.end as usize]);
}

// The largest domains one after the other: how many, the one with the leader, the last one without.
struct Filled {
    count: usize,
    host: Option<u32>,
    last: Option<u32>,
}

impl Search<'_> {
    fn filled(&self, domains: &[u32]) -> Option<Filled> {
        let (mut order, mut left) = (domains.to_vec(), self.plan.need());
        let mut filled = Filled { count: 0, host: None, last: None };
        if self.plan.leader.is_some() {
            self.sort_led(&mut order);
            let host = order.first().copied().filter(|first| self.slot(*first).leads)?;
            left -= self.slot(host).slices_led;
            (filled.count, filled.host) = (1, Some(host));
            order.remove(0);
        }
        self.sort(&mut order);
        for domain in order {
            if left <= 0 || self.slot(domain).slices <= 0 {
                break;
            }
            left -= self.slot(domain).slices;
            (filled.count, filled.last) = (filled.count + 1, Some(domain));
        }
        (left <= 0).then_some(filled)
    }

    // As few of the domains as possible, with as little room as possible: a table of how many pods are left to place with
    // so many domains chosen, where the first way to reach a place is kept.
    fn fewest_and_least(&self, domains: &[u32], order: &[u32]) -> Option<Vec<u32>> {
        let count = self.filled(domains)?.count;
        // Each place: the domain chosen last and the place before it.
        let mut ways: Vec<(u32, usize)> = vec![(u32::MAX, usize::MAX)];
        let mut table: Vec<BTreeMap<(bool, i64), usize>> = vec![BTreeMap::new(); count + 1];
        table[0].insert((self.plan.leader.is_some(), self.plan.count), 0);
        for domain in order.iter().copied() {
            let slot = *self.slot(domain);
            for chosen in (1..=count).rev() {
                let (before, after) = table.split_at_mut(chosen);
                for (&(leader, left), &way) in &before[chosen - 1] {
                    if !leader && left <= 0 {
                        continue;
                    }
                    let mut reach = |place: (bool, i64)| {
                        after[0].entry(place).or_insert_with(|| {
                            ways.push((domain, way));
                            ways.len() - 1
                        });
                    };
                    if leader && slot.leads {
                        reach((false, left - slot.pods_led));
                    }
                    if slot.slices > 0 {
                        reach((leader, left - slot.pods));
                    }
                }
                if ways.len() > STEPS_MAX {
                    return None;
                }
            }
        }
        let least = table[count].range(..=(false, 0)).next_back();
        let mut way = *least?.1;
        let mut chosen = vec![];
        while let Some((domain, before)) = ways.get(way).copied().filter(|(_, before)| *before != usize::MAX) {
            chosen.push(domain);
            way = before;
        }
        chosen.reverse();
        Some(chosen)
    }

    fn share_evenly(&self, mut candidates: Vec<u32>, threshold: i64) -> Option<Vec<Chosen>> {
        candidates.sort_unstable();
        let mut domains = self.fewest_and_least(&candidates, &candidates)?;
        let all = i64::try_from(domains.len()).unwrap_or(i64::MAX);
        let mut rest = self.plan.need() - all.saturating_mul(threshold);
        if rest < 0 {
            return None;
        }
        self.sort_led(&mut domains);
        let (mut leader, mut chosen) = (self.plan.leader.is_some(), vec![]);
        for domain in domains {
            let slot = self.slot(domain);
            let room = if leader { slot.slices_led } else { slot.slices };
            let more = if leader || rest > 0 { (room - threshold).min(rest) } else { 0 };
            chosen.push(Chosen { domain, pods: (threshold + more) * self.plan.size, leader });
            rest -= more;
            leader = false;
        }
        (rest == 0 && !leader).then_some(chosen)
    }

    fn evenness_key(&self, domain: u32) -> (bool, i64, Reverse<u64>, u32) {
        let slot = self.slot(domain);
        let kids = self.domains.kids(domain);
        let shares = kids.map(|kid| u64::try_from(self.slot(kid).pods).unwrap_or(0));
        (!slot.leads, -slot.slices_led, Reverse(entropy(&shares.collect::<Vec<u64>>())), domain)
    }
}

// Bits after the point while working, and in the answer.
const FINE: u32 = 48;
const COARSE: u32 = 24;

/// The entropy of shares in 2^-24 bits.
fn entropy(shares: &[u64]) -> u64 {
    let all: u64 = shares.iter().sum();
    if all == 0 {
        return 0;
    }
    // log all - sum of share * log share / all
    let parts: u128 = shares.iter().filter(|share| **share > 0).map(|share| u128::from(*share) * log2(*share)).sum();
    let fine = log2(all).saturating_sub(parts / u128::from(all));
    u64::try_from((fine + (1 << (FINE - COARSE - 1))) >> (FINE - COARSE)).unwrap_or(u64::MAX)
}

/// The logarithm to base 2 of a number above zero, rounded down to 2^-48.
fn log2(number: u64) -> u128 {
    let whole = 63 - number.leading_zeros();
    // The number scaled to 1..2 with 62 bits after the point; each squaring doubles the logarithm and gives one bit of it.
    let mut scaled = u128::from(number) << (62 - whole.min(62)) >> whole.saturating_sub(62);
    let mut log = u128::from(whole);
    for _ in 0..FINE {
        scaled = (scaled * scaled) >> 62;
        log <<= 1;
        if scaled >= 1 << 63 {
            scaled >>= 1;
            log |= 1;
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::{COARSE, entropy, log2};

    #[test]
    fn even_shares_have_the_most_entropy() {
        assert_eq!(entropy(&[]), 0);
        assert_eq!(entropy(&[7]), 0);
        assert_eq!(entropy(&[3, 3]), 1 << COARSE);
        assert_eq!(entropy(&[5, 5, 5, 5, 0]), 2 << COARSE);
        assert_eq!(entropy(&[1, 1, 1]), entropy(&[9, 9, 9]), "the size of the whole does not matter");
        assert!(entropy(&[3, 3]) > entropy(&[4, 2]) && entropy(&[4, 2]) > entropy(&[5, 1]));
        assert_eq!(entropy(&[2, 1, 4]), entropy(&[4, 2, 1]));
    }

    #[test]
    fn the_logarithm_is_exact_for_powers_of_two_and_near_else() {
        assert_eq!(log2(1), 0);
        assert_eq!(log2(1 << 40), 40 << 48);
        // 3 is two to the power of 1.584962500721156
        let three = log2(3);
        assert!(three.abs_diff(446_127_000_000_000) < 500_000_000, "{three}");
        assert!(log2(9).abs_diff(2 * three) <= 4);
    }
}
