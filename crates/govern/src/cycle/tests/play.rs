//! Plays a schedule from event to event: what is admitted ends after its run time, what is told to go goes after its notice, and
//! time moves only to the next moment at which something happens.

use super::{
    super::{AnyFloor, Decision, Scheduler, Verdict},
    GPU, submit,
};
use crate::{
    amount::Amount,
    cycle::book::{Pending, PendingIx},
    order::Waiting,
    tree::NodeIx,
    workload::WorkloadIx,
};
use std::collections::BTreeMap;

/// A small generator of numbers that look random: the same seed, the same numbers.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// Less than that.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    pub(super) fn amount(&mut self, limit: u64) -> i64 {
        i64::try_from(self.below(limit)).unwrap()
    }

    pub(super) fn node(&mut self, limit: u64) -> u32 {
        u32::try_from(self.below(limit)).unwrap()
    }
}

pub(super) struct Play {
    pub(super) scheduler: Scheduler,
    pub(super) now: i64,
    // When each that runs ends or is gone.
    ends: BTreeMap<WorkloadIx, (i64, bool)>,
    // How long each runs, by identity; who is missing runs for ever.
    pub(super) run_s: BTreeMap<u64, i64>,
    /// How often each had to stop, by identity.
    pub(super) stops: BTreeMap<u64, u32>,
    /// When each started first, by identity.
    pub(super) started: BTreeMap<u64, i64>,
}

impl Play {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        let (ends, run_s) = (BTreeMap::new(), BTreeMap::new());
        Self { scheduler, now: 0, ends, run_s, stops: BTreeMap::new(), started: BTreeMap::new() }
    }

    /// One waits, now.
    pub(super) fn submit(&mut self, queue: u32, identity: u64, priority: i64, pods: u32) -> PendingIx {
        self.submit_for(queue, identity, priority, pods, None)
    }

    /// One waits that says how long it runs at most.
    pub(super) fn submit_for(
        &mut self,
        queue: u32,
        identity: u64,
        priority: i64,
        pods: u32,
        max_run_s: Option<u32>,
    ) -> PendingIx {
        let shape = self.scheduler.shape(&[super::pod_set(pods, None)]);
        let waiting = Waiting { local_usage: 0, priority, queued_at: Some(self.now), identity };
        self.scheduler.submit(Pending { max_run_s, ..Pending::new(NodeIx(queue), waiting, shape) })
    }

    /// One that runs for so long.
    pub(super) fn submit_known(&mut self, queue: u32, identity: u64, pods: u32, run_s: u32) -> PendingIx {
        self.run_s.insert(identity, i64::from(run_s));
        self.submit_for(queue, identity, 0, pods, Some(run_s))
    }

    /// One cycle. Says what was decided.
    pub(super) fn cycle(&mut self) -> Vec<Decision> {
        let decisions = self.scheduler.step(self.now, &mut AnyFloor);
        for decision in &decisions {
            match &decision.verdict {
                Verdict::Admitted { workload, .. } => {
                    let identity = self.scheduler.running().get(*workload).unwrap().identity;
                    self.started.entry(identity).or_insert(self.now);
                    if let Some(run_s) = self.run_s.get(&identity) {
                        self.ends.insert(*workload, (self.now + run_s, false));
                    }
                }
                Verdict::Preempting { victims, .. } => {
                    for (victim, at) in victims.iter().filter_map(|victim| Some((victim, victim.stops_at?))) {
                        let identity = self.scheduler.running().get(victim.workload).unwrap().identity;
                        *self.stops.entry(identity).or_default() += 1;
                        let earlier = self.ends.get(&victim.workload).is_some_and(|(end, _)| *end <= at);
                        if !earlier {
                            self.ends.insert(victim.workload, (at, true));
                        }
                    }
                }
                Verdict::Waiting { .. } => {}
            }
        }
        self.check();
        decisions
    }

    /// Cycles until nothing more is decided at this time. Says how many it took.
    pub(super) fn settle(&mut self) -> u32 {
        for cycles in 1..1000 {
            if !self.cycle().iter().any(is_progress) {
                return cycles;
            }
        }
        panic!("cycles without end");
    }

    /// On to the next moment at which something happens, no later than this. Says whether there is one.
    pub(super) fn tick(&mut self, until: i64) -> bool {
        let next = self.ends.values().map(|(at, _)| *at).chain(self.scheduler.next_due()).min();
        let Some(next) = next.filter(|next| *next <= until) else { return false };
        self.now = self.now.max(next);
        let over: Vec<_> =
            self.ends.iter().filter(|(_, (at, _))| *at <= self.now).map(|(at, it)| (*at, it.1)).collect();
        for (workload, back) in over {
            self.ends.remove(&workload);
            if back {
                self.scheduler.gone(self.now, workload).unwrap();
            } else {
                self.scheduler.end(workload).unwrap();
            }
        }
        true
    }

    /// Plays until this time, or until nothing more happens. Says how many moments there were.
    pub(super) fn play(&mut self, until: i64) -> u32 {
        self.settle();
        let mut moments = 0;
        while self.tick(until) {
            self.settle();
            moments += 1;
            assert!(moments < 100_000, "no end");
        }
        moments
    }

    // What is used is what runs, and never more than there is and may be borrowed.
    fn check(&self) {
        let tree = &self.scheduler.estate().tree;
        let mut sum = tree.unused();
        self.scheduler.running().iter().for_each(|(_, one)| one.charge(tree, &mut sum));
        assert_eq!(self.scheduler.usage(), &sum);
        for node in tree.nodes() {
            assert!(sum.of(node, GPU) <= tree.potential(node, GPU), "{node:?} uses more than it may");
        }
        assert!(tree.available(&sum, NodeIx(0), GPU) >= Amount::ZERO);
    }
}

fn is_progress(decision: &Decision) -> bool {
    match &decision.verdict {
        Verdict::Admitted { .. } => true,
        Verdict::Preempting { victims, .. } => victims.iter().any(|victim| victim.stops_at.is_some()),
        Verdict::Waiting { .. } => false,
    }
}

#[test]
fn a_play_moves_from_event_to_event() {
    let queue = super::Q { nominal: 2, ..super::Q::default() };
    let profile = super::Profile::own(super::PreemptionRules::own(None));
    let mut play = Play::new(super::scheduler(&[queue], profile));
    submit(&mut play.scheduler, 1, 9, 0, 2);
    play.run_s.insert(9, 70);
    play.now = 5;
    play.submit_known(1, 1, 2, 30);
    assert_eq!(play.play(1000), 2);
    assert_eq!((play.started[&9], play.started[&1], play.now), (5, 75, 105));
}
