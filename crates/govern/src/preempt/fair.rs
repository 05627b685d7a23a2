//! The fair search: the one whose share is largest gives first, and only as long as the taker stays below.
//!
//! The request is counted as used while victims are picked, so every share that is compared is one that would come about.
//! From the root the search goes down to the child with the largest share, again and again, and asks there. The taker's own
//! queue stands among the others. Within its own quota the taker may take back what it lent whatever the shares are.
//!
//! What is put back in the end raises the taker's share again. In a minimal search every victim of another queue is therefore
//! looked at once more against the shares that would really come about, and the search is done again without those whose
//! taking would not be fair then: otherwise two queues could take the same workloads from each other for ever.

use super::{
    Asking, Because, FairRule, FairStrategies, Part, Takes, Victim, budget,
    candidates::Taker,
    ground::{Ground, Step, Why},
    settle,
    tournament::{Pass, Tournament},
};
use crate::{tree::NodeIx, workload::WorkloadIx};
use std::collections::{BTreeMap, BTreeSet};

// A search that has not found a fair set by then finds none.
const ROUNDS_MAX: usize = 16;

pub(super) fn search<'a>(
    taker: Taker<'a>,
    ground: &mut Ground<'a>,
    strategies: FairStrategies,
) -> Result<Vec<Victim>, Because> {
    let mut taker = taker;
    let queues = queues(&mut taker, ground);
    ground.spared = taker.spared;
    if queues.is_empty() {
        return Err(Because::NoCandidates);
    }
    for _ in 0..ROUNDS_MAX {
        ground.spared = taker.spared;
        let (steps, whole, shrunk) = (vec![], BTreeSet::new(), BTreeSet::new());
        let mut round = Round { taker: &taker, ground, queues: &queues, steps, whole, shrunk, refused: 0 };
        let mut steps = round.pick(strategies)?;
        settle::fill_back(taker.rules, ground, &mut steps, true);
        let (victims, unfair) = settle::unwind(&taker, ground, &steps);
        if unfair.is_empty() || !taker.rules.minimal {
            return budget::check(taker.rules, victims);
        }
        taker.unfair.extend(unfair);
    }
    Err(Because::NeverFair)
}

// The queues that victims may come from: the taker's own, and those that borrow what is contested.
fn queues(taker: &mut Taker<'_>, ground: &Ground<'_>) -> Vec<NodeIx> {
    let Asking { queue: own, contested, .. } = *taker.asking;
    let mut queues = vec![];
    if taker.may_take_own(ground) {
        queues.push(own);
    }
    if taker.policy.reclaim != Takes::Never && ground.tree.parent(own).is_some() && !contested.is_empty() {
        let mut nodes = vec![ground.tree.root(own)];
        while let Some(node) = nodes.pop() {
            nodes.extend(ground.tree.children(node));
            if node == own || !ground.tree.is_queue(node) || taker.over(ground, node).is_none() {
                continue;
            }
            match taker.all_young_until(ground, node) {
                None => queues.push(node),
                Some(until) => {
                    let spared = &mut taker.spared;
                    let count = u32::try_from(ground.running.of_queue(node).len()).unwrap_or(u32::MAX);
                    spared.young = spared.young.saturating_add(count);
                    spared.until = Some(spared.until.map_or(until, |before| before.min(until)));
                }
            }
        }
    }
    queues
}

struct Round<'r, 'a> {
    taker: &'r Taker<'a>,
    ground: &'r mut Ground<'a>,
    queues: &'r [NodeIx],
    steps: Vec<Step>,
    // Workloads that an earlier run has taken, and those whose spare units it has taken.
    whole: BTreeSet<WorkloadIx>,
    shrunk: BTreeSet<WorkloadIx>,
    // How many workloads the shares did not give.
    refused: u32,
}

impl Round<'_, '_> {
    // Takes until it fits; what was taken is gone from the ground then. Else everything is as before.
    fn pick(&mut self, strategies: FairStrategies) -> Result<Vec<Step>, Because> {
        self.ground.charge_request();
        let fits = self.pick_by(strategies);
        self.ground.uncharge_request();
        let steps = std::mem::take(&mut self.steps);
        if fits {
            return Ok(steps);
        }
        let because = match (self.refused, steps.is_empty()) {
            (0, true) => Because::NoCandidates,
            (0, false) => self.ground.because(true),
            (refused, _) => Because::NotFair { refused },
        };
        settle::restore(self.ground, &steps);
        Err(because)
    }

    fn pick_by(&mut self, strategies: FairStrategies) -> bool {
        let rule = match strategies {
            FairStrategies::InitialShare => FairRule::InitialShare,
            FairStrategies::FinalShare | FairStrategies::Both => FairRule::FinalShare,
        };
        let mut left = BTreeMap::new();
        if self.taker.rules.shrink_first
            && (self.first(rule, Pass::Evicting, &mut left) || self.first(rule, Pass::Spare, &mut left))
        {
            return true;
        }
        left.clear();
        if self.first(rule, Pass::Stop, &mut left) || strategies == FairStrategies::Both && self.second(&left) {
            return true;
        }
        self.refused = left.values().map(|places| u32::try_from(places.len()).unwrap_or(u32::MAX)).sum();
        false
    }

    // One run over all queues by one rule. What the rule does not give is left for the second.
    fn first(&mut self, rule: FairRule, pass: Pass, left: &mut BTreeMap<NodeIx, Vec<WorkloadIx>>) -> bool {
        let running = self.ground.running;
        let evicting = |queue: &NodeIx| {
            let first = running.of_queue(*queue).first().and_then(|place| running.get(*place));
            first.is_some_and(|workload| workload.evicting)
        };
        let any = match pass {
            Pass::Evicting => self.queues.iter().any(evicting),
            Pass::Spare => self.queues.iter().any(|queue| running.has_elastic(*queue)),
            Pass::Stop | Pass::Left => true,
        };
        if !any {
            return false;
        }
        let entitled = self.ground.is_entitled();
        let mut tournament = Tournament::new(self.taker, self.ground, pass, &self.whole);
        for queue in self.queues {
            tournament.enter(self.ground, *queue, self.ground.running.of_queue(*queue));
        }
        tournament.start(self.ground);
        while let Some((queue, place)) = tournament.pick() {
            let own = self.taker.is_own(queue);
            let taken = if own || entitled {
                let part = self.part(place, pass);
                let why = if own { Why::Own } else { Why::Reclaim };
                let taken = own || !self.is_spared(queue, None, place, part);
                tournament.advance(self.ground, queue);
                if taken {
                    self.take(&Step { workload: place, queue, part, why }, pass);
                }
                taken
            } else {
                self.by_share(&mut tournament, queue, rule, left)
            };
            if taken {
                tournament.changed(self.ground, queue);
                if self.ground.fits_charged() {
                    return true;
                }
            } else {
                tournament.settle(self.ground, queue);
            }
        }
        false
    }

    // The first workload of a queue that the rule gives; whether there was one.
    fn by_share(
        &mut self,
        tournament: &mut Tournament<'_, '_, '_>,
        queue: NodeIx,
        rule: FairRule,
        left: &mut BTreeMap<NodeIx, Vec<WorkloadIx>>,
    ) -> bool {
        let Some((mine, theirs)) = self.ground.sides(self.taker.asking.queue, queue) else {
            tournament.drop_queue(self.ground, queue);
            return false;
        };
        let (taker, before) = (self.ground.share(mine), self.ground.share(theirs));
        // Whoever counts for nothing and borrows is above everybody who does not: no need to try each of them.
        let hopeless = taker.is_beyond_all() && !before.is_beyond_all();
        let mut refused: Option<WorkloadIx> = None;
        while let Some(place) = tournament.head(queue) {
            tournament.advance(self.ground, queue);
            let part = self.part(place, tournament.pass);
            // Nothing changes until one is taken, so what uses the same as one that was refused is refused as well.
            if hopeless || part == Part::Whole && refused.is_some_and(|before| self.use_the_same(before, place)) {
                left.entry(queue).or_default().push(place);
                continue;
            }
            if self.is_spared(queue, Some(theirs), place, part) {
                continue;
            }
            self.ground.uncharge(place, part);
            let after = self.ground.share(theirs);
            if !rule.gives(self.taker.rules.share_margin_per_mille, &taker, &before, &after) {
                self.ground.charge(place, part);
                left.entry(queue).or_default().push(place);
                refused = (part == Part::Whole).then_some(place);
                continue;
            }
            self.ground.place.take(place, part);
            self.keep(&Step { workload: place, queue, part, why: Why::Fair(rule) }, tournament.pass);
            return true;
        }
        false
    }

    // One workload of each queue from which the first rule gave nothing more, while the taker's share is below.
    fn second(&mut self, left: &BTreeMap<NodeIx, Vec<WorkloadIx>>) -> bool {
        let mut tournament = Tournament::new(self.taker, self.ground, Pass::Left, &self.whole);
        for (queue, places) in left {
            tournament.enter(self.ground, *queue, places);
        }
        tournament.start(self.ground);
        while let Some((queue, place)) = tournament.pick() {
            tournament.drop_queue(self.ground, queue);
            let Some((mine, theirs)) = self.ground.sides(self.taker.asking.queue, queue) else { continue };
            let (taker, before) = (self.ground.share(mine), self.ground.share(theirs));
            let part = self.part(place, Pass::Left);
            let margin = self.taker.rules.share_margin_per_mille;
            // This rule does not look at what becomes of the giver.
            let gives = FairRule::InitialShare.gives(margin, &taker, &before, &before);
            if !gives || self.is_spared(queue, Some(theirs), place, part) {
                continue;
            }
            let why = Why::Fair(FairRule::InitialShare);
            self.take(&Step { workload: place, queue, part, why }, Pass::Left);
            tournament.changed(self.ground, queue);
            if self.ground.fits_charged() {
                return true;
            }
        }
        false
    }

    fn is_spared(&mut self, queue: NodeIx, theirs: Option<NodeIx>, place: WorkloadIx, part: Part) -> bool {
        if !self.taker.rules.keep_nominal && self.taker.rules.dead_zone_per_mille == 0 {
            return false;
        }
        // Where the sides were not compared, the taker takes back what is its own.
        let lends = theirs.is_some();
        let sides = || self.ground.sides(self.taker.asking.queue, queue).map(|(_, theirs)| theirs);
        let common = theirs.or_else(sides).and_then(|theirs| self.ground.tree.parent(theirs));
        let (Some(workload), Some(common)) = (self.ground.running.get(place), common) else { return true };
        let left_alone = self.taker.rules.dead_zone_per_mille > 0 && self.taker.over(self.ground, queue).is_none();
        let spared = left_alone || self.taker.keeps_nominal(self.ground, workload, part, common, lends);
        self.ground.spared.nominal += u32::from(spared);
        spared
    }

    fn part(&self, place: WorkloadIx, pass: Pass) -> Part {
        let spare = self.ground.running.get(place).and_then(|it| it.elastic.as_ref()).map_or(0, |it| it.spare);
        match pass {
            Pass::Spare => Part::Units(spare),
            _ if self.shrunk.contains(&place) => Part::Rest,
            _ => Part::Whole,
        }
    }

    fn use_the_same(&self, one: WorkloadIx, other: WorkloadIx) -> bool {
        let usage = |place| self.ground.running.get(place).map(|workload| &workload.usage);
        usage(one) == usage(other)
    }

    fn take(&mut self, step: &Step, pass: Pass) {
        self.ground.take(step);
        self.keep(step, pass);
    }

    fn keep(&mut self, step: &Step, pass: Pass) {
        self.steps.push(*step);
        match pass {
            Pass::Evicting => drop(self.whole.insert(step.workload)),
            Pass::Spare => drop(self.shrunk.insert(step.workload)),
            // Nothing comes after these that would ask.
            Pass::Stop | Pass::Left => {}
        }
    }
}
