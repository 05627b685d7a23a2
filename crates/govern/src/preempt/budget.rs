//! How much a search leaves alone: whoever hardly uses more than its own, whatever has just started, and everybody once a
//! plan has become too long. Without such limits two queues can push each other out for ever.

use super::{Because, Over, Part, PreemptionRules, Victim, ground::amounts};
use crate::{
    amount::Amount,
    tree::{FlavorResource, NodeIx, Tree, Usage},
    workload::Workload,
};

/// Whether a node uses enough beyond its own to give some of it back, of one of these.
pub(super) fn over(
    tree: &Tree,
    usage: &Usage,
    rules: &PreemptionRules,
    node: NodeIx,
    of: impl IntoIterator<Item = FlavorResource>,
) -> Option<Over> {
    of.into_iter().find_map(|what| {
        let (used, own) = (usage.of(node, what), tree.subtree(node, what));
        let beyond = i128::from(used.units()) - i128::from(own.units());
        let zone = i128::from(own.or_zero().units()) * i128::from(rules.dead_zone_per_mille);
        (used > own && beyond * 1000 >= zone).then_some(Over { node, what, used, own })
    })
}

/// What a node has most clearly too much of: of what is contested if it can, else of anything.
pub(super) fn excess(tree: &Tree, usage: &Usage, node: NodeIx, contested: &[FlavorResource]) -> Over {
    let all = contested.iter().copied().chain((0..tree.width()).map(FlavorResource));
    let first = contested.first().copied().unwrap_or(FlavorResource(0));
    let none = Over { node, what: first, used: usage.of(node, first), own: tree.subtree(node, first) };
    over(tree, usage, &PreemptionRules::default(), node, all).unwrap_or(none)
}

/// What keeps a workload from being stopped, for now or for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protected {
    /// It has not had its quota for long enough; until then.
    Young(i64),
    /// It was stopped too often; until then.
    Stopped(i64),
}

/// What keeps a workload from being stopped for somebody who does not get back its own.
pub(super) fn protected(rules: &PreemptionRules, workload: &Workload, now: i64) -> Option<Protected> {
    if workload.evicting {
        return None;
    }
    let since = workload.quota_at.unwrap_or(now).min(now);
    let grown_at = since.saturating_add(i64::from(workload.terms.run_s_min.unwrap_or(rules.run_s_min)));
    if now < grown_at {
        return Some(Protected::Young(grown_at));
    }
    let most = rules.stops_max?;
    let past = &workload.terms.past;
    let over_at = past.stops_since.saturating_add(i64::from(most.window_s));
    (past.stops_at(now, most.window_s) >= most.count).then_some(Protected::Stopped(over_at))
}

/// Whether without this part of a workload its queue, and every node above it that does not hold the taker, would still use
/// all that is its own of what is contested.
pub(super) fn leaves_nominal(
    tree: &Tree,
    usage: &Usage,
    workload: &Workload,
    part: Part,
    contested: &[FlavorResource],
    common: NodeIx,
) -> bool {
    amounts(workload, part).filter(|(what, much)| contested.contains(what) && *much > Amount::ZERO).all(
        |(what, much)| {
            // All of it counts at every node: as long as a node uses more than its own, it uses more than it keeps.
            let keeps = |node: NodeIx| usage.of(node, what).minus(much) >= tree.subtree(node, what);
            let mut nodes = std::iter::once(workload.queue).chain(tree.ancestors(workload.queue));
            nodes.by_ref().take_while(|node| *node != common).all(keeps)
        },
    )
}

/// When a victim that is told now is stopped.
pub(super) fn stops_at(rules: &PreemptionRules, workload: &Workload, now: i64) -> Option<i64> {
    (!workload.evicting).then(|| now.saturating_add(i64::from(rules.notice_s)))
}

/// The victims, unless they are too many. What is being stopped anyway counts for nothing.
pub(super) fn check(rules: &PreemptionRules, victims: Vec<Victim>) -> Result<Vec<Victim>, Because> {
    let Some(allowed) = rules.evictions_max else { return Ok(victims) };
    let new = victims.iter().filter(|victim| victim.stops_at.is_some()).count();
    let needed = u32::try_from(new).unwrap_or(u32::MAX);
    if needed <= allowed { Ok(victims) } else { Err(Because::OverBudget { needed, allowed }) }
}
