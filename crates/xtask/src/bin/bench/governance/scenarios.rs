//! The performance scenarios of Kueue, taken again in virtual time through the engine of governance.
//!
//! Work arrives, runs for its time and ends on a clock that nobody waits for; what the engine and the journal do takes as long
//! on that clock as it really took. So a workload that ends while a decision is written down is seen afterwards, and one that
//! is admitted begins when that is durable: wall time and waits are what a stopwatch would show. Figures of Kueue are those
//! that its own performance test publishes, taken under its client limit of 50 requests a second.

use super::racks::Racks;
use govern::{
    amount::Amount,
    cycle::{
        AnyFloor, Decision, Estate, Floor, Profile, Scheduler, Verdict,
        book::{Pending, PendingIx},
    },
    flavors::{Flavor, FlavorIx, Group, Offer, PodSet},
    order::Waiting,
    preempt::{Cut, PreemptionRules, QueuePolicy, Takes},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree},
    workload::WorkloadIx,
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What all queues have quota of.
pub const CPU: FlavorResource = FlavorResource(0);

/// Workloads of one size in each queue.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// What it is called.
    pub name: &'static str,
    /// How many of them.
    pub count: u32,
    /// One comes every so many milliseconds.
    pub every_ms: u64,
    /// How long each runs.
    pub run_ms: u64,
    /// Its priority.
    pub priority: i64,
    /// CPUs of each, all pods together.
    pub cpus: i64,
    /// Pods of each, where places are chosen.
    pub pods: u32,
    /// How long such a workload waits in Kueue, in the mean.
    pub kueue_wait_ms: u64,
}

/// One of the scenarios.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// So many cohorts,
    pub cohorts: u32,
    /// and in each so many queues.
    pub queues: u32,
    /// Whether places are chosen, on 640 nodes.
    pub topology: bool,
    /// The sizes, largest first.
    pub sizes: [Size; 3],
    /// How long Kueue takes for all of it.
    pub kueue_wall_ms: u64,
    /// How long it may take here, when nothing is written down.
    pub goal_wall_ms: u64,
    /// How long it may take when everything is.
    pub goal_durable_ms: u64,
}

const fn size(name: &'static str, (count, every_ms): (u32, u64), (cpus, run_ms, priority): (i64, u64, i64)) -> Size {
    Size { name, count, every_ms, run_ms, priority, cpus, pods: 1, kueue_wait_ms: 0 }
}

const LARGE: Size = size("large", (50, 1200), (20, 1000, 200));
const MEDIUM: Size = size("medium", (100, 500), (5, 500, 100));
const SMALL: Size = size("small", (350, 100), (1, 200, 50));

/// 15,000 workloads in 30 queues.
pub const BASELINE: Scenario = Scenario {
    name: "baseline",
    cohorts: 5,
    queues: 6,
    topology: false,
    sizes: [
        Size { kueue_wait_ms: 16_501, ..LARGE },
        Size { kueue_wait_ms: 76_768, ..MEDIUM },
        Size { kueue_wait_ms: 215_468, ..SMALL },
    ],
    kueue_wall_ms: 351_116,
    goal_wall_ms: 81_000,
    goal_durable_ms: 81_000,
};

/// 50,000 workloads in 1,000 queues.
pub const LARGE_SCALE: Scenario = Scenario {
    name: "large_scale",
    cohorts: 10,
    queues: 100,
    topology: false,
    sizes: [
        Size { count: 4, every_ms: 700, run_ms: 700, kueue_wait_ms: 105_604, ..LARGE },
        Size { count: 11, every_ms: 300, run_ms: 350, kueue_wait_ms: 256_413, ..MEDIUM },
        Size { count: 35, every_ms: 60, run_ms: 150, kueue_wait_ms: 700_379, ..SMALL },
    ],
    kueue_wall_ms: 1_179_411,
    goal_wall_ms: 5_000,
    goal_durable_ms: 15_000,
};

/// 15,000 workloads in 30 queues, each with places on 640 nodes: a third must be in one rack, a third would like to, and a
/// third is in slices of half of its pods, each in one rack.
pub const TOPOLOGY: Scenario = Scenario {
    name: "topology",
    topology: true,
    sizes: [
        Size { pods: 8, kueue_wait_ms: 37_862, ..LARGE },
        Size { pods: 4, kueue_wait_ms: 106_303, ..MEDIUM },
        Size { pods: 2, kueue_wait_ms: 237_846, ..SMALL },
    ],
    kueue_wall_ms: 401_472,
    goal_wall_ms: 80_000,
    goal_durable_ms: 80_000,
    ..BASELINE
};

impl Scenario {
    /// How many workloads there are.
    pub fn workloads(&self) -> u64 {
        let each: u32 = self.sizes.iter().map(|size| size.count).sum();
        u64::from(self.cohorts) * u64::from(self.queues) * u64::from(each)
    }

    /// Every queue: the number of its cohort, its number in it, and its node of the quota tree.
    pub fn queues(&self) -> impl Iterator<Item = (u32, u32, NodeIx)> {
        let queues = self.queues;
        (0..self.cohorts).flat_map(move |cohort| {
            (0..queues).map(move |queue| (cohort, queue, NodeIx(cohort * (queues + 1) + 1 + queue)))
        })
    }

    /// The time below which nobody can be done: all CPU time divided by all quota.
    pub fn work_bound_ms(&self) -> u64 {
        let of = |size: &Size| u64::from(size.count) * size.run_ms * size.cpus.unsigned_abs();
        self.sizes.iter().map(of).sum::<u64>() / QUOTA.unsigned_abs()
    }
}

/// CPUs of each queue.
pub const QUOTA: i64 = 20;
/// How many a queue may borrow.
pub const BORROW: i64 = 100;
/// What the engine counts a CPU as.
pub const MILLI: i64 = 1000;

/// What came about without the engine. A workload is named by its number in the scenario.
#[derive(Debug, Clone, Copy)]
pub enum Happening<'a> {
    /// A workload came.
    Arrived {
        /// Which one.
        item: usize,
        /// To this queue.
        queue: NodeIx,
        /// Of this size.
        size: &'a Size,
    },
    /// A workload ran to its end.
    Ended {
        /// Which one.
        item: usize,
    },
    /// A workload that had to go is gone, and waits again.
    Stopped {
        /// Which one.
        item: usize,
        /// It is not looked at before this time, in seconds.
        due_s: Option<i64>,
    },
}

/// What one cycle decided.
#[derive(Debug, Clone, Copy)]
pub struct Cycle<'a> {
    /// When.
    pub now_ms: u64,
    /// What.
    pub decisions: &'a [Decision],
    /// Everybody else, as they are after it.
    pub scheduler: &'a Scheduler,
}

/// Where everything is written before it counts.
pub trait Journal {
    /// This came about at one time, before any decision of that time.
    ///
    /// # Errors
    /// When it could not be written.
    fn happened(&mut self, now_ms: u64, happenings: &[Happening<'_>]) -> Result<(), String>;
    /// This was decided in one cycle.
    ///
    /// # Errors
    /// When it could not be written.
    fn decided(&mut self, cycle: &Cycle<'_>) -> Result<(), String>;
}

/// It is not written.
pub struct Nowhere;

impl Journal for Nowhere {
    fn happened(&mut self, _: u64, _: &[Happening<'_>]) -> Result<(), String> {
        Ok(())
    }
    fn decided(&mut self, _: &Cycle<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// What time it is, in microseconds, for what takes real time.
#[derive(Clone, Copy)]
pub struct Clocks<'a> {
    /// For the engine.
    pub engine_us: &'a dyn Fn() -> u64,
    /// For the journal.
    pub journal_us: &'a dyn Fn() -> u64,
}

/// What came of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// When the end of the last workload was known, and written.
    pub wall_us: u64,
    /// What the engine took, in real time.
    pub engine_us: u64,
    /// What the journal took, in real time.
    pub journal_us: u64,
    /// How often a workload was admitted.
    pub admissions: u64,
    /// How many were told to go.
    pub preemptions: u64,
    /// Cycles.
    pub cycles: u64,
    /// Mean waits until the last admission, in the order of the sizes.
    pub wait_ms: [u64; 3],
}

impl Outcome {
    /// When the end of the last workload was known, and written.
    pub const fn wall_ms(&self) -> u64 {
        self.wall_us / 1000
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    // The place of a workload, and as the so manieth admission: who was stopped before does not end then.
    End(WorkloadIx, u64),
    Stop(WorkloadIx, u64),
    Arrive(usize),
}

struct Item {
    size: usize,
    kind: u32,
    queue: NodeIx,
    born_us: u64,
    admitted_us: u64,
}

struct Play<'a> {
    scenario: &'a Scenario,
    clocks: Clocks<'a>,
    scheduler: Scheduler,
    racks: Option<Racks>,
    items: Vec<Item>,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    // By place of what runs: the admission that it runs under.
    admission: Vec<u64>,
    now_us: u64,
    // The second that the last cycle looked at.
    looked_s: i64,
    happened: Vec<Happening<'a>>,
    outcome: Outcome,
}

/// Takes a scenario.
///
/// # Errors
/// When the scenario is none, and what the journal answers.
pub fn run(scenario: &Scenario, journal: &mut dyn Journal, clocks: Clocks<'_>) -> Result<Outcome, String> {
    let mut play = Play::new(scenario, clocks)?;
    let mut goes_on = false;
    while let Some(next_us) = if goes_on { Some(play.now_us) } else { play.next_us() } {
        play.now_us = play.now_us.max(next_us);
        play.by_engine(|play| {
            while let Some(Reverse((at_us, event))) =
                play.next_event().filter(|Reverse((at_us, _))| *at_us <= play.now_us)
            {
                play.events.pop();
                play.happen(at_us, event);
            }
        });
        play.by_journal(|play| journal.happened(play.now_us / 1000, &play.happened))?;
        // A notice to somebody who is gone by itself passes unseen.
        if !play.happened.is_empty() {
            play.outcome.wall_us = play.now_us;
            play.happened.clear();
        }
        goes_on = play.is_due() && play.cycle(journal)?;
    }
    play.finish()
}

fn seconds(us: u64) -> i64 {
    i64::try_from(us / 1_000_000).unwrap_or(i64::MAX)
}

fn estate(scenario: &Scenario) -> Result<Estate, String> {
    let mut specs = vec![];
    let amount = |cpus: i64| Amount::new(cpus * MILLI);
    let quota = Quota { nominal: amount(QUOTA), borrowing_limit: Some(amount(BORROW)), lending_limit: None };
    for _ in 0..scenario.cohorts {
        let cohort = u32::try_from(specs.len()).map_err(|_| "too many cohorts")?;
        specs.push(NodeSpec::default());
        let queue =
            NodeSpec { parent: Some(cohort), is_queue: true, quotas: vec![(CPU, quota)], ..NodeSpec::default() };
        specs.extend(std::iter::repeat_n(queue, scenario.queues as usize));
    }
    let tree = Tree::build(&specs, 1).map_err(|why| why.to_string())?;
    let group = Group { resources: vec![Resource(0)], flavors: vec![FlavorIx(0)], cells: vec![CPU] };
    let policy = QueuePolicy { within_queue: Takes::LowerPriority, reclaim: Takes::Any, while_borrowing: None };
    Ok(Estate {
        shares: Shares::build(&tree, &[Resource(0)]),
        tree,
        catalog: vec![Some(Flavor { topology: scenario.topology, ..Flavor::default() })],
        offers: vec![Offer { groups: vec![group], ..Offer::default() }; specs.len()],
        policies: vec![policy; specs.len()],
        pods: None,
    })
}

impl<'a> Play<'a> {
    fn new(scenario: &'a Scenario, clocks: Clocks<'a>) -> Result<Self, String> {
        let scheduler = Scheduler::new(estate(scenario)?, Profile::own(PreemptionRules::own(None)));
        let (mut items, mut events) = (vec![], BinaryHeap::new());
        for (_, _, queue) in scenario.queues() {
            for (size, kind) in scenario.sizes.iter().zip(0..) {
                for at in 0..size.count {
                    let born_us = u64::from(at) * size.every_ms * 1000;
                    events.push(Reverse((born_us, Event::Arrive(items.len()))));
                    items.push(Item { size: kind, kind: at % 3, queue, born_us, admitted_us: 0 });
                }
            }
        }
        let racks = if scenario.topology { Some(Racks::new()?) } else { None };
        let (admission, happened, outcome) = (vec![], vec![], Outcome::default());
        let (now_us, looked_s) = (0, -1);
        Ok(Self { scenario, clocks, scheduler, racks, items, events, admission, now_us, looked_s, happened, outcome })
    }

    // What the engine does passes on everybody's clock.
    fn by_engine<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let begun = (self.clocks.engine_us)();
        let result = work(self);
        let took = (self.clocks.engine_us)().saturating_sub(begun);
        self.outcome.engine_us += took;
        self.now_us += took;
        result
    }

    // And so does what the journal does.
    fn by_journal<T>(&mut self, work: impl FnOnce(&Self) -> T) -> T {
        let begun = (self.clocks.journal_us)();
        let result = work(self);
        let took = (self.clocks.journal_us)().saturating_sub(begun);
        self.outcome.journal_us += took;
        self.now_us += took;
        result
    }

    fn next_event(&self) -> Option<Reverse<(u64, Event)>> {
        self.events.peek().copied()
    }

    // The time that somebody waits for, in seconds, when it has not been looked at.
    fn due_s(&self) -> Option<i64> {
        self.scheduler.next_due().filter(|due| *due > self.looked_s)
    }

    // The next thing that happens, or the time that somebody waits for.
    fn next_us(&self) -> Option<u64> {
        let due = self.due_s().and_then(|due| u64::try_from(due).ok()).map(|due| due.saturating_mul(1_000_000));
        let event = self.next_event().map(|Reverse((at_us, _))| at_us);
        [due, event].into_iter().flatten().min()
    }

    fn is_due(&self) -> bool {
        self.scheduler.is_ready() || self.due_s().is_some_and(|due| due <= seconds(self.now_us))
    }

    fn happen(&mut self, at_us: u64, event: Event) {
        match event {
            Event::Arrive(item) => self.arrive(item),
            Event::End(place, admission) if self.is_under(place, admission) => {
                let ended = self.scheduler.end(place).and_then(|workload| usize::try_from(workload.identity).ok());
                self.happened.extend(ended.map(|item| Happening::Ended { item }));
                self.leave(place);
            }
            Event::Stop(place, admission) if self.is_under(place, admission) => {
                let waits_as = self.scheduler.gone(seconds(at_us), place);
                self.leave(place);
                if let Some(pending) = waits_as {
                    self.wait_again(pending);
                }
            }
            Event::End(..) | Event::Stop(..) => {}
        }
    }

    fn wait_again(&mut self, pending: PendingIx) {
        let waits = self.scheduler.book().get(pending).map(|waits| (waits.waiting.identity, waits.due_at));
        let Some((identity, due_s)) = waits else { return };
        self.tell_racks(pending, identity);
        let item = usize::try_from(identity).ok();
        self.happened.extend(item.map(|item| Happening::Stopped { item, due_s }));
    }

    fn is_under(&self, place: WorkloadIx, admission: u64) -> bool {
        self.admission.get(place.0 as usize) == Some(&admission)
    }

    fn leave(&mut self, place: WorkloadIx) {
        if let Some(admission) = self.admission.get_mut(place.0 as usize) {
            *admission = 0;
        }
        if let Some(racks) = &mut self.racks {
            racks.leave(place);
        }
    }

    fn arrive(&mut self, at: usize) {
        let Some(item) = self.items.get(at) else { return };
        let size = &self.scenario.sizes[item.size];
        self.happened.push(Happening::Arrived { item: at, queue: item.queue, size });
        let each = size.cpus * MILLI / i64::from(size.pods);
        let requests = vec![(Resource(0), Amount::new(each))];
        let set = PodSet { count: size.pods, requests, topology: self.scenario.topology, ..PodSet::default() };
        let shape = self.scheduler.shape(&[set]);
        let identity = at as u64;
        let queued_at = Some(seconds(item.born_us));
        let waiting = Waiting { local_usage: 0, priority: size.priority, queued_at, identity };
        let pending = self.scheduler.submit(Pending::new(item.queue, waiting, shape));
        self.tell_racks(pending, identity);
    }

    fn tell_racks(&mut self, pending: PendingIx, identity: u64) {
        let item = usize::try_from(identity).ok().and_then(|at| self.items.get(at));
        if let (Some(racks), Some(item)) = (&mut self.racks, item) {
            let size = &self.scenario.sizes[item.size];
            racks.expect(pending, item.kind, size.pods, size.cpus * MILLI / i64::from(size.pods));
        }
    }

    // One cycle, and whether it admitted somebody: then there may be more to decide.
    fn cycle(&mut self, journal: &mut dyn Journal) -> Result<bool, String> {
        self.outcome.cycles += 1;
        self.looked_s = seconds(self.now_us);
        let decisions = self.by_engine(|play| {
            let mut anywhere = AnyFloor;
            let floor: &mut dyn Floor = play.racks.as_mut().map_or(&mut anywhere, |racks| racks);
            play.scheduler.step(play.looked_s, floor)
        });
        self.by_journal(|play| {
            journal.decided(&Cycle { now_ms: play.now_us / 1000, decisions: &decisions, scheduler: &play.scheduler })
        })?;
        let before = self.outcome.admissions;
        self.by_engine(|play| {
            decisions.iter().for_each(|decision| play.follow(decision));
            if let Some(racks) = &mut play.racks {
                racks.end_cycle();
            }
        });
        Ok(self.outcome.admissions > before)
    }

    fn follow(&mut self, decision: &Decision) {
        match &decision.verdict {
            Verdict::Admitted { workload, .. } => self.admit(decision.pending, *workload),
            Verdict::Preempting { victims, .. } => {
                // Who has no time to be gone by was told before.
                let told = victims.iter().filter(|victim| victim.cut == Cut::Stop);
                for (victim, stops_at) in told.filter_map(|victim| Some((victim, victim.stops_at?))) {
                    self.outcome.preemptions += 1;
                    let at_us = u64::try_from(stops_at).unwrap_or(0).saturating_mul(1_000_000);
                    let admission = self.admission.get(victim.workload.0 as usize).copied().unwrap_or(0);
                    self.events.push(Reverse((at_us.max(self.now_us), Event::Stop(victim.workload, admission))));
                }
            }
            Verdict::Waiting { .. } => {}
        }
    }

    fn admit(&mut self, pending: PendingIx, place: WorkloadIx) {
        let at = self.scheduler.running().get(place).and_then(|workload| usize::try_from(workload.identity).ok());
        let now_us = self.now_us;
        let Some(item) = at.and_then(|at| self.items.get_mut(at)) else { return };
        item.admitted_us = now_us;
        self.outcome.admissions += 1;
        let (slot, admission) = (place.0 as usize, self.outcome.admissions);
        if self.admission.len() <= slot {
            self.admission.resize(slot + 1, 0);
        }
        self.admission[slot] = admission;
        let ends_us = now_us + self.scenario.sizes[item.size].run_ms * 1000;
        self.events.push(Reverse((ends_us, Event::End(place, admission))));
        if let Some(racks) = &mut self.racks {
            racks.settle(pending, place);
        }
    }

    fn finish(mut self) -> Result<Outcome, String> {
        if self.scheduler.running().iter().next().is_some() || self.outcome.admissions < self.scenario.workloads() {
            return Err(format!("{}: not everybody ran to the end: {:?}", self.scenario.name, self.outcome));
        }
        for (at, wait_ms) in self.outcome.wait_ms.iter_mut().enumerate() {
            let waits = self.items.iter().filter(|item| item.size == at).map(|item| item.admitted_us - item.born_us);
            let (count, sum) = waits.fold((0_u64, 0_u64), |(count, sum), wait| (count + 1, sum + wait));
            *wait_ms = sum / count.max(1) / 1000;
        }
        Ok(self.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::{BASELINE, Clocks, LARGE_SCALE, Nowhere, Scenario, Size, TOPOLOGY, run};
    use std::cell::Cell;

    #[test]
    fn the_scenarios_are_of_the_size_that_kueue_says() {
        assert_eq!([BASELINE, LARGE_SCALE, TOPOLOGY].map(|scenario| scenario.workloads()), [15_000, 50_000, 15_000]);
        assert_eq!(BASELINE.work_bound_ms(), 66_000);
    }

    // Four of twenty at once, in a queue alone with its twenty: the last waits for three.
    fn one_after_the_other() -> Scenario {
        let [large, medium, small] = TOPOLOGY.sizes.map(|size| Size { count: 0, ..size });
        let sizes = [Size { count: 4, every_ms: 0, ..large }, medium, small];
        Scenario { cohorts: 1, queues: 1, sizes, ..TOPOLOGY }
    }

    #[test]
    fn everybody_runs_one_after_the_other_where_there_is_room_for_one() {
        let clocks = Clocks { engine_us: &|| 0, journal_us: &|| 0 };
        let outcome = run(&one_after_the_other(), &mut Nowhere, clocks).unwrap();
        assert_eq!((outcome.wall_ms(), outcome.engine_us, outcome.admissions), (4000, 0, 4));
        assert_eq!(outcome.wait_ms, [1500, 0, 0]);
    }

    #[test]
    fn what_is_written_takes_its_time_on_everybodys_clock() {
        let read = Cell::new(0);
        // Each time that something is written takes half a millisecond: before the first admission twice (that they came,
        // that one got quota), before each other twice again (that one ended), and once after the last.
        let journal_us = || {
            read.set(read.get() + 500);
            read.get()
        };
        let clocks = Clocks { engine_us: &|| 0, journal_us: &journal_us };
        let outcome = run(&one_after_the_other(), &mut Nowhere, clocks).unwrap();
        assert!(outcome.wall_us >= 4_004_500, "{outcome:?}");
        assert!(outcome.wall_us <= 4_000_000 + outcome.journal_us, "{outcome:?}");
        assert_eq!(outcome.wait_ms, [1502, 0, 0]);
    }
}
