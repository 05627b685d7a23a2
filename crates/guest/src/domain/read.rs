//! From libvirt's XML to what the platform cares about. Every device is either understood or listed as something else, so
//! that nothing a guest has can go unseen.
//!
//! What the platform made is read strictly. Of a machine of somebody else only what it takes from the host matters: its disks,
//! its devices and its addresses. What else it has may be written in ways that are not known here, and one such machine must
//! not keep all others from being looked at.

use super::NAMESPACE;
use crate::{
    identity::{GuestUse, Mac, PciAddress, Refused, SlotUse, Uuid},
    notice,
    xml::{Element, XmlFault},
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Why a domain cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    /// It is no XML.
    #[error(transparent)]
    Xml(#[from] XmlFault),
    /// A part of it is missing or says nothing known.
    #[error("the domain cannot be read: {0}")]
    Part(#[from] Refused),
}

/// A domain as libvirt tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainSeen {
    /// Its UUID.
    pub uuid: Uuid,
    /// Its name.
    pub name: String,
    /// `kvm` or `qemu`.
    pub domain_type: String,
    /// What the platform wrote into it; none when it is not the platform's.
    pub guest: Option<GuestSeen>,
    /// Its memory.
    pub memory_kib: u64,
    /// How many virtual CPUs it has.
    pub vcpus: u32,
    /// The host CPUs of each virtual CPU, as libvirt writes sets.
    pub pins: Vec<(u32, String)>,
    /// The size of its huge pages.
    pub hugepage_kib: Option<u64>,
    /// For each cell of the guest, the host nodes that its memory comes from.
    pub memory_nodes: Vec<(u32, String)>,
    /// Where memory without a cell comes from, and how strictly.
    pub memory_mode: Option<(String, String)>,
    /// What it starts from.
    pub firmware: FirmwareSeen,
    /// Its machine type.
    pub machine: String,
    /// How it sees its processor: `host-passthrough`, `maximum`, or the name of a model.
    pub cpu: String,
    /// QEMU.
    pub emulator: String,
    /// What happens when it crashes.
    pub on_crash: String,
    /// Its disks.
    pub disks: Vec<DiskSeen>,
    /// Its network cards.
    pub nics: Vec<NicSeen>,
    /// What it gets whole.
    pub hostdevs: Vec<HostdevSeen>,
    /// Everything else it has.
    pub others: Vec<DeviceSeen>,
}

/// What the platform wrote into a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestSeen {
    /// Which guest.
    pub guest: GuestUse,
    /// The slots it sits on.
    pub slots: Vec<SlotUse>,
}

/// What a domain starts from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FirmwareSeen {
    /// The firmware's file; none is the BIOS.
    pub code: Option<String>,
    /// The file of its variables.
    pub vars: Option<String>,
}

/// A disk of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSeen {
    /// `block`, `file` or something else.
    pub kind: String,
    /// `disk`, `cdrom` or something else.
    pub device: String,
    /// Where its bytes are; empty when nowhere.
    pub source: String,
    /// `raw` or something else.
    pub format: String,
    /// How it is cached, done and freed: `cache`, `io` and `discard`.
    pub driver: [String; 3],
    /// Its serial number.
    pub serial: String,
    /// Whether the guest may only read it.
    pub read_only: bool,
    /// Whether something else stands between the guest and the source.
    pub backed: bool,
}

/// A network card of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicSeen {
    /// `bridge` or something else.
    pub kind: String,
    /// Its address.
    pub mac: Mac,
    /// The bridge it is plugged into.
    pub bridge: String,
    /// What kind of port: `openvswitch` or something else.
    pub port: String,
    /// What Open vSwitch knows it by.
    pub interface_id: String,
    /// The VLANs of its port.
    pub vlans: Vec<String>,
    /// The host's end.
    pub tap: String,
    /// Whether both ends leave checksums alone.
    pub offloads_off: bool,
}

/// A device that a domain gets whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostdevSeen {
    /// Its place on the host; none when it is no PCI function.
    pub address: Option<PciAddress>,
    /// Whether libvirt takes it from the host by itself.
    pub managed: bool,
    /// The bus it is on in the guest.
    pub guest_bus: Option<u32>,
}

/// Any other device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceSeen {
    /// The element's name.
    pub element: String,
    /// Its `type`, or nothing.
    pub kind: String,
    /// Its `model`, or nothing.
    pub model: String,
    /// The number of a controller, or nothing.
    pub index: String,
    /// Where it leads: the path of a console, the log of it, the name of a channel, the source of randomness.
    pub leads_to: Vec<String>,
    /// Whether somebody in the guest has it open, as far as libvirt knows.
    pub is_open: bool,
}

impl DomainSeen {
    /// Whether somebody in the guest listens for notices on this socket; none when it has no such port.
    pub fn notice_heard(&self, socket: &Path) -> Option<bool> {
        let ends = [socket.to_string_lossy().into_owned(), "bind".to_owned(), notice::PORT.to_owned()];
        self.others
            .iter()
            .find(|device| device.element == "channel" && device.leads_to == ends)
            .map(|port| port.is_open)
    }
}

/// Reads a domain as `virsh dumpxml` writes it.
pub fn read_domain(xml: &str) -> Result<DomainSeen, ReadFault> {
    let domain = Element::read(xml)?;
    if domain.name != "domain" {
        return Err(Refused::new("domain", "a domain", &domain.name).into());
    }
    let guest = domain.first("metadata").map(guest).transpose()?.flatten();
    let of = Reading { strict: guest.is_some() };
    let devices = domain.first("devices").ok_or_else(|| Refused::new("devices", "a list of devices", "none"))?;
    let each = |name: &str| devices.children.iter().filter(move |device| device.name == name).collect::<Vec<_>>();
    let understood = ["emulator", "disk", "interface", "hostdev"];
    let memory_mode = domain.down(&["numatune", "memory"]).map(|memory| (get(memory, "mode"), get(memory, "nodeset")));
    let nodes = domain.first("numatune").into_iter().flat_map(|tune| tune.all("memnode"));
    let pins = domain.first("cputune").into_iter().flat_map(|tune| tune.all("vcpupin"));
    Ok(DomainSeen {
        uuid: text(&domain, &["uuid"]).parse()?,
        name: text(&domain, &["name"]),
        domain_type: get(&domain, "type"),
        guest,
        memory_kib: of.read(kib("memory", domain.first("memory")))?,
        vcpus: of.read(number("vcpu", &text(&domain, &["vcpu"])))?,
        pins: of.all(pins.map(|pin| Ok((number("vcpupin", &get(pin, "vcpu"))?, get(pin, "cpuset")))))?,
        hugepage_kib: of.read(hugepage(&domain))?,
        memory_nodes: of.all(nodes.map(|node| Ok((number("memnode", &get(node, "cellid"))?, get(node, "nodeset")))))?,
        memory_mode,
        firmware: FirmwareSeen {
            code: domain.down(&["os", "loader"]).map(|loader| loader.text.clone()),
            vars: domain.down(&["os", "nvram"]).map(|vars| vars.text.clone()),
        },
        machine: domain.at(&["os", "type"], "machine").unwrap_or_default().to_owned(),
        cpu: cpu(&domain),
        emulator: text(devices, &["emulator"]),
        on_crash: text(&domain, &["on_crash"]),
        disks: each("disk").into_iter().map(disk).collect(),
        nics: of.all(each("interface").into_iter().map(nic))?,
        hostdevs: hostdevs(devices)?,
        others: devices
            .children
            .iter()
            .filter(|device| !understood.contains(&device.name.as_str()))
            .map(other)
            .collect(),
    })
}

// How exactly a domain is read: what the platform made to the letter, of others what can be read.
struct Reading {
    strict: bool,
}

impl Reading {
    fn read<T: Default>(&self, part: Result<T, Refused>) -> Result<T, Refused> {
        if self.strict { part } else { Ok(part.unwrap_or_default()) }
    }

    fn all<T>(&self, parts: impl Iterator<Item = Result<T, Refused>>) -> Result<Vec<T>, Refused> {
        if self.strict { parts.collect() } else { Ok(parts.filter_map(Result::ok).collect()) }
    }
}

// What a domain gets whole, also where it is written as a network card or a disk. Always to the letter: a device that is not
// seen here could be given to two.
fn hostdevs(devices: &Element) -> Result<Vec<HostdevSeen>, Refused> {
    let is_one = |device: &&Element| match device.name.as_str() {
        "hostdev" => true,
        "interface" => device.get("type") == Some("hostdev"),
        "disk" => device.get("type") == Some("nvme"),
        _ => false,
    };
    devices.children.iter().filter(is_one).map(hostdev).collect()
}

fn get(element: &Element, attribute: &str) -> String {
    element.get(attribute).unwrap_or_default().to_owned()
}

fn text(element: &Element, way: &[&str]) -> String {
    element.down(way).map(|found| found.text.clone()).unwrap_or_default()
}

fn number<N: std::str::FromStr>(field: &str, text: &str) -> Result<N, Refused> {
    text.parse().map_err(|_| Refused::new(field, "a number", text))
}

fn kib(field: &str, size: Option<&Element>) -> Result<u64, Refused> {
    let size = size.ok_or_else(|| Refused::new(field, "a size", "none"))?;
    sized(field, &size.text, size.get("unit").unwrap_or("KiB"))
}

fn sized(field: &str, count: &str, unit: &str) -> Result<u64, Refused> {
    let count: u64 = number(field, count)?;
    let factor = match unit {
        "KiB" | "k" => 1,
        "MiB" | "M" => 1024,
        "GiB" | "G" => 1024 * 1024,
        other => return Err(Refused::new(field, "KiB, MiB or GiB", other)),
    };
    count.checked_mul(factor).ok_or_else(|| Refused::new(field, "a size", "a number that is too large"))
}

fn hugepage(domain: &Element) -> Result<Option<u64>, Refused> {
    let Some(pages) = domain.down(&["memoryBacking", "hugepages"]) else { return Ok(None) };
    let page = pages.first("page").ok_or_else(|| Refused::new("hugepages", "a page size", "none"))?;
    sized("hugepages", &get(page, "size"), page.get("unit").unwrap_or("KiB")).map(Some)
}

fn cpu(domain: &Element) -> String {
    let Some(cpu) = domain.first("cpu") else { return String::new() };
    let mode = get(cpu, "mode");
    if mode == "custom" { text(cpu, &["model"]) } else { mode }
}

fn guest(metadata: &Element) -> Result<Option<GuestSeen>, Refused> {
    // libvirt keeps the prefix that was written, and moves the namespace nowhere.
    let Some(guest) = metadata.children.iter().find(|child| child.get("xmlns:gpuaas") == Some(NAMESPACE)) else {
        return Ok(None);
    };
    let allocation = get(guest, "allocation_id");
    let slots = guest.all("gpuaas:slot").map(|slot| {
        let id = get(slot, "id");
        Ok(SlotUse {
            slot_id: id.parse().map_err(|_| Refused::new("slot", "the id of a slot", &id))?,
            use_generation: number("use_generation", &get(slot, "use_generation"))?,
        })
    });
    Ok(Some(GuestSeen {
        guest: GuestUse {
            allocation_id: allocation
                .parse()
                .map_err(|_| Refused::new("allocation_id", "the id of an allocation", &allocation))?,
            use_generation: number("use_generation", &get(guest, "use_generation"))?,
        },
        slots: slots.collect::<Result<_, Refused>>()?,
    }))
}

fn disk(disk: &Element) -> DiskSeen {
    let source = disk.first("source");
    let place = source.and_then(|source| ["dev", "file", "dir", "name"].iter().find_map(|name| source.get(name)));
    let driver = |name: &str| disk.at(&["driver"], name).unwrap_or_default().to_owned();
    let backed =
        disk.first("backingStore").is_some_and(|store| !store.attributes.is_empty() || !store.children.is_empty())
            || disk.first("mirror").is_some();
    DiskSeen {
        kind: get(disk, "type"),
        device: get(disk, "device"),
        source: place.unwrap_or_default().to_owned(),
        format: driver("type"),
        driver: ["cache", "io", "discard"].map(driver),
        serial: text(disk, &["serial"]),
        read_only: disk.first("readonly").is_some(),
        backed,
    }
}

fn nic(nic: &Element) -> Result<NicSeen, Refused> {
    let at = |way: &[&str], name: &str| nic.at(way, name).unwrap_or_default().to_owned();
    let vlans = nic.first("vlan").into_iter().flat_map(|vlan| vlan.all("tag")).map(|tag| get(tag, "id")).collect();
    let off = |end: &str| {
        let all = ["csum", "tso4", "tso6", "ufo"];
        all.iter().all(|name| nic.at(&["driver", end], name) == Some("off"))
    };
    Ok(NicSeen {
        kind: get(nic, "type"),
        mac: at(&["mac"], "address").parse()?,
        bridge: at(&["source"], "bridge"),
        port: at(&["virtualport"], "type"),
        interface_id: at(&["virtualport", "parameters"], "interfaceid"),
        vlans,
        tap: at(&["target"], "dev"),
        offloads_off: off("host") && off("guest"),
    })
}

fn hostdev(hostdev: &Element) -> Result<HostdevSeen, Refused> {
    let is_pci = hostdev.name != "hostdev" || hostdev.get("type") == Some("pci");
    let address = if is_pci {
        let at = hostdev.down(&["source", "address"]).ok_or_else(|| Refused::new("hostdev", "its address", "none"))?;
        let part = |name: &str| hexadecimal(at, name);
        let narrow =
            |name: &str| part(name)?.try_into().map_err(|_| Refused::new("hostdev", "a PCI address", &get(at, name)));
        let domain =
            u16::try_from(part("domain")?).map_err(|_| Refused::new("hostdev", "a PCI address", &get(at, "domain")))?;
        Some(PciAddress { domain, bus: narrow("bus")?, device: narrow("slot")?, function: narrow("function")? })
    } else {
        None
    };
    let guest_bus = hostdev.first("address").map(|at| hexadecimal(at, "bus")).transpose()?;
    Ok(HostdevSeen { address, managed: hostdev.get("managed") == Some("yes"), guest_bus })
}

fn hexadecimal(element: &Element, name: &str) -> Result<u32, Refused> {
    let text = get(element, name);
    let digits = text.strip_prefix("0x").unwrap_or("");
    u32::from_str_radix(digits, 16).map_err(|_| Refused::new(name, "a hexadecimal number", &text))
}

fn other(device: &Element) -> DeviceSeen {
    let ways: [(&[&str], &str); 4] =
        [(&["source"], "path"), (&["source"], "mode"), (&["log"], "file"), (&["target"], "name")];
    let mut leads_to: Vec<String> =
        ways.iter().filter_map(|(way, name)| device.at(way, name)).map(str::to_owned).collect();
    leads_to.extend(device.first("backend").map(|backend| backend.text.clone()).filter(|text| !text.is_empty()));
    DeviceSeen {
        element: device.name.clone(),
        kind: get(device, "type"),
        model: get(device, "model"),
        index: get(device, "index"),
        is_open: device.at(&["target"], "state") == Some("connected"),
        leads_to,
    }
}
