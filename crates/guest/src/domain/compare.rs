//! What a guest was promised beside what libvirt made of it. Used before a guest starts and whenever the host is looked
//! over: a device too many is as wrong as one too few.

use super::{CpuModel, DomainSpec, Firmware, Offloads, read::*};
use crate::notice;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::Path};

/// One point where a domain is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct Difference {
    /// Which point.
    pub what: String,
    /// What was promised.
    pub expected: String,
    /// What there is.
    pub found: String,
}

struct Differences(Vec<Difference>);

impl Differences {
    fn note(&mut self, what: &str, expected: impl ToString, found: impl ToString) {
        let (expected, found) = (expected.to_string(), found.to_string());
        self.0.push(Difference { what: what.to_owned(), expected, found });
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, expected: &T, found: &T) {
        if expected != found {
            self.note(what, format!("{expected:?}"), format!("{found:?}"));
        }
    }
}

/// Every point where the domain differs from its spec; none means that it is the guest, the whole guest and nothing else.
pub fn compare(spec: &DomainSpec, seen: &DomainSeen) -> Vec<Difference> {
    let mut differences = Differences(vec![]);
    identity(spec, seen, &mut differences);
    processors(spec, seen, &mut differences);
    disks(spec, seen, &mut differences);
    nics(spec, seen, &mut differences);
    hostdevs(spec, seen, &mut differences);
    others(spec, seen, &mut differences);
    differences.0
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn identity(spec: &DomainSpec, seen: &DomainSeen, differences: &mut Differences) {
    differences.same("uuid", &spec.guest.uuid(), &seen.uuid);
    differences.same("name", &spec.guest.name(), &seen.name);
    let guest = GuestSeen { guest: spec.guest.clone(), slots: spec.slots.clone() };
    differences.same("metadata", &Some(guest), &seen.guest);
    differences.same("accelerator", &spec.accelerator.domain_type().to_owned(), &seen.domain_type);
    differences.same("emulator", &path_text(&spec.emulator), &seen.emulator);
    differences.same("on_crash", &"destroy".to_owned(), &seen.on_crash);
    // libvirt replaces `q35` by the version that it stands for.
    if seen.machine != "q35" && !seen.machine.starts_with("pc-q35-") {
        differences.note("machine", "q35", &seen.machine);
    }
    let firmware = match &spec.firmware {
        Firmware::Bios => FirmwareSeen::default(),
        Firmware::Uefi { code, vars, .. } => FirmwareSeen { code: Some(path_text(code)), vars: Some(path_text(vars)) },
    };
    differences.same("firmware", &firmware, &seen.firmware);
}

fn processors(spec: &DomainSpec, seen: &DomainSeen, differences: &mut Differences) {
    let memory_kib = spec.memory_mib().saturating_mul(1024);
    differences.same("memory_kib", &memory_kib, &seen.memory_kib);
    differences.same("hugepage_kib", &spec.hugepage_kib, &seen.hugepage_kib);
    differences.same("vcpus", &spec.vcpus(), &usize::try_from(seen.vcpus).unwrap_or(usize::MAX));
    let cpu = match &spec.cpu_model {
        CpuModel::HostPassthrough => "host-passthrough",
        CpuModel::Maximum => "maximum",
        CpuModel::Named(name) => name,
    };
    differences.same("cpu", &cpu.to_owned(), &seen.cpu);
    let cpus = spec.cells.iter().flat_map(|cell| cell.cpus.iter());
    let pins: Vec<(u32, String)> = (0..).zip(cpus.map(u32::to_string)).collect();
    differences.same("pins", &pins, &seen.pins);
    let nodes: Vec<(u32, String)> = (0..).zip(spec.cells.iter().map(|cell| cell.host_node.to_string())).collect();
    differences.same("memory_nodes", &nodes, &seen.memory_nodes);
    let all: BTreeSet<u32> = spec.cells.iter().map(|cell| cell.host_node).collect();
    let strict = seen
        .memory_mode
        .as_ref()
        .is_some_and(|(mode, nodes)| mode == "strict" && number_set(nodes) == Some(all.clone()));
    if !strict {
        differences.note("memory_mode", format!("strict on {all:?}"), format!("{:?}", seen.memory_mode));
    }
}

// `0-2,5` as libvirt writes sets of numbers.
fn number_set(text: &str) -> Option<BTreeSet<u32>> {
    const COUNT_MAX: u32 = 4096;
    let mut numbers = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? > COUNT_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

fn disks(spec: &DomainSpec, seen: &DomainSeen, differences: &mut Differences) {
    let disk = |kind: &str, path: &Path| DiskSeen {
        kind: kind.to_owned(),
        device: "disk".to_owned(),
        source: path_text(path),
        format: "raw".to_owned(),
        driver: Default::default(),
        serial: String::new(),
        read_only: false,
        backed: false,
    };
    let mut expected: Vec<DiskSeen> = spec
        .disks
        .iter()
        .map(|own| DiskSeen {
            driver: ["none", "native", "unmap"].map(str::to_owned),
            serial: own.serial.clone(),
            ..disk("block", &own.device)
        })
        .collect();
    expected.push(DiskSeen { read_only: true, ..disk("file", &spec.seed) });
    differences.same("number of disks", &expected.len(), &seen.disks.len());
    for wanted in &expected {
        match seen.disks.iter().find(|found| found.source == wanted.source) {
            Some(found) => differences.same(&format!("disk {}", wanted.source), wanted, found),
            None => differences.note("disk", &wanted.source, "none"),
        }
    }
    for found in seen.disks.iter().filter(|found| !expected.iter().any(|wanted| wanted.source == found.source)) {
        differences.note("disk", "none", format!("{} {}", found.kind, found.source));
    }
    // The guest starts from its first disk, so their order counts.
    let order = |disks: &[DiskSeen]| disks.iter().map(|disk| disk.source.clone()).collect::<Vec<_>>();
    differences.same("order of disks", &order(&expected), &order(&seen.disks));
}

fn nics(spec: &DomainSpec, seen: &DomainSeen, differences: &mut Differences) {
    let nic = &spec.nic;
    let wanted = NicSeen {
        kind: "bridge".to_owned(),
        mac: nic.mac,
        bridge: nic.bridge.clone(),
        port: "openvswitch".to_owned(),
        interface_id: nic.interface_id.to_string(),
        vlans: vec![nic.vlan.to_string()],
        tap: nic.tap.clone(),
        offloads_off: nic.offloads == Offloads::Off,
    };
    match seen.nics.iter().find(|found| found.mac == wanted.mac) {
        Some(found) => differences.same("network card", &wanted, found),
        None => differences.note("network card", wanted.mac, "none"),
    }
    for found in seen.nics.iter().filter(|found| found.mac != wanted.mac) {
        differences.note("network card", "none", format!("{} on {} {}", found.mac, found.kind, found.bridge));
    }
    if seen.nics.iter().filter(|found| found.mac == wanted.mac).count() > 1 {
        differences.note("network card", "one", format!("{} twice", wanted.mac));
    }
}

fn hostdevs(spec: &DomainSpec, seen: &DomainSeen, differences: &mut Differences) {
    let mut left: Vec<&HostdevSeen> = seen.hostdevs.iter().collect();
    for (number, wanted) in (1u32..).zip(&spec.passthrough) {
        let Some(at) = left.iter().position(|found| found.address == Some(wanted.address)) else {
            differences.note("device", wanted.address, "none");
            continue;
        };
        let found = left.remove(at);
        if found.managed {
            differences.note(
                "device",
                format!("{} kept on its driver by the platform", wanted.address),
                "managed by libvirt",
            );
        }
        if found.guest_bus != Some(number) {
            let expected = format!("{} on root port {number}", wanted.address);
            differences.note("device", expected, format!("bus {:?}", found.guest_bus));
        }
    }
    for found in left {
        differences.note("device", "none", found.address.map_or("no PCI function".to_owned(), |at| at.to_string()));
    }
}

// What a domain may have beside its claim, and what it must have.
fn others(spec: &DomainSpec, seen: &DomainSeen, differences: &mut Differences) {
    let is = |device: &DeviceSeen, element: &str, kind: &str| device.element == element && device.kind == kind;
    let count = |wanted: &dyn Fn(&DeviceSeen) -> bool| seen.others.iter().filter(|device| wanted(device)).count();
    let ends = [path_text(&spec.console.path), "bind".to_owned(), path_text(&spec.console.log)];
    let serial = |device: &DeviceSeen| is(device, "serial", "unix") && device.leads_to == ends;
    let console = |device: &DeviceSeen| is(device, "console", "unix") && device.leads_to == ends;
    let agent = |device: &DeviceSeen| {
        is(device, "channel", "unix") && device.leads_to.last().is_some_and(|name| name == "org.qemu.guest_agent.0")
    };
    let told = [path_text(&spec.notice), "bind".to_owned(), notice::PORT.to_owned()];
    let noticed = |device: &DeviceSeen| is(device, "channel", "unix") && device.leads_to == told;
    let random = |device: &DeviceSeen| device.element == "rng" && device.leads_to == ["/dev/urandom"];
    let balloon = |device: &DeviceSeen| device.element == "memballoon" && device.model == "none";
    let no_usb = |device: &DeviceSeen| is(device, "controller", "usb") && device.model == "none";
    type Is<'a> = &'a dyn Fn(&DeviceSeen) -> bool;
    let must: [(&str, Is<'_>, usize); 7] = [
        ("serial console", &serial, 1),
        ("guest agent", &agent, 1),
        // A guest that was started before there were notices has none, and is as good as any.
        ("port for notices", &noticed, count(&noticed).min(1)),
        ("random numbers", &random, 1),
        ("balloon switched off", &balloon, 1),
        ("USB switched off", &no_usb, 1),
        ("second name of the console", &console, count(&console).min(1)),
    ];
    for (what, wanted, number) in must {
        differences.same(what, &number, &count(wanted));
    }
    for device in &seen.others {
        let claimed = must.iter().any(|(_, wanted, _)| wanted(device));
        if !claimed && !comes_with_the_machine(device) {
            let DeviceSeen { element, kind, model, leads_to, .. } = device;
            differences.note("device", "none", format!("{element} {kind} {model} {leads_to:?}"));
        }
    }
}

// What libvirt puts into every q35 machine by itself, none of which reaches anything of the host.
fn comes_with_the_machine(device: &DeviceSeen) -> bool {
    match (device.element.as_str(), device.kind.as_str(), device.model.as_str()) {
        ("controller", "pci", "pcie-root" | "pcie-root-port") => true,
        ("controller", "sata" | "virtio-serial", _) => true,
        ("input", "mouse" | "keyboard", _) => device.leads_to.is_empty(),
        ("audio", "none", _) => true,
        ("watchdog", _, "itco") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::number_set;

    #[test]
    fn sets_of_numbers_are_read() {
        assert_eq!(number_set("0-2,5"), Some([0, 1, 2, 5].into()));
        for bad in ["", "a", "3-1", "0-99999999", "1,,2", "^1"] {
            assert_eq!(number_set(bad), None, "{bad}");
        }
    }
}
