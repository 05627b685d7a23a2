//! The Fabric Manager's partition tool, `fmpm`, with fixed arguments. It prints the list of partitions as JSON, nothing when a
//! change worked, and one line otherwise; it ends with the Fabric Manager's status, a negative number, of which an exit status
//! keeps the lowest byte: status -17 is exit 239.

use super::{
    FabricEvidence, FabricFault, FabricOutcome, FabricPartitions, Partition, PartitionGpu, Wanted, plan_activate,
    plan_deactivate, proved,
};
use command::Program;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::PathBuf, time::Duration};

// More than any host has.
const PARTITIONS_MAX: usize = 256;
// What the Fabric Manager says when a partition stands already as it is wanted. Only the list afterwards decides.
const ALREADY_ACTIVE: i32 = -17;
const ALREADY_INACTIVE: i32 = -18;

/// Where the Fabric Manager listens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reach {
    /// Where the tool looks by itself: TCP on this host.
    #[default]
    ToolDefault,
    /// TCP on another host, such as a service VM.
    Host(String),
    /// A socket on this host.
    UnixSocket(PathBuf),
}

/// The tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fmpm {
    /// The program.
    pub program: PathBuf,
    /// Where the Fabric Manager listens.
    pub reach: Reach,
    /// How long a list may take.
    pub list_ms_max: u64,
    /// How long a change may take: routes are written into every switch, and links are trained.
    pub change_ms_max: u64,
}

impl Default for Fmpm {
    fn default() -> Self {
        let program = "/usr/bin/fmpm".into();
        Self { program, reach: Reach::default(), list_ms_max: 15_000, change_ms_max: 60_000 }
    }
}

impl FabricPartitions for Fmpm {
    fn list(&self) -> Result<Vec<Partition>, FabricFault> {
        let said = self.run("list the partitions", &["-l"], self.list_ms_max)?;
        parse(&said)
    }

    fn activate(&self, id: u32, expected_modules: &[u8]) -> Result<FabricEvidence, FabricFault> {
        let expected: BTreeSet<u8> = expected_modules.iter().copied().collect();
        let list = self.list().map_err(before_change)?;
        let outcome = match plan_activate(&list, id, &expected)? {
            Wanted::Nothing => return proved(&list, id, Some(&expected), FabricOutcome::AlreadyActive),
            Wanted::Change => self.change(&format!("activate partition {id}"), "-a", id, ALREADY_ACTIVE)?,
        };
        let outcome = if outcome { FabricOutcome::Activated } else { FabricOutcome::AlreadyActive };
        proved(&self.list()?, id, Some(&expected), outcome).map_err(|fault| after_change(fault, id, true))
    }

    fn deactivate(&self, id: u32) -> Result<FabricEvidence, FabricFault> {
        let list = self.list().map_err(before_change)?;
        let outcome = match plan_deactivate(&list, id)? {
            Wanted::Nothing => return proved(&list, id, None, FabricOutcome::AlreadyInactive),
            Wanted::Change => self.change(&format!("deactivate partition {id}"), "-d", id, ALREADY_INACTIVE)?,
        };
        let outcome = if outcome { FabricOutcome::Deactivated } else { FabricOutcome::AlreadyInactive };
        proved(&self.list()?, id, None, outcome).map_err(|fault| after_change(fault, id, false))
    }
}

impl Fmpm {
    // Whether the Fabric Manager made the change, or says that it was made before.
    fn change(&self, verb: &str, flag: &str, id: u32, benign: i32) -> Result<bool, FabricFault> {
        match self.run(verb, &[flag, &id.to_string()], self.change_ms_max) {
            Ok(_) => Ok(true),
            Err(FabricFault::Refused { status, .. }) if status == benign => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    fn run(&self, verb: &str, words: &[&str], ms_max: u64) -> Result<String, FabricFault> {
        let program = Program::at(&self.program).within(Duration::from_millis(ms_max));
        let program = match &self.reach {
            Reach::ToolDefault => program,
            Reach::Host(name) => program.arg("--hostname").arg(name),
            Reach::UnixSocket(path) => program.arg("--unix-domain-socket").arg(path),
        };
        match program.args(words).run() {
            Ok(said) => Ok(said.out),
            Err(command::Fault::Failed { code, said, program }) => match status_of(&code) {
                Some(status) => {
                    let meaning = meaning(status).to_owned();
                    Err(FabricFault::Refused { verb: verb.to_owned(), status, meaning, said })
                }
                None => Err(FabricFault::Program { why: format!("{program} failed ({code}): {said}") }),
            },
            Err(fault) => Err(FabricFault::Program { why: fault.to_string() }),
        }
    }
}

// A list that fails before the change is a check like the others: nothing was changed.
fn before_change(fault: FabricFault) -> FabricFault {
    FabricFault::NotListed { why: fault.to_string() }
}

// And what was a check before the change is a missing proof after it.
fn after_change(fault: FabricFault, id: u32, wanted: bool) -> FabricFault {
    if fault.may_have_changed() { fault } else { FabricFault::Unproved { id, wanted, why: fault.to_string() } }
}

fn status_of(code: &str) -> Option<i32> {
    let exit: i32 = code.strip_prefix("exit ")?.parse().ok()?;
    // The tool's own complaints about its arguments are small and positive.
    (128..=255).contains(&exit).then_some(exit - 256)
}

fn meaning(status: i32) -> &'static str {
    match status {
        -1 => "an argument is not valid",
        -3 => "this is not supported here",
        -4 => "it is not initialised",
        -5 => "it took too long",
        -6 => "the tool is of another version than the Fabric Manager",
        -7 => "it is in use",
        -8 => "it is still starting, or not set up for this",
        -9 => "there is no connection: it may not be running",
        -10 => "an NVLink failed",
        -11 => "a GPU or switch of it does not exist",
        -12 => "a GPU or switch of it is in use",
        ALREADY_ACTIVE => "the partition is already active",
        ALREADY_INACTIVE => "the partition is not active",
        -22 => "it is not ready",
        -23 => "a GPU is already used in this partition",
        -24 => "a GPU is already used in another partition",
        -29..=-25 => "the partition's links or routes are at fault",
        _ => "that something went wrong",
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    num_partitions: usize,
    partition_info: Vec<ListedPartition>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedPartition {
    partition_id: u32,
    is_active: u32,
    num_gpus: usize,
    gpu_info: Vec<ListedGpu>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedGpu {
    physical_id: u8,
    num_nv_links_available: u32,
    max_num_nv_links: u32,
}

/// Reads the list that the tool prints. What it says twice must agree, and no GPU may be in two partitions that are on.
pub fn parse(text: &str) -> Result<Vec<Partition>, FabricFault> {
    let wrong = |why: String| FabricFault::NotUnderstood { why };
    let listed: Listed = serde_json::from_str(text).map_err(|error| wrong(format!("it is no such list: {error}")))?;
    let count = listed.partition_info.len();
    if listed.num_partitions != count || count > PARTITIONS_MAX {
        return Err(wrong(format!("it says {} partitions and has {count}", listed.num_partitions)));
    }
    let (mut ids, mut taken, mut partitions) = (BTreeSet::new(), BTreeSet::new(), vec![]);
    for one in listed.partition_info {
        let id = one.partition_id;
        if !ids.insert(id) {
            return Err(wrong(format!("partition {id} is in it twice")));
        }
        let active = match one.is_active {
            0 => false,
            1 => true,
            other => return Err(wrong(format!("partition {id} is neither on nor off but {other}"))),
        };
        let gpu = |gpu: ListedGpu| PartitionGpu {
            module: gpu.physical_id,
            nvlinks: gpu.num_nv_links_available,
            nvlinks_max: gpu.max_num_nv_links,
        };
        let partition = Partition { id, active, gpus: one.gpu_info.into_iter().map(gpu).collect() };
        let modules = partition.modules();
        if partition.gpus.is_empty() || modules.len() != partition.gpus.len() || modules.len() != one.num_gpus {
            let found: Vec<u8> = partition.gpus.iter().map(|gpu| gpu.module).collect();
            return Err(wrong(format!("partition {id} says {} GPUs and has {found:?}", one.num_gpus)));
        }
        if let Some(twice) = modules.iter().find(|module| active && !taken.insert(**module)) {
            return Err(wrong(format!("GPU {twice} is in two partitions that are active")));
        }
        partitions.push(partition);
    }
    Ok(partitions)
}
