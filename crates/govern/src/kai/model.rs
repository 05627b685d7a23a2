//! What the scheduler is told: nodes, queues, jobs and their tasks.
//!
//! Units: processors in thousandths, memory in bytes, GPUs in millionths, GPU memory in MiB.

use crate::amount::Amount;

/// One GPU.
pub const GPU: i64 = 1_000_000;

/// The largest amount of anything that one node has or one task asks for; what is given as more counts as this. Sums of a
/// thousand such amounts do not overflow, and larger sums saturate.
pub const MOST: i64 = 1 << 50;

/// The most devices that one task shares.
pub const DEVICES_MOST: u32 = 1024;

fn bounded(amount: i64) -> i64 {
    amount.clamp(0, MOST)
}

/// How many resources queues are accounted in: processors, memory, GPUs.
pub const RESOURCES: usize = 3;

/// An amount of processors, memory and GPUs, in this order.
pub type Amounts = [i64; RESOURCES];

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Waits.
    Pending,
    /// Placed on what is free, in a statement that is not kept yet.
    Allocated,
    /// Placed on what is free.
    Binding,
    /// Placed on what is still being released.
    Pipelined,
    /// Runs.
    Running,
    /// Told to stop.
    Releasing,
    /// Told to stop and does not: holds its place, nobody waits for it.
    Stuck,
    /// Ended badly.
    Failed,
    /// Ended well.
    Succeeded,
}

impl Status {
    /// Holds a place or will hold one, and is not leaving.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Allocated | Self::Binding | Self::Pipelined | Self::Running)
    }

    /// Holds a place now, and is not leaving.
    #[must_use]
    pub const fn is_allocated(self) -> bool {
        matches!(self, Self::Allocated | Self::Binding | Self::Running)
    }

    /// Has anything to do with a node.
    #[must_use]
    pub const fn is_placed(self) -> bool {
        self.is_active() || matches!(self, Self::Releasing | Self::Stuck)
    }

    /// Waits or works.
    #[must_use]
    pub const fn is_alive(self) -> bool {
        self.is_active() || matches!(self, Self::Pending)
    }
}

/// What of GPUs a task asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GpuAsk {
    /// None.
    None,
    /// So many whole ones.
    Whole(u32),
    /// A part of each of so many, in millionths.
    Part {
        /// Of each.
        micro: i64,
        /// How many.
        devices: u32,
    },
    /// Memory of each of so many, in MiB.
    Memory {
        /// Of each.
        mib: i64,
        /// How many.
        devices: u32,
    },
    /// Instances of hardware partitions: which profile, and how many.
    Partitions(Vec<(usize, u32)>),
}

impl GpuAsk {
    fn bounded(self) -> Self {
        match self {
            Self::None | Self::Partitions(_) => self,
            Self::Whole(count) => Self::Whole(count.min(DEVICES_MOST)),
            Self::Part { micro, devices } => Self::Part { micro: bounded(micro), devices: devices.min(DEVICES_MOST) },
            Self::Memory { mib, devices } => Self::Memory { mib: bounded(mib), devices: devices.min(DEVICES_MOST) },
        }
    }
}

/// A kind of hardware partition of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// For how many GPUs one instance counts in quotas.
    pub gpus: u32,
}

/// Which tasks a node with partitioned GPUs takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioning {
    /// Its GPUs are whole.
    Off,
    /// Every instance looks like a whole GPU: only whole requests.
    Single,
    /// Instances by profile: only requests for those.
    Mixed,
}

/// A node. Nodes are given in the order of their names; ties are broken by that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Processors.
    pub cpu_milli: i64,
    /// Memory.
    pub memory: i64,
    /// Whole GPUs.
    pub gpus: u32,
    /// Memory of each GPU.
    pub gpu_memory_mib: i64,
    /// How its GPUs are partitioned.
    pub partitioning: Partitioning,
    /// Instances by profile.
    pub instances: Vec<(usize, u32)>,
    /// How many tasks it takes.
    pub tasks_max: u32,
}

impl NodeSpec {
    /// With amounts that sums can hold.
    #[must_use]
    pub fn bounded(self) -> Self {
        let (cpu_milli, memory) = (bounded(self.cpu_milli), bounded(self.memory));
        Self { cpu_milli, memory, gpu_memory_mib: bounded(self.gpu_memory_mib), ..self }
    }
}

impl TaskSpec {
    /// With amounts that sums can hold.
    #[must_use]
    pub fn bounded(self) -> Self {
        let (cpu_milli, memory) = (bounded(self.cpu_milli), bounded(self.memory));
        Self { cpu_milli, memory, gpu: self.gpu.bounded(), ..self }
    }
}

/// What a queue has of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// What it is sure of.
    pub quota: Amount,
    /// What it may have at most.
    pub limit: Amount,
    /// Its weight when the surplus is divided.
    pub weight: u64,
    /// What of the cluster it used in the past, in parts per billion.
    pub usage_ppb: u64,
}

/// A queue, or a group of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec {
    /// The place of the one above in the list.
    pub parent: Option<usize>,
    /// Its share of processors, memory, GPUs.
    pub shares: [Share; RESOURCES],
    /// Who gets surplus first.
    pub priority: i32,
    /// Its place by age: lower is older.
    pub rank: u64,
    /// For how long its work is safe from others, once started.
    pub safe: Safe,
}

/// For how long work is safe from others, once started. What a queue does not say, the one above says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Safe {
    /// From higher priority in the same queue.
    pub from_preemption_s: Option<u64>,
    /// From other queues.
    pub from_reclaim_s: Option<u64>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSpec {
    /// Processors.
    pub cpu_milli: i64,
    /// Memory.
    pub memory: i64,
    /// GPUs.
    pub gpu: GpuAsk,
    /// Where it stands.
    pub status: Status,
    /// Where it runs.
    pub node: Option<usize>,
    /// On which shared devices of the node, by any number.
    pub devices: Vec<u32>,
    /// Its place in its job: lower is placed first and stopped last.
    pub rank: u64,
    /// On which nodes it may run; none means all.
    pub nodes: Option<Vec<usize>>,
    /// Of an old kind that is left running and never placed.
    pub legacy: bool,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSpec {
    /// Its queue's place in the list.
    pub queue: usize,
    /// Higher first.
    pub priority: i32,
    /// Whether it may be stopped for others.
    pub preemptible: bool,
    /// How many of its tasks must run for any of them to be of use.
    pub min_available: u32,
    /// Its place by age, then by name: lower is older.
    pub rank: u64,
    /// For how long it has had less than it must have.
    pub stale_s: Option<u64>,
    /// For how long it has run; none means long enough for anything.
    pub ran_s: Option<u64>,
    /// Its tasks.
    pub tasks: Vec<TaskSpec>,
}

/// How shares are judged, and how victims are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How strongly past use counts against a queue, in thousandths.
    pub usage_factor_milli: u64,
    /// A queue beyond its share may take from a sibling only while so many thousandths of its saturation are less than the
    /// sibling's; at least a thousand.
    pub saturation_milli: u32,
    /// Sets of victims are tried out by halves and not one by one, and a claimant that finds no place even with all of them
    /// gone is passed over. Much quicker; the outcome is the same as long as more victims never leave less room.
    pub by_halves: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { usage_factor_milli: 1000, saturation_milli: 1000, by_halves: false }
    }
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterSpec {
    /// Nodes.
    pub nodes: Vec<NodeSpec>,
    /// Queues.
    pub queues: Vec<QueueSpec>,
    /// Jobs.
    pub jobs: Vec<JobSpec>,
    /// Kinds of hardware partitions.
    pub profiles: Vec<Profile>,
    /// For how long a gang may be incomplete before the rest of it is stopped.
    pub stale_grace_s: u64,
    /// How shares are judged, and how victims are searched for.
    pub rules: Rules,
}
