//! What MAAS answers, read into our own words. Only the few fields that matter are looked at; a field that must be there and
//! is not makes the whole answer worthless, since a machine left out of a list looks like a machine that is gone.

use super::MARK_KEY;
use crate::{
    fault::Fault,
    machine::{Machine, MachineStatus, PowerState, ProviderId, shown},
};
use serde::{Deserialize, de::DeserializeOwned};
use std::collections::{BTreeMap, BTreeSet};

const TEXT_MAX: usize = 255;

#[derive(Deserialize)]
struct WireMachine {
    system_id: String,
    status: i64,
    status_name: Option<String>,
    status_message: Option<String>,
    hostname: Option<String>,
    power_state: Option<String>,
    tag_names: Vec<String>,
    pool: Option<Named>,
    zone: Option<Named>,
    owner: Option<String>,
    // The older name of the same thing; newer servers write both.
    owner_data: Option<BTreeMap<String, String>>,
    workload_annotations: Option<BTreeMap<String, String>>,
    #[serde(default)]
    locked: bool,
    hardware_info: Option<HardwareInfo>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct HardwareInfo {
    system_serial: Option<String>,
}

/// How many machines an update of a tag was about.
#[derive(Deserialize)]
pub(super) struct Counted {
    pub(super) added: u64,
}

pub(super) fn machine(what: &str, body: &[u8]) -> Result<Machine, Fault> {
    read_machine(what, parsed(what, "a machine", body)?)
}

pub(super) fn machines(what: &str, body: &[u8]) -> Result<Vec<Machine>, Fault> {
    let wire: Vec<WireMachine> = parsed(what, "a list of machines", body)?;
    let mut ids = BTreeSet::new();
    let mut machines = Vec::with_capacity(wire.len());
    for one in wire {
        let machine = read_machine(what, one)?;
        if !ids.insert(machine.id.clone()) {
            return Err(unparsable(what, "a list of machines", format!("machine {} is in it twice", machine.id)));
        }
        machines.push(machine);
    }
    Ok(machines)
}

pub(super) fn tags(what: &str, body: &[u8]) -> Result<Vec<String>, Fault> {
    let tags: Vec<Named> = parsed(what, "a list of tags", body)?;
    let names: BTreeSet<String> = tags.into_iter().map(|tag| shown(&tag.name, TEXT_MAX)).collect();
    Ok(names.into_iter().collect())
}

pub(super) fn counted(what: &str, body: &[u8]) -> Result<Counted, Fault> {
    parsed(what, "a count of machines", body)
}

fn parsed<T: DeserializeOwned>(what: &str, expected: &str, body: &[u8]) -> Result<T, Fault> {
    // The place is named, never the content: an answer may repeat what was sent.
    serde_json::from_slice(body).map_err(|e| {
        let kind = match e.classify() {
            serde_json::error::Category::Eof => "it ends too early",
            serde_json::error::Category::Syntax => "it is not JSON",
            _ => "a field is missing or of another kind",
        };
        unparsable(what, expected, format!("{kind} at line {} column {}", e.line(), e.column()))
    })
}

fn unparsable(what: &str, expected: &str, found: String) -> Fault {
    Fault::Unparsable { what: what.to_owned(), expected: expected.to_owned(), found }
}

fn read_machine(what: &str, wire: WireMachine) -> Result<Machine, Fault> {
    let id: ProviderId = wire.system_id.parse().map_err(|e| unparsable(what, "a machine", format!("{e}")))?;
    let annotations = wire.workload_annotations.or(wire.owner_data).unwrap_or_default();
    // MAAS writes `Unknown` for what it did not find.
    let told = |text: &String| !text.is_empty() && text != "Unknown";
    let serial = wire.hardware_info.and_then(|info| info.system_serial).filter(told);
    let clean = |text: &str| shown(text, TEXT_MAX);
    let clean_some = |text: Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(clean);
    Ok(Machine {
        id,
        hostname: clean(wire.hostname.as_deref().unwrap_or_default()),
        serial: serial.as_deref().map(clean),
        status: status(wire.status, wire.status_name.as_deref()),
        message: clean(wire.status_message.as_deref().unwrap_or_default()),
        power: power(wire.power_state.as_deref()),
        tags: wire.tag_names.iter().map(|tag| clean(tag)).collect(),
        pool: wire.pool.map(|pool| clean(&pool.name)),
        zone: wire.zone.map(|zone| clean(&zone.name)),
        owner: clean_some(wire.owner),
        mark: annotations.get(MARK_KEY).map(|mark| clean(mark)),
        locked: wire.locked,
        gpus: None,
    })
}

fn power(text: Option<&str>) -> PowerState {
    match text {
        Some("on") => PowerState::On,
        Some("off") => PowerState::Off,
        Some("error") => PowerState::Error,
        _ => PowerState::Unknown,
    }
}

/// The numbers are part of the published API; the names are for people and may change.
fn status(number: i64, name: Option<&str>) -> MachineStatus {
    match number {
        0 => MachineStatus::New,
        1 => MachineStatus::Commissioning,
        2 => MachineStatus::FailedCommissioning,
        3 => MachineStatus::Missing,
        4 => MachineStatus::Ready,
        5 => MachineStatus::Reserved,
        6 => MachineStatus::Deployed,
        7 => MachineStatus::Retired,
        8 => MachineStatus::Broken,
        9 => MachineStatus::Deploying,
        10 => MachineStatus::Allocated,
        11 => MachineStatus::FailedDeployment,
        12 => MachineStatus::Releasing,
        13 => MachineStatus::FailedReleasing,
        14 => MachineStatus::DiskErasing,
        15 => MachineStatus::FailedDiskErasing,
        16..=20 => MachineStatus::Rescue,
        21 => MachineStatus::Testing,
        22 => MachineStatus::FailedTesting,
        _ => MachineStatus::Other(name.map_or_else(|| format!("status {number}"), |name| shown(name, 64))),
    }
}
