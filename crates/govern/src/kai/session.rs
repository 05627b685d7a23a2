//! Nodes, queues, jobs and tasks as they are now, and changes to them that can be taken back.
//!
//! Changes go through four verbs (evict, take back an eviction, pipeline, allocate), each written into a log. A statement is
//! what the log holds since a mark; it is kept with [`Session::commit`] or taken back with [`Session::rollback`].

use super::account::{Accounts, plus};
use super::action::Action;
use super::model::{Amounts, ClusterSpec, GPU, GpuAsk, JobSpec, NodeSpec, RESOURCES, Status, TaskSpec};
use super::room::{Presence, Room};

/// Where a task is on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Spot {
    node: usize,
    devices: Vec<u32>,
    presence: Presence,
}

/// A task as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// As described.
    pub spec: TaskSpec,
    /// Its job.
    pub job: usize,
    /// Where it stands.
    pub status: Status,
    // Where it was, and last where it is or will be.
    spots: Vec<Spot>,
    // It leaves only in a statement that is not kept yet.
    virtually: bool,
}

/// A job as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// As described; its tasks are in the session's list.
    pub spec: JobSpec,
    /// Its tasks, in the order in which they are placed.
    pub tasks: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Evicted { task: usize, status: Status, presence: Presence, virtually: bool },
    Unevicted { task: usize, status: Status, presence: Presence },
    Placed { task: usize, status: Status, virtually: bool },
}

/// What was done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks placed on what is free.
    pub binds: u32,
    /// Tasks told to stop.
    pub evictions: u32,
    /// Tasks placed on what is being released.
    pub pipelines: u32,
}

/// For whom, and by which rule, something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    /// Which action.
    pub action: Action,
    /// The job that gains; none where a broken gang is stopped.
    pub job: Option<usize>,
}

/// What was done with a task, in the order in which it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Placed on what is free.
    Bound {
        /// Which task.
        task: usize,
        /// Where.
        node: usize,
    },
    /// Placed on what is being released.
    Pipelined {
        /// Which task.
        task: usize,
        /// Where.
        node: usize,
    },
    /// Told to stop.
    Evicted {
        /// Which task.
        task: usize,
        /// For whom and why.
        cause: Cause,
    },
}

/// Everything, as it is now.
#[derive(Debug, Clone)]
pub struct Session {
    /// Nodes.
    pub rooms: Vec<Room>,
    /// Queues.
    pub accounts: Accounts,
    /// Jobs.
    pub jobs: Vec<Job>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// What was done, counted.
    pub tally: Tally,
    /// What was done, one by one.
    pub events: Vec<Event>,
    /// For how long a gang may be incomplete.
    pub stale_grace_s: u64,
    /// Whether sets of victims are tried out by halves.
    pub by_halves: bool,
    profile_gpus: Vec<u32>,
    // The smallest and the largest memory of a GPU.
    gpu_memory: (i64, i64),
    log: Vec<Change>,
    // The accounts at the start of the search.
    before: Accounts,
}

const fn presence_of(status: Status) -> Option<Presence> {
    match status {
        Status::Allocated | Status::Binding | Status::Running | Status::Stuck => Some(Presence::Holds),
        Status::Pipelined => Some(Presence::Comes),
        Status::Releasing => Some(Presence::Leaves),
        Status::Pending | Status::Failed | Status::Succeeded => None,
    }
}

impl Session {
    /// Opens a session on a cluster.
    #[must_use]
    pub fn open(cluster: &ClusterSpec) -> Self {
        let profile_gpus: Vec<u32> = cluster.profiles.iter().map(|profile| profile.gpus).collect();
        let mut total = [0; RESOURCES];
        let nodes: Vec<NodeSpec> = cluster.nodes.iter().cloned().map(NodeSpec::bounded).collect();
        for node in &nodes {
            let gpus_of = |profile: usize| profile_gpus.get(profile).copied().unwrap_or(1);
            let partitions: u32 = node
                .instances
                .iter()
                .map(|(profile, count)| gpus_of(*profile).saturating_mul(*count))
                .fold(0, u32::saturating_add);
            let gpus = i64::from(node.gpus.saturating_add(partitions)) * GPU;
            total = plus(total, [node.cpu_milli, node.memory, gpus]);
        }
        let memories = || nodes.iter().filter(|node| node.gpus > 0).map(|node| node.gpu_memory_mib);
        let accounts = Accounts::open(cluster, total);
        let mut session = Self {
            gpu_memory: (memories().min().unwrap_or(1).max(1), memories().max().unwrap_or(1).max(1)),
            rooms: nodes.into_iter().map(Room::new).collect(),
            before: accounts.clone(),
            accounts,
            jobs: vec![],
            tasks: vec![],
            tally: Tally::default(),
            events: vec![],
            stale_grace_s: cluster.stale_grace_s,
            by_halves: cluster.rules.by_halves,
            profile_gpus,
            log: vec![],
        };
        for spec in &cluster.jobs {
            session.add_job(spec);
        }
        session.accounts.divide_all();
        session
    }

    fn add_job(&mut self, spec: &JobSpec) {
        let job = self.jobs.len();
        let first = self.tasks.len();
        for task in spec.tasks.iter().cloned().map(TaskSpec::bounded) {
            let presence = presence_of(task.status);
            let spot = task.node.zip(presence).filter(|(node, _)| *node < self.rooms.len());
            let mut spots = vec![];
            let mut devices = task.devices.clone();
            if let Some((node, presence)) = spot {
                if let GpuAsk::Part { devices: wanted, .. } | GpuAsk::Memory { devices: wanted, .. } = task.gpu {
                    let missing = (wanted as usize).saturating_sub(devices.len());
                    devices.extend(self.rooms[node].devices_fresh(missing));
                }
                self.rooms[node].add(&task, &devices, presence);
                spots.push(Spot { node, devices, presence });
            }
            let status = task.status;
            let amounts = self.amounts_held(&task, spots.last().map(|spot| spot.node));
            if status.is_allocated() {
                self.accounts.book(spec.queue, amounts, !spec.preemptible, 1);
                self.accounts.ask(spec.queue, amounts);
            } else if status == Status::Pending {
                self.accounts.ask(spec.queue, self.amounts_asked(&task));
            }
            self.tasks.push(Task { spec: task, job, status, spots, virtually: false });
        }
        let mut tasks: Vec<usize> = (first..self.tasks.len()).collect();
        tasks.sort_by_key(|task| (self.tasks[*task].spec.rank, *task));
        self.jobs.push(Job { spec: JobSpec { tasks: vec![], ..spec.clone() }, tasks });
    }

    /// The accounts as they were when a search began.
    #[must_use]
    pub const fn before(&self) -> &Accounts {
        &self.before
    }

    /// A search begins.
    pub fn remember_accounts(&mut self) {
        self.before.clone_from(&self.accounts);
    }

    fn with_gpus(task: &TaskSpec, gpus: i64) -> Amounts {
        [task.cpu_milli, task.memory, gpus]
    }

    fn gpus_of(&self, profile: usize) -> u32 {
        self.profile_gpus.get(profile).copied().unwrap_or(1)
    }

    fn gpus_by_memory(&self, task: &TaskSpec, part: impl Fn(i64) -> i64) -> i64 {
        match &task.gpu {
            GpuAsk::None => 0,
            GpuAsk::Whole(count) => i64::from(*count) * GPU,
            GpuAsk::Part { micro, devices } => micro.saturating_mul(i64::from(*devices)),
            GpuAsk::Memory { mib, devices } => part(*mib).saturating_mul(i64::from(*devices)),
            GpuAsk::Partitions(asked) => asked
                .iter()
                .map(|(profile, count)| i64::from(self.gpus_of(*profile).saturating_mul(*count)) * GPU)
                .sum(),
        }
    }

    /// What a task asks for, before it is known where. GPU memory counts against the smallest GPU.
    #[must_use]
    pub fn amounts_asked(&self, task: &TaskSpec) -> Amounts {
        Self::with_gpus(task, self.gpus_by_memory(task, |mib| mib.saturating_mul(GPU) / self.gpu_memory.0))
    }

    /// What a task asks for at least: GPU memory counts against the largest GPU.
    #[must_use]
    pub fn amounts_at_least(&self, task: &TaskSpec) -> Amounts {
        Self::with_gpus(task, self.gpus_by_memory(task, |mib| mib.saturating_mul(GPU) / self.gpu_memory.1))
    }

    /// What a task holds on a node.
    #[must_use]
    pub fn amounts_held(&self, task: &TaskSpec, node: Option<usize>) -> Amounts {
        let part = |mib: i64| {
            node.map_or(mib.saturating_mul(GPU) / self.gpu_memory.0, |node| self.rooms[node].device_part(task))
        };
        Self::with_gpus(task, self.gpus_by_memory(task, part))
    }

    /// Free now, or free soon, on a node, in millionths of a GPU.
    #[must_use]
    pub fn gpu_parts(&self, node: usize) -> (i64, i64) {
        let gpus_of = |profile: usize| self.gpus_of(profile);
        (self.rooms[node].gpu_parts_idle(gpus_of), self.rooms[node].gpu_parts_releasing(gpus_of))
    }

    /// Where a task is, or will be.
    #[must_use]
    pub fn node_of(&self, task: usize) -> Option<usize> {
        self.tasks[task].spots.last().map(|spot| spot.node)
    }

    /// On which shared devices.
    #[must_use]
    pub fn devices_of(&self, task: usize) -> &[u32] {
        self.tasks[task].spots.last().map_or(&[], |spot| spot.devices.as_slice())
    }

    /// How many tasks of a job stand so.
    #[must_use]
    pub fn count(&self, job: usize, stands: impl Fn(Status) -> bool) -> usize {
        self.jobs[job].tasks.iter().filter(|task| stands(self.tasks[**task].status)).count()
    }

    /// A task that waits, or that only leaves in this statement and may come back.
    #[must_use]
    pub fn may_be_placed(&self, task: usize, virtually: bool) -> bool {
        let task = &self.tasks[task];
        task.status == Status::Pending || (virtually && task.status == Status::Releasing && task.virtually)
    }

    /// What these tasks ask for together.
    #[must_use]
    pub fn amounts_of(&self, tasks: &[usize]) -> Amounts {
        tasks.iter().fold([0; RESOURCES], |sum, task| plus(sum, self.amounts_asked(&self.tasks[*task].spec)))
    }

    /// What the allocated tasks among these hold.
    #[must_use]
    pub fn amounts_allocated(&self, tasks: &[usize]) -> Amounts {
        let allocated = tasks.iter().filter(|task| self.tasks[**task].status.is_allocated());
        allocated.fold([0; RESOURCES], |sum, task| {
            plus(sum, self.amounts_held(&self.tasks[*task].spec, self.node_of(*task)))
        })
    }

    fn book(&mut self, task: usize, sign: i64) {
        let amounts = self.amounts_held(&self.tasks[task].spec, self.node_of(task));
        let job = &self.jobs[self.tasks[task].job].spec;
        let (queue, fixed) = (job.queue, !job.preemptible);
        self.accounts.book(queue, amounts, fixed, sign);
    }

    // Changes how the task is present where it is now.
    fn turn(&mut self, task: usize, presence: Presence) {
        let Task { spec, spots, .. } = &mut self.tasks[task];
        if let Some(spot) = spots.last_mut() {
            self.rooms[spot.node].remove(spec, &spot.devices, spot.presence);
            spot.presence = presence;
            self.rooms[spot.node].add(spec, &spot.devices, spot.presence);
        }
    }

    fn presence(&self, task: usize) -> Presence {
        self.tasks[task].spots.last().map_or(Presence::Holds, |spot| spot.presence)
    }

    /// Tells a task to stop.
    pub fn evict(&mut self, task: usize) {
        let (status, virtually) = (self.tasks[task].status, self.tasks[task].virtually);
        self.log.push(Change::Evicted { task, status, presence: self.presence(task), virtually });
        self.turn(task, Presence::Leaves);
        self.book(task, -1);
        self.tasks[task].status = Status::Releasing;
        self.tasks[task].virtually = true;
    }

    // What an eviction in this statement, not taken back yet, found.
    fn eviction(&self, task: usize) -> Option<(Status, Presence)> {
        self.log.iter().rev().find_map(|change| match change {
            Change::Evicted { task: other, status, presence, .. } if *other == task => Some((*status, *presence)),
            _ => None,
        })
    }

    fn unevict(&mut self, task: usize) {
        let Some((status, presence)) = self.eviction(task) else { return };
        self.log.push(Change::Unevicted { task, status, presence });
        self.turn(task, presence);
        self.book(task, 1);
        self.tasks[task].status = status;
    }

    fn put(&mut self, task: usize, spot: Spot, status: Status) {
        let Task { spec, spots, status: stands, virtually, .. } = &mut self.tasks[task];
        self.log.push(Change::Placed { task, status: *stands, virtually: *virtually });
        self.rooms[spot.node].add(spec, &spot.devices, spot.presence);
        spots.push(spot);
        *stands = status;
        *virtually = true;
        self.book(task, 1);
    }

    /// Places a task on what is being released. One that is leaving that very place stays instead.
    pub fn pipeline(&mut self, task: usize, node: usize, devices: Vec<u32>) {
        let here = self.tasks[task].spots.last().filter(|spot| spot.node == node);
        let stays = here.is_some_and(|spot| devices.is_empty() || spot.devices == devices);
        if stays && self.tasks[task].status == Status::Releasing {
            self.unevict(task);
        } else {
            self.put(task, Spot { node, devices, presence: Presence::Comes }, Status::Pipelined);
        }
    }

    /// Places a task on what is free.
    pub fn allocate(&mut self, task: usize, node: usize, devices: Vec<u32>) {
        self.put(task, Spot { node, devices, presence: Presence::Holds }, Status::Allocated);
    }

    /// Makes a placement on what is free wait with the others of its job.
    pub fn postpone(&mut self, task: usize) {
        self.turn(task, Presence::Comes);
        self.tasks[task].status = Status::Pipelined;
    }

    /// The end of the log.
    #[must_use]
    pub const fn mark(&self) -> usize {
        self.log.len()
    }

    /// Takes back what was done since a mark.
    pub fn rollback(&mut self, mark: usize) {
        while self.log.len() > mark {
            match self.log.pop() {
                Some(Change::Evicted { task, status, presence, virtually }) => {
                    self.turn(task, presence);
                    self.book(task, 1);
                    self.tasks[task].status = status;
                    self.tasks[task].virtually = virtually;
                }
                Some(Change::Unevicted { task, .. }) => {
                    self.turn(task, Presence::Leaves);
                    self.book(task, -1);
                    self.tasks[task].status = Status::Releasing;
                }
                Some(Change::Placed { task, status, virtually }) => {
                    self.book(task, -1);
                    let Task { spec, spots, .. } = &mut self.tasks[task];
                    if let Some(spot) = spots.pop() {
                        self.rooms[spot.node].remove(spec, &spot.devices, spot.presence);
                    }
                    self.tasks[task].status = status;
                    self.tasks[task].virtually = virtually;
                }
                None => return,
            }
        }
    }

    /// Keeps everything that was done for this cause.
    pub fn commit(&mut self, cause: Cause) {
        let log = std::mem::take(&mut self.log);
        let mut stays: Vec<usize> = log
            .iter()
            .filter_map(|change| match change {
                Change::Unevicted { task, .. } => Some(*task),
                _ => None,
            })
            .collect();
        for change in log {
            match change {
                Change::Evicted { task, .. } => {
                    self.tasks[task].virtually = false;
                    if let Some(at) = stays.iter().position(|other| *other == task) {
                        stays.swap_remove(at);
                    } else {
                        self.tally.evictions += 1;
                        self.events.push(Event::Evicted { task, cause });
                    }
                }
                Change::Unevicted { .. } => {}
                Change::Placed { task, .. } => self.keep_placed(task),
            }
        }
    }

    fn keep_placed(&mut self, task: usize) {
        let Some(node) = self.node_of(task) else { return };
        match self.tasks[task].status {
            Status::Allocated => {
                self.tally.binds += 1;
                self.tasks[task].status = Status::Binding;
                self.events.push(Event::Bound { task, node });
            }
            Status::Pipelined => {
                self.tally.pipelines += 1;
                self.events.push(Event::Pipelined { task, node });
            }
            _ => {}
        }
    }
}
