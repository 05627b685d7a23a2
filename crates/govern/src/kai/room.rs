//! What is free on a node, and what will be.
//!
//! Three numbers for each resource would do if GPUs were only taken whole. A shared GPU is a device with its own memory: who
//! holds it, who is leaving it, and who will come. The counts of whole GPUs follow from the table of devices; adding and
//! removing are exact inverses of each other.

use super::model::{GPU, GpuAsk, NodeSpec, Partitioning, TaskSpec};
use crate::division::fraction::Fraction;

/// How a task is present on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Holds its place.
    Holds,
    /// Holds its place and is leaving.
    Leaves,
    /// Will take a place that somebody leaves.
    Comes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    held: i64,
    leaving: i64,
    coming: i64,
}

impl Count {
    const fn add(&mut self, presence: Presence, amount: i64) {
        match presence {
            Presence::Holds => self.held = self.held.saturating_add(amount),
            Presence::Leaves => self.leaving = self.leaving.saturating_add(amount),
            Presence::Comes => self.coming = self.coming.saturating_add(amount),
        }
    }

    const fn idle(self, total: i64) -> i64 {
        total.saturating_sub(self.held).saturating_sub(self.leaving)
    }

    const fn releasing(self) -> i64 {
        self.leaving.saturating_sub(self.coming)
    }
}

/// A GPU that is shared. Its memory in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Device {
    id: u32,
    memory: Count,
}

impl Device {
    const fn taken(&self) -> i64 {
        self.memory.held + self.memory.leaving
    }

    const fn used(&self) -> i64 {
        self.taken() + self.memory.coming
    }

    // Everything on it is leaving, and nobody comes.
    const fn is_leaving(&self) -> bool {
        self.memory.leaving > 0 && self.memory.held == 0 && self.memory.coming == 0
    }
}

/// Whether to look at what is free now, or also at what is being released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Free now.
    Now,
    /// Free now or soon.
    Soon,
}

/// A node and what is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    spec: NodeSpec,
    cpu: Count,
    memory: Count,
    tasks: Count,
    // In GPUs.
    whole: Count,
    // By place in the list of instances.
    instances: Vec<Count>,
    // By number.
    devices: Vec<Device>,
    legacy: u32,
}

const HUNDRED: i64 = 100;
// Numbers of devices from here on are ours, below it those of the caller.
const FRESH: u32 = 1 << 16;

impl Room {
    /// An empty node.
    #[must_use]
    pub fn new(spec: NodeSpec) -> Self {
        let instances = vec![Count::default(); spec.instances.len()];
        let (cpu, memory, tasks, whole) = (Count::default(), Count::default(), Count::default(), Count::default());
        Self { spec, cpu, memory, tasks, whole, instances, devices: vec![], legacy: 0 }
    }

    /// The node as described.
    #[must_use]
    pub const fn spec(&self) -> &NodeSpec {
        &self.spec
    }

    /// GPU memory that a task takes of each device here.
    #[must_use]
    pub fn device_memory(&self, task: &TaskSpec) -> i64 {
        match task.gpu {
            GpuAsk::Memory { mib, .. } => mib,
            GpuAsk::Part { micro, .. } => {
                Fraction { over: i128::from(micro), under: i128::from(GPU) }.of(self.spec.gpu_memory_mib)
            }
            GpuAsk::Whole(_) => self.spec.gpu_memory_mib,
            GpuAsk::None | GpuAsk::Partitions(_) => 0,
        }
    }

    /// What a task's share of each device counts for here, in millionths of a GPU. Memory is rounded up to a hundredth.
    #[must_use]
    pub fn device_part(&self, task: &TaskSpec) -> i64 {
        match task.gpu {
            GpuAsk::Memory { mib, .. } => {
                let whole = i128::from(self.spec.gpu_memory_mib.max(1));
                Fraction { over: i128::from(mib) * i128::from(HUNDRED), under: whole }
                    .of_up(1)
                    .saturating_mul(GPU / HUNDRED)
            }
            GpuAsk::Part { micro, .. } => micro,
            GpuAsk::Whole(_) => GPU,
            GpuAsk::None | GpuAsk::Partitions(_) => 0,
        }
    }

    /// Picks so many devices that nobody is on, by numbers that callers do not use.
    #[must_use]
    pub fn devices_fresh(&self, count: usize) -> Vec<u32> {
        let is_free = |id: &u32| self.devices.binary_search_by_key(id, |device| device.id).is_err();
        (FRESH..).filter(is_free).take(count).collect()
    }

    fn change(&mut self, task: &TaskSpec, devices: &[u32], presence: Presence, sign: i64) {
        self.cpu.add(presence, sign * task.cpu_milli);
        self.memory.add(presence, sign * task.memory);
        self.tasks.add(presence, sign);
        if task.legacy && presence != Presence::Comes {
            self.legacy = if sign > 0 { self.legacy + 1 } else { self.legacy.saturating_sub(1) };
        }
        match &task.gpu {
            GpuAsk::None => {}
            GpuAsk::Whole(count) => self.whole.add(presence, sign * i64::from(*count)),
            GpuAsk::Partitions(asked) => {
                for (profile, count) in asked {
                    if let Some(at) = self.spec.instances.iter().position(|(other, _)| other == profile) {
                        self.instances[at].add(presence, sign * i64::from(*count));
                    }
                }
            }
            GpuAsk::Part { .. } | GpuAsk::Memory { .. } => {
                let memory = sign * self.device_memory(task);
                for id in devices {
                    self.device_change(*id, presence, memory);
                }
            }
        }
    }

    fn device_change(&mut self, id: u32, presence: Presence, memory: i64) {
        let at = match self.devices.binary_search_by_key(&id, |device| device.id) {
            Ok(at) => at,
            Err(at) => {
                self.devices.insert(at, Device { id, memory: Count::default() });
                at
            }
        };
        self.devices[at].memory.add(presence, memory);
        if self.devices[at].memory == Count::default() {
            self.devices.remove(at);
        }
    }

    /// A task comes.
    pub fn add(&mut self, task: &TaskSpec, devices: &[u32], presence: Presence) {
        self.change(task, devices, presence, 1);
    }

    /// A task that came so is gone.
    pub fn remove(&mut self, task: &TaskSpec, devices: &[u32], presence: Presence) {
        self.change(task, devices, presence, -1);
    }

    /// Whole GPUs that are free.
    #[must_use]
    pub fn gpus_idle(&self) -> i64 {
        let shared = self.devices.iter().filter(|device| device.taken() > 0).count();
        self.whole.idle(i64::from(self.spec.gpus)) - i64::try_from(shared).unwrap_or(i64::MAX)
    }

    /// Whole GPUs that will be free, less those that are promised. Below zero where free ones are promised.
    #[must_use]
    pub fn gpus_releasing(&self) -> i64 {
        let leaving = self.devices.iter().filter(|device| device.is_leaving()).count();
        let promised = self.devices.iter().filter(|device| device.taken() == 0 && device.memory.coming > 0).count();
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.whole.releasing() + count(leaving) - count(promised)
    }

    /// Processors that are free or will be.
    #[must_use]
    pub const fn cpu_soon(&self) -> i64 {
        self.cpu.idle(self.spec.cpu_milli) + self.cpu.releasing()
    }

    /// All that is free of its GPUs now, parts of shared ones included, in millionths of a GPU; partitions count as GPUs.
    #[must_use]
    pub fn gpu_parts_idle(&self, gpus_of: impl Fn(usize) -> u32) -> i64 {
        let memory = i128::from(self.spec.gpu_memory_mib.max(1));
        let free = |device: &Device| {
            GPU - Fraction { over: i128::from(device.taken()) * i128::from(HUNDRED), under: memory }
                .of_up(1)
                .saturating_mul(GPU / HUNDRED)
        };
        let shared: i64 = self.devices.iter().filter(|device| device.taken() > 0).map(free).sum();
        let instances = self.spec.instances.iter().zip(&self.instances);
        let partitions: i64 = instances
            .map(|((profile, total), count)| i64::from(gpus_of(*profile)) * count.idle(i64::from(*total)))
            .sum();
        (self.gpus_idle().saturating_add(partitions)).saturating_mul(GPU).saturating_add(shared)
    }

    /// All that will be free of its GPUs.
    #[must_use]
    pub fn gpu_parts_releasing(&self, gpus_of: impl Fn(usize) -> u32) -> i64 {
        let memory = i128::from(self.spec.gpu_memory_mib.max(1));
        let shared: i64 = self
            .devices
            .iter()
            .filter(|device| !device.is_leaving() && device.memory.releasing() > 0)
            .map(|device| Fraction { over: i128::from(device.memory.releasing()), under: memory }.of(GPU))
            .sum();
        let instances = self.spec.instances.iter().zip(&self.instances);
        let partitions: i64 =
            instances.map(|((profile, _), count)| i64::from(gpus_of(*profile)) * count.releasing()).sum();
        (self.gpus_releasing().saturating_add(partitions)).saturating_mul(GPU).saturating_add(shared)
    }

    // A shared device that others stay on, with enough memory now or soon.
    fn device_fits(&self, device: &Device, memory: i64) -> bool {
        let all_leave = device.taken() == device.memory.releasing();
        let room = self.spec.gpu_memory_mib - device.taken() + device.memory.releasing();
        device.used() != 0 && room >= memory && !all_leave
    }

    /// Whether a shared device would take the task.
    #[must_use]
    pub fn any_device_fits(&self, task: &TaskSpec) -> bool {
        let memory = self.device_memory(task);
        self.devices.iter().any(|device| self.device_fits(device, memory))
    }

    /// Whether there is room.
    #[must_use]
    pub fn fits(&self, task: &TaskSpec, when: When) -> bool {
        let free = |count: Count, total: i64| match when {
            When::Now => count.idle(total),
            When::Soon => count.idle(total) + count.releasing(),
        };
        let gpus = match when {
            When::Now => self.gpus_idle(),
            When::Soon => self.gpus_idle() + self.gpus_releasing(),
        };
        let nothing = task.cpu_milli == 0 && task.memory == 0 && task.gpu == GpuAsk::None;
        if nothing && when == When::Now {
            return true;
        }
        if free(self.tasks, i64::from(self.spec.tasks_max)) < 1 {
            return false;
        }
        if task.cpu_milli > free(self.cpu, self.spec.cpu_milli) || task.memory > free(self.memory, self.spec.memory) {
            return false;
        }
        match &task.gpu {
            GpuAsk::None => true,
            GpuAsk::Whole(count) => i64::from(*count) <= gpus,
            GpuAsk::Partitions(asked) => asked.iter().all(|(profile, count)| {
                let at = self.spec.instances.iter().position(|(other, _)| other == profile);
                at.is_some_and(|at| i64::from(*count) <= free(self.instances[at], i64::from(self.spec.instances[at].1)))
            }),
            GpuAsk::Part { devices, .. } | GpuAsk::Memory { devices, .. } => {
                let memory = self.device_memory(task);
                let part = self.device_part(task);
                let shared = self.devices.iter().filter(|device| self.device_fits(device, memory)).count();
                (part <= GPU || part % GPU == 0)
                    && gpus + i64::try_from(shared).unwrap_or(i64::MAX) >= i64::from(*devices)
            }
        }
    }

    /// Whether there would be room were nobody else there.
    #[must_use]
    pub fn fits_when_empty(&self, task: &TaskSpec) -> bool {
        let has =
            |profile: &usize, count: &u32| self.spec.instances.iter().any(|one| one.0 == *profile && one.1 >= *count);
        let gpus = match &task.gpu {
            GpuAsk::None => true,
            GpuAsk::Whole(count) => *count <= self.spec.gpus,
            GpuAsk::Part { devices, .. } | GpuAsk::Memory { devices, .. } => {
                *devices <= self.spec.gpus && self.device_memory(task) <= self.spec.gpu_memory_mib
            }
            GpuAsk::Partitions(asked) => asked.iter().all(|(profile, count)| has(profile, count)),
        };
        gpus && task.cpu_milli <= self.spec.cpu_milli && task.memory <= self.spec.memory && self.spec.tasks_max > 0
    }

    /// Whether the node takes such tasks at all.
    #[must_use]
    pub fn takes(&self, task: &TaskSpec) -> bool {
        if task.legacy {
            return false;
        }
        let partitions = matches!(task.gpu, GpuAsk::Partitions(_));
        match self.spec.partitioning {
            _ if task.gpu == GpuAsk::None => true,
            Partitioning::Off => !partitions,
            Partitioning::Single => matches!(task.gpu, GpuAsk::Whole(_)),
            Partitioning::Mixed => partitions && self.legacy == 0,
        }
    }

    /// Picks devices for a task that shares them, fullest first, then whole ones. Says also whether all of them are free now.
    #[must_use]
    pub fn pick(&self, task: &TaskSpec, only_soon: bool) -> Option<(Vec<u32>, bool)> {
        let (GpuAsk::Part { devices: wanted, .. } | GpuAsk::Memory { devices: wanted, .. }) = task.gpu else {
            return Some((vec![], !only_soon && self.fits(task, When::Now)));
        };
        let (memory, now) = (self.device_memory(task), self.fits(task, When::Now));
        let mut fitting: Vec<Device> =
            self.devices.iter().copied().filter(|device| self.device_fits(device, memory)).collect();
        fitting.sort_by_key(|device| (std::cmp::Reverse(device.used()), device.id));
        let (mut picked, mut free_now) = (vec![], !only_soon);
        let wanted = wanted as usize;
        for device in fitting.iter().take(wanted) {
            free_now &= now && device.taken() > 0 && self.spec.gpu_memory_mib - device.taken() >= memory;
            picked.push(device.id);
        }
        let whole = (self.gpus_idle() + self.gpus_releasing()).max(0);
        let missing = (wanted - picked.len()).min(usize::try_from(whole).unwrap_or(0));
        if missing > 0 {
            free_now &= now;
            picked.extend(self.devices_fresh(missing));
        }
        (picked.len() == wanted).then_some((picked, free_now))
    }
}
