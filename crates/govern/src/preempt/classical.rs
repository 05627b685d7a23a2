//! The classical search: a queue gets back what is its own, and beyond that only what its policy lets it take from lower
//! priorities.
//!
//! The further up the tree a quota is, the weaker the claim to it. Going up from the taker's queue, as long as the request
//! does not fit into what a subtree has, the workloads found outside of it are taken by priority; from the first subtree on
//! that has enough, everything outside of it that borrows uses what is nearer to the taker, and gives way first.

use super::{
    Because, Takes, Victim, budget,
    candidates::{Group, List, Stream, Taker},
    ground::Ground,
    settle,
};
use crate::{
    amount::Amount,
    tree::{FlavorResource, NodeIx},
    workload::Amounts,
};

pub(super) fn search(taker: &Taker<'_>, ground: &mut Ground<'_>) -> Result<Vec<Victim>, Because> {
    let groups = groups(taker, ground);
    if groups.is_empty() {
        return Err(Because::NoCandidates);
    }
    let mut because = Because::NoCandidates;
    for borrowing in attempts(taker, ground, &groups) {
        match attempt(taker, ground, &groups, *borrowing) {
            Ok(victims) => return Ok(victims),
            // What is missing while it may borrow says more, unless it was found and is only too much.
            Err(_) if matches!(because, Because::OverBudget { .. }) => {}
            Err(why) if why != Because::NoCandidates && (*borrowing || because == Because::NoCandidates) => {
                because = why
            }
            Err(_) => {}
        }
    }
    Err(because)
}

// Whether the request may borrow, in the order in which that is tried. Without borrowing more candidates may be taken.
fn attempts(taker: &Taker<'_>, ground: &Ground<'_>, groups: &[Group]) -> &'static [bool] {
    let has = |list| groups.iter().any(|group| group.list == list);
    let strict = taker.policy.while_borrowing.is_none();
    // Those that are nearer, and its own, are the same ones either way; without borrowing less would fit.
    if !has(List::Other) || must_borrow(taker, ground) {
        &[true]
    } else if strict && !has(List::Nearer) {
        &[false, true]
    } else {
        &[true, false]
    }
}

// Whether it cannot do without borrowing, and may then take from others only what is nearer to it.
fn must_borrow(taker: &Taker<'_>, ground: &Ground<'_>) -> bool {
    let queue = taker.asking.queue;
    let below_own = |what: &FlavorResource| ground.usage.of(queue, *what) < ground.tree.quota(queue, *what).nominal;
    taker.policy.while_borrowing.is_none() && !taker.asking.contested.iter().all(below_own)
}

// Whether it borrows for lack of anything that it could give up itself, and may then take from others only what is nearer to it.
fn will_borrow(taker: &Taker<'_>, ground: &Ground<'_>, gives_nothing: bool) -> bool {
    gives_nothing && taker.rules.minimal && taker.policy.while_borrowing.is_none() && taker.borrows(ground)
}

fn attempt(
    taker: &Taker<'_>,
    ground: &mut Ground<'_>,
    groups: &[Group],
    borrowing: bool,
) -> Result<Vec<Victim>, Because> {
    // Without borrowing, what others give up helps nobody who would use more than its own; what it gives up itself may.
    let gives_itself = groups.iter().any(|group| group.list == List::Own);
    if taker.rules.minimal && !borrowing && !gives_itself && taker.borrows(ground) {
        return Err(ground.because(false));
    }
    ground.spared = super::Spared::default();
    let mut stream = Stream::new(groups, borrowing);
    let mut steps = vec![];
    while let Some(step) = stream.next(taker, ground) {
        ground.take(&step);
        steps.push(step);
        if ground.fits(borrowing) {
            settle::fill_back(taker.rules, ground, &mut steps, borrowing);
            let (victims, _) = settle::unwind(taker, ground, &steps);
            return budget::check(taker.rules, victims);
        }
    }
    let because = if steps.is_empty() { Because::NoCandidates } else { ground.because(borrowing) };
    settle::restore(ground, &steps);
    Err(because)
}

// The queues that have candidates.
fn groups(taker: &Taker<'_>, ground: &mut Ground<'_>) -> Vec<Group> {
    let queue = taker.asking.queue;
    let mut groups = vec![];
    if taker.may_take_own(ground) {
        groups.push(Group { queue, list: List::Own, common: queue });
    }
    if taker.policy.reclaim != Takes::Never {
        let mut left = taker.asking.request.to_vec();
        let mut nearer = claim(ground, queue, &mut left);
        let must_borrow = must_borrow(taker, ground) || will_borrow(taker, ground, groups.is_empty());
        let mut seen = queue;
        for common in ground.tree.ancestors(queue) {
            let list = if nearer { List::Nearer } else { List::Other };
            // Nobody need be found who would not be taken.
            if nearer || !must_borrow {
                below(taker, ground, common, seen, |queue| groups.push(Group { queue, list, common }));
            }
            nearer |= claim(ground, common, &mut left);
            seen = common;
        }
    }
    groups.retain(|group| taker.next_of(ground, ground.running.of_queue(group.queue), 0).is_some());
    groups
}

// Whether what is left of the request fits into what a node has of its own; and what is left for the node above.
fn claim(ground: &Ground<'_>, node: NodeIx, left: &mut Amounts) -> bool {
    let mut fits = true;
    for (what, much) in left {
        fits &= !ground.tree.borrows_with(ground.usage, node, *what, *much);
        *much = much.minus(ground.tree.kept_free(ground.usage, node, *what)).max(Amount::ZERO);
    }
    fits
}

// The queues below a cohort that use more than their own, and not only because of what their cohorts have.
fn below(taker: &Taker<'_>, ground: &Ground<'_>, cohort: NodeIx, seen: NodeIx, mut found: impl FnMut(NodeIx)) {
    let mut cohorts = vec![cohort];
    while let Some(cohort) = cohorts.pop() {
        for node in ground.tree.children(cohort) {
            if *node == seen || taker.over(ground, *node).is_none() {
                continue;
            }
            if ground.tree.is_queue(*node) { found(*node) } else { cohorts.push(*node) }
        }
    }
}
