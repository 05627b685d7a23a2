//! The desk that decides as the KAI scheduler does. Each round opens a session on one floor that has all the GPUs, with what
//! runs and what waits, and does what a round of that scheduler does: allocate, reclaim, preempt.
//!
//! A session looks at every job that waits, and a search for victims tries all of them out again and again. So of jobs of one
//! team that ask for the same only the first few are shown to it, and only the very first where victims are searched: what
//! that one does not get, the later ones do not get either, and rounds go on as long as something happens. The rest of the
//! line is shown as one job that asks for all they want and can never be placed, because fair parts depend on what is asked
//! for.
//!
//! Where nobody can be stopped, it does not matter which jobs hold what their team holds; so what runs is shown as one job for
//! each team then. And a round that cannot come to anything is not held: when no line asks for as little as is free, or when
//! nothing has changed since the last search for victims found none.

use crate::{
    desk::{Cause, Change, Decided, Desk, STOP_ROUNDS_MAX},
    stage::Stage,
    trace::{Asks, Trace},
};
use govern::{
    amount::Amount,
    kai::{
        action::Action,
        model::{
            ClusterSpec, DEVICES_MOST, GPU, GpuAsk, JobSpec, NodeSpec, Partitioning, QueueSpec, Rules, Safe, Share,
            Status, TaskSpec,
        },
        session::{Event, Session},
    },
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

// A kind of round: what is done, how many jobs of one team that ask for the same are shown for it, and whether others may be
// stopped. What is free is given out first.
struct Kind {
    actions: &'static [Action],
    most: usize,
    stops: bool,
}
const GIVE: Kind = Kind { actions: &[Action::Allocate], most: 16, stops: false };
const TAKE: Kind = Kind { actions: &[Action::Allocate, Action::Reclaim, Action::Preempt], most: 1, stops: true };

// What costs others something is searched for once in so many seconds; that scheduler goes in rounds, too.
const TAKE_EVERY_S: i64 = 60;

// Who came first of the highest class.
type Turn = (Reverse<u8>, usize);

pub(crate) struct Rounds<'t> {
    trace: &'t Trace,
    floor: NodeSpec,
    queues: Vec<QueueSpec>,
    priorities: Vec<u8>,
    waiting: BTreeMap<(u32, Asks), BTreeSet<Turn>>,
    // With when they started.
    running: BTreeMap<usize, i64>,
    // When others were last asked to give.
    taken_at: Option<i64>,
    // Nothing came, went or changed its class since they gave nothing.
    settled: bool,
}

fn gpus_of(milli: i64) -> i64 {
    milli.saturating_mul(GPU / 1000)
}

fn task(gpu: GpuAsk, asks: Asks, running: bool, rank: u64) -> TaskSpec {
    TaskSpec {
        cpu_milli: i64::try_from(asks.cpu_milli).unwrap_or(i64::MAX),
        memory: i64::try_from(asks.memory_mib).unwrap_or(i64::MAX),
        gpu,
        status: if running { Status::Running } else { Status::Pending },
        node: running.then_some(0),
        devices: vec![],
        rank,
        nodes: None,
        legacy: false,
    }
}

// All GPUs in as few tasks as can be; the rest of what is asked for goes with the first.
fn tasks(asks: Asks, running: bool) -> Vec<TaskSpec> {
    let (whole, part) = (asks.gpu_milli / 1000, asks.gpu_milli % 1000);
    let gpu_asks = if part == 0 {
        let most = u64::from(DEVICES_MOST);
        let count = |at: u64| u32::try_from((whole - at * most).min(most)).unwrap_or(DEVICES_MOST);
        (0..whole.div_ceil(most)).map(|at| GpuAsk::Whole(count(at))).collect()
    } else {
        // Equal parts of as many devices as it takes.
        let devices = u32::try_from(whole + 1).unwrap_or(DEVICES_MOST);
        let micro = gpus_of(i64::try_from(asks.gpu_milli).unwrap_or(i64::MAX)) / i64::from(devices);
        vec![GpuAsk::Part { micro, devices }]
    };
    let first = |at: u64| if at == 0 { asks } else { Asks::default() };
    gpu_asks.into_iter().zip(0_u64..).map(|(gpu, at)| task(gpu, first(at), running, at)).collect()
}

impl<'t> Rounds<'t> {
    pub(crate) fn new(trace: &'t Trace, stage: &Stage) -> Self {
        let floor = NodeSpec {
            cpu_milli: stage.total[1],
            memory: stage.total[2],
            gpus: stage.gpus,
            // Parts of a GPU are thousandths.
            gpu_memory_mib: 1000,
            partitioning: Partitioning::Off,
            instances: vec![],
            tasks_max: u32::MAX,
        };
        let share =
            |quota: i64, weight| Share { quota: Amount::new(quota), limit: Amount::UNLIMITED, weight, usage_ppb: 0 };
        let queue = |(team, rank): (&crate::stage::Team, u64)| {
            let [gpus, cpu, memory] = team.quota;
            QueueSpec {
                parent: None,
                shares: [cpu, memory, gpus_of(gpus)].map(|quota| share(quota, team.weight)),
                priority: 0,
                rank,
                safe: Safe::default(),
            }
        };
        Self {
            trace,
            floor,
            queues: stage.teams.iter().zip(0..).map(queue).collect(),
            priorities: trace.jobs.iter().map(|job| job.priority).collect(),
            waiting: BTreeMap::new(),
            running: BTreeMap::new(),
            taken_at: None,
            settled: false,
        }
    }

    fn line_of(&mut self, job: usize) -> Option<&mut BTreeSet<Turn>> {
        let of = self.trace.jobs.get(job)?;
        Some(self.waiting.entry((of.team, of.asks)).or_default())
    }

    fn turn(&self, job: usize) -> Turn {
        (Reverse(self.priorities.get(job).copied().unwrap_or_default()), job)
    }

    fn withdraw(&mut self, job: usize) {
        let turn = self.turn(job);
        if let Some(line) = self.line_of(job) {
            line.remove(&turn);
        }
    }

    fn spec(&self, job: usize, now: i64) -> Option<JobSpec> {
        let of = self.trace.jobs.get(job)?;
        let since = self.running.get(&job).copied();
        let tasks = tasks(of.asks, since.is_some());
        Some(JobSpec {
            queue: of.team as usize,
            priority: i32::from(self.priorities.get(job).copied().unwrap_or_default()),
            preemptible: true,
            min_available: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            rank: u64::try_from(job).unwrap_or(u64::MAX),
            stale_s: None,
            ran_s: since.map(|since| now.saturating_sub(since).max(0).unsigned_abs()),
            tasks,
        })
    }

    // What those ask for that are not shown: the gang is never complete, so it is never placed. More than everything makes no
    // difference.
    fn rest(&self, team: u32, asks: Asks, count: usize) -> JobSpec {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let [gpu_milli, cpu_milli, memory_mib] = asks.list().map(|much| much.saturating_mul(count));
        let gpu_milli = gpu_milli.min(u64::from(self.floor.gpus) * 1000).next_multiple_of(1000);
        let tasks = tasks(Asks { gpu_milli, cpu_milli, memory_mib }, false);
        JobSpec {
            queue: team as usize,
            priority: 0,
            preemptible: true,
            min_available: u32::MAX,
            rank: u64::MAX,
            stale_s: None,
            ran_s: None,
            tasks,
        }
    }

    // What a team's jobs hold together, as one job. Parts of GPUs cannot be put together and are shown as they are.
    fn held_by_teams(&self, now: i64) -> Vec<JobSpec> {
        let mut held: Vec<Asks> = vec![Asks::default(); self.queues.len()];
        let mut specs = vec![];
        for (job, of) in self.running.keys().filter_map(|job| Some((*job, self.trace.jobs.get(*job)?))) {
            match held.get_mut(of.team as usize) {
                Some(sum) if of.asks.gpu_milli.is_multiple_of(1000) => *sum = sum.plus(of.asks),
                _ => specs.extend(self.spec(job, now)),
            }
        }
        let of_team = |(queue, asks): (usize, Asks)| {
            let tasks = tasks(asks, true);
            let min_available = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
            JobSpec { queue, priority: 0, preemptible: true, min_available, rank: 0, stale_s: None, ran_s: None, tasks }
        };
        specs.extend(held.into_iter().enumerate().map(of_team));
        specs
    }

    // Whether somebody asks for no more GPUs than are free.
    fn some_may_fit(&self) -> bool {
        let held = |job: &usize| self.trace.jobs.get(*job).map_or(0, |of| of.asks.gpu_milli);
        let free = (u64::from(self.floor.gpus) * 1000).saturating_sub(self.running.keys().map(held).sum());
        self.waiting.iter().any(|((_, asks), line)| asks.gpu_milli <= free && !line.is_empty())
    }

    // One round; says what was done.
    fn round(&self, now: i64, kind: &Kind) -> Vec<Change> {
        let mut jobs: Vec<JobSpec>;
        let mut shown: Vec<Option<usize>>;
        if kind.stops {
            shown = self.running.keys().copied().map(Some).collect();
            jobs = self.running.keys().filter_map(|job| self.spec(*job, now)).collect();
        } else {
            jobs = self.held_by_teams(now);
            shown = vec![None; jobs.len()];
        }
        for ((team, asks), line) in self.waiting.iter().filter(|(_, line)| !line.is_empty()) {
            for (_, job) in line.iter().take(kind.most) {
                jobs.extend(self.spec(*job, now));
                shown.push(Some(*job));
            }
            if line.len() > kind.most {
                jobs.push(self.rest(*team, *asks, line.len() - kind.most));
                shown.push(None);
            }
        }
        let cluster = ClusterSpec {
            nodes: vec![self.floor.clone()],
            queues: self.queues.clone(),
            jobs,
            profiles: vec![],
            stale_grace_s: 0,
            rules: Rules { by_halves: true, ..Rules::default() },
        };
        let mut session = Session::open(&cluster);
        kind.actions.iter().for_each(|action| session.act(*action));
        let job_of = |task: usize| shown.get(session.tasks.get(task)?.job).copied().flatten();
        let changes = session.events.iter().filter_map(|event| match event {
            Event::Bound { task, .. } => Some(Change::Start(job_of(*task)?)),
            Event::Pipelined { .. } => None,
            Event::Evicted { task, cause } => {
                let why = if cause.action == Action::Preempt { Cause::Priority } else { Cause::Reclaim };
                Some(Change::Stop(job_of(*task)?, why))
            }
        });
        changes.collect()
    }
}

impl Desk for Rounds<'_> {
    fn submit(&mut self, job: usize, priority: u8) {
        self.settled = false;
        if let Some(known) = self.priorities.get_mut(job) {
            *known = priority;
        }
        let turn = self.turn(job);
        if let Some(line) = self.line_of(job) {
            line.insert(turn);
        }
    }

    fn raise(&mut self, job: usize, priority: u8) {
        self.withdraw(job);
        self.submit(job, priority);
    }

    fn end(&mut self, job: usize) {
        self.settled = false;
        self.running.remove(&job);
    }

    fn decide(&mut self, now: i64) -> Decided {
        let mut decided = Decided::default();
        let mut stop_rounds = 0;
        loop {
            if self.waiting.values().all(BTreeSet::is_empty) {
                return decided;
            }
            let mut changes = if self.some_may_fit() { self.round(now, &GIVE) } else { vec![] };
            if changes.is_empty() {
                if self.settled {
                    return decided;
                }
                let next = self.taken_at.map(|at| at.saturating_add(TAKE_EVERY_S)).filter(|next| *next > now);
                if self.taken_at != Some(now) && next.is_some() {
                    decided.ask_again_at = next;
                    return decided;
                }
                self.taken_at = Some(now);
                changes = self.round(now, &TAKE);
                self.settled = changes.is_empty();
            }
            let (mut starts, mut stops) = (BTreeSet::new(), BTreeMap::new());
            for change in changes {
                match change {
                    Change::Start(job) => _ = starts.insert(job),
                    Change::Stop(job, cause) => _ = stops.insert(job, cause),
                }
            }
            // Somebody who was started and stopped in one round has seen nothing of it.
            let fleeting: Vec<usize> = starts.iter().filter(|job| stops.contains_key(job)).copied().collect();
            fleeting.iter().for_each(|job| _ = (starts.remove(job), stops.remove(job)));
            for (job, cause) in &stops {
                self.end(*job);
                let priority = self.priorities.get(*job).copied().unwrap_or_default();
                self.submit(*job, priority);
                decided.changes.push(Change::Stop(*job, *cause));
            }
            for job in &starts {
                self.withdraw(*job);
                self.running.insert(*job, now);
                decided.changes.push(Change::Start(*job));
            }
            if starts.is_empty() && stops.is_empty() {
                return decided;
            }
            stop_rounds += u32::from(!stops.is_empty());
            if stop_rounds >= STOP_ROUNDS_MAX {
                decided.cut = true;
                return decided;
            }
        }
    }
}
