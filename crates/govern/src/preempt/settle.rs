//! From what was taken to a plan: what is not needed is put back, the rest becomes victims, and the ground is left as it was.

use super::{
    Cut, FairRule, Part, PreemptionRules, Reason, Victim, budget,
    candidates::Taker,
    ground::{Ground, Step, Why},
};
use crate::{tree::NodeIx, workload::WorkloadIx};
use std::collections::BTreeSet;

/// Puts back what is not needed, last taken first.
///
/// The last one is needed, or the search would have stopped before it: unless place depends on more than how much is gone,
/// and then one round of putting back may make room for another. Only where a minimal set is asked for is that looked at.
pub(super) fn fill_back(rules: &PreemptionRules, ground: &mut Ground<'_>, steps: &mut Vec<Step>, borrowing: bool) {
    let mut stopped: BTreeSet<WorkloadIx> =
        steps.iter().filter(|step| step.part == Part::Rest).map(|step| step.workload).collect();
    loop {
        let before = steps.len();
        let mut needed = vec![true; before];
        let mut same = Same::new(ground, before);
        let last = if rules.minimal { before } else { before.saturating_sub(1) };
        for at in (0..last).rev() {
            let step = &steps[at];
            // Nobody gets his spare units back while he is stopped.
            if matches!(step.part, Part::Units(_)) && stopped.contains(&step.workload) {
                continue;
            }
            if same.is_needed(ground, steps, at) {
                continue;
            }
            ground.put_back(step);
            if ground.fits(borrowing) {
                needed[at] = false;
                if step.part == Part::Rest {
                    stopped.remove(&step.workload);
                }
            } else {
                ground.take(step);
                same.remember(step.queue, at);
            }
        }
        let mut at = 0;
        steps.retain(|_| {
            at += 1;
            needed[at - 1]
        });
        if steps.len() == before || !rules.minimal || !ground.place.matters() {
            break;
        }
    }
    for step in steps.iter_mut().rev() {
        if let Part::Units(units) = step.part
            && !stopped.contains(&step.workload)
        {
            step.part = Part::Units(trim(ground, *step, units, borrowing));
        }
    }
}

// What was found to be needed. A step from the same queue that uses the same is needed as well, and what is put back in
// between makes it only more so; large searches are mostly made of such steps.
struct Same {
    // By node, one more than the place of a step; empty where it would not pay or would not be true.
    needed: Vec<u32>,
}

impl Same {
    fn new(ground: &Ground<'_>, steps: usize) -> Self {
        let nodes = ground.tree.nodes().count();
        let pays = steps > 64 && steps * 4 > nodes && !ground.place.matters();
        Self { needed: vec![0; if pays { nodes } else { 0 }] }
    }

    fn is_needed(&self, ground: &Ground<'_>, steps: &[Step], at: usize) -> bool {
        let Some(before) = self.needed.get(steps[at].queue.0 as usize).filter(|place| **place > 0) else {
            return false;
        };
        let (this, that) = (&steps[at], &steps[*before as usize - 1]);
        let workload = |step: &Step| ground.running.get(step.workload);
        this.part == Part::Whole
            && that.part == Part::Whole
            && workload(this).zip(workload(that)).is_some_and(|(this, that)| this.usage == that.usage)
    }

    fn remember(&mut self, queue: NodeIx, at: usize) {
        if let Some(place) = self.needed.get_mut(queue.0 as usize) {
            *place = u32::try_from(at + 1).unwrap_or(0);
        }
    }
}

// The least number of units that must be given up, while all of them are gone; leaves only these gone.
fn trim(ground: &mut Ground<'_>, step: Step, units: u32, borrowing: bool) -> u32 {
    let (mut too_few, mut enough) = (0, units);
    while too_few + 1 < enough {
        let middle = too_few + (enough - too_few) / 2;
        let back = Step { part: Part::Units(units - middle), ..step };
        ground.put_back(&back);
        if ground.fits(borrowing) {
            enough = middle;
        } else {
            too_few = middle;
        }
        ground.take(&back);
    }
    if enough < units {
        ground.put_back(&Step { part: Part::Units(units - enough), ..step });
    }
    enough
}

/// Puts everything back.
pub(super) fn restore(ground: &mut Ground<'_>, steps: &[Step]) {
    steps.iter().rev().for_each(|step| ground.put_back(step));
}

/// Puts everything back and tells why each was taken, now that it is clear who stays a victim: the taker's own went first,
/// the others followed in the order in which they were taken. Whose taking is not fair then stands in the second list.
pub(super) fn unwind(taker: &Taker<'_>, ground: &mut Ground<'_>, steps: &[Step]) -> (Vec<Victim>, Vec<WorkloadIx>) {
    let by_share = taker.rules.fair.is_some();
    if by_share {
        ground.charge_request();
    }
    let entitled = !by_share || ground.is_entitled();
    let stopped: BTreeSet<WorkloadIx> =
        steps.iter().filter(|step| step.part == Part::Rest).map(|step| step.workload).collect();
    let (mut victims, mut unfair) = (Vec::with_capacity(steps.len()), vec![]);
    for step in steps.iter().rev() {
        let (reason, fair) = match step.why {
            Why::Own => (in_queue(taker, ground, step), true),
            Why::Fair(rule) => by_fair_share(taker, ground, step, rule),
            Why::Nearer | Why::Reclaim | Why::WhileBorrowing => {
                ground.put_back(step);
                (from_cohort(taker, ground, step), entitled)
            }
        };
        if !fair {
            unfair.push(step.workload);
        }
        let cut = match step.part {
            // The rest of it is a victim, and says that all of it goes.
            Part::Units(_) if stopped.contains(&step.workload) => continue,
            Part::Units(units) => Cut::Shrink { units },
            Part::Whole | Part::Rest => Cut::Stop,
        };
        let stops_at = ground.running.get(step.workload).and_then(|it| budget::stops_at(taker.rules, it, taker.now));
        victims.push(Victim { workload: step.workload, queue: step.queue, reason, cut, stops_at });
    }
    steps.iter().filter(|step| step.why == Why::Own).for_each(|step| ground.put_back(step));
    if by_share {
        ground.uncharge_request();
    }
    victims.reverse();
    (victims, unfair)
}

fn in_queue(taker: &Taker<'_>, ground: &Ground<'_>, step: &Step) -> Reason {
    let priority = ground.running.get(step.workload).map_or(0, |workload| workload.priority);
    Reason::InQueue { priority, taker_priority: taker.asking.priority }
}

fn from_cohort(taker: &Taker<'_>, ground: &Ground<'_>, step: &Step) -> Reason {
    let over = budget::excess(ground.tree, ground.usage, step.queue, taker.asking.contested);
    if step.why != Why::WhileBorrowing {
        return Reason::CohortReclaim { over, nearer: step.why == Why::Nearer };
    }
    let priority = ground.running.get(step.workload).map_or(0, |workload| workload.priority);
    let (taker_priority, limit) = (taker.asking.priority, taker.policy.while_borrowing);
    let priority_max = limit.and_then(|limit| limit.priority_max);
    Reason::CohortReclaimWhileBorrowing { over, priority, taker_priority, priority_max }
}

fn by_fair_share(taker: &Taker<'_>, ground: &mut Ground<'_>, step: &Step, rule: FairRule) -> (Reason, bool) {
    let (mine, theirs) = ground.sides(taker.asking.queue, step.queue).unwrap_or((taker.asking.queue, step.queue));
    let giver_after = ground.share(theirs);
    ground.put_back(step);
    let (share, before) = (ground.share(mine), ground.share(theirs));
    let fair = rule.gives(taker.rules.share_margin_per_mille, &share, &before, &giver_after);
    (Reason::CohortFairShare { rule, taker: (mine, share), giver: (theirs, before), giver_after }, fair)
}
