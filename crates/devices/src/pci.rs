//! What the kernel says of one PCI function, now. Only looking: nothing here changes anything. A function that is missing, or
//! whose files make no sense, is a refusal; what a function simply does not have is `None` or an empty list.
//!
//! Most of what sysfs shows is what the kernel remembers from the day it found the function, and stays the same when the
//! function falls off the bus. So its configuration space is read too: a function that is gone answers with ones only.

use crate::{fault::Refusal, sysfs::SysFs};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::BTreeSet,
    fmt,
    io::{self, ErrorKind},
    str::FromStr,
};

/// The driver by which a guest gets a function.
pub const VFIO: &str = "vfio-pci";

const DEVICES: &str = "bus/pci/devices";
const NVSWITCHES: &[DeviceId] = &[DeviceId::new(0x10de, 0x1af1), DeviceId::new(0x10de, 0x22a3)];

/// Where a function sits on the PCI bus. It has one spelling, the kernel's: `0000:0f:00.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// The text is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a PCI address spelled as 0000:0f:00.0, found {0:?}")]
pub struct NotAPciAddress(String);

impl PciAddress {
    /// Builds an address; `None` when device or function are out of range.
    pub fn new(domain: u32, bus: u8, device: u8, function: u8) -> Option<Self> {
        (device < 32 && function < 8).then_some(Self { domain, bus, device, function })
    }

    fn read(text: &str) -> Option<Self> {
        let (rest, function) = text.rsplit_once('.')?;
        let [domain, bus, device] = rest.split(':').collect::<Vec<_>>().try_into().ok()?;
        let hex = |part: &str| {
            // `from_str_radix` alone would take a sign.
            let digits = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            digits.then(|| u32::from_str_radix(part, 16).ok()).flatten()
        };
        let byte = |part: &str| u8::try_from(hex(part)?).ok();
        Self::new(hex(domain)?, byte(bus)?, byte(device)?, byte(function)?)
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = NotAPciAddress;
    fn from_str(text: &str) -> Result<Self, NotAPciAddress> {
        let read = Self::read(text).filter(|address| address.to_string() == text);
        read.ok_or_else(|| NotAPciAddress(text.chars().take(40).collect()))
    }
}

impl Serialize for PciAddress {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PciAddress {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A vendor and a device of that vendor, spelled `10de:2335`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// The vendor.
    pub vendor: u16,
    /// The device.
    pub device: u16,
}

impl DeviceId {
    /// Of these two numbers.
    pub const fn new(vendor: u16, device: u16) -> Self {
        Self { vendor, device }
    }

    /// Whether it is a switch of an NVLink fabric, which all guests of the host share.
    pub fn is_nvswitch(self) -> bool {
        NVSWITCHES.contains(&self)
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:04x}", self.vendor, self.device)
    }
}

/// The text is no vendor and device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a vendor and device spelled as 10de:2335, found {0:?}")]
pub struct NotADeviceId(String);

impl FromStr for DeviceId {
    type Err = NotADeviceId;
    fn from_str(text: &str) -> Result<Self, NotADeviceId> {
        let half = |part: &str| u16::from_str_radix(part, 16).ok();
        let read = text.split_once(':').and_then(|(vendor, device)| Some(Self::new(half(vendor)?, half(device)?)));
        let spelled = read.filter(|id| id.to_string() == text);
        spelled.ok_or_else(|| NotADeviceId(text.chars().take(40).collect()))
    }
}

impl Serialize for DeviceId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeviceId {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The functions that may be touched; every other one is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Approved(BTreeSet<PciAddress>);

impl Approved {
    /// Refuses a function that is not among them.
    pub fn check(&self, address: PciAddress) -> Result<(), Refusal> {
        if self.0.contains(&address) { Ok(()) } else { Err(Refusal::NotApproved { address }) }
    }
}

impl FromIterator<PciAddress> for Approved {
    fn from_iter<I: IntoIterator<Item = PciAddress>>(addresses: I) -> Self {
        Self(addresses.into_iter().collect())
    }
}

/// What the kernel says of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PciSeen {
    /// Where it sits.
    pub address: PciAddress,
    /// Its vendor.
    pub vendor_id: u16,
    /// Its device, a number of that vendor.
    pub device_id: u16,
    /// Its class code, three bytes.
    pub class: u32,
    /// The serial number in its configuration space, where it has one and we may read that far.
    pub device_serial: Option<String>,
    /// The serial number of the NVMe disk that it is, where the host's NVMe driver has it.
    pub nvme_serial: Option<String>,
    /// The driver that it is on.
    pub driver: Option<String>,
    /// The only driver that may take it, where that was said.
    pub driver_override: Option<String>,
    /// Its IOMMU group.
    pub iommu_group: Option<u32>,
    /// The other functions of that group.
    pub group_members: Vec<PciAddress>,
    /// The NUMA node that it is near to, where the firmware says it.
    pub numa_node: Option<u32>,
    /// Whether it is a virtual function.
    pub is_vf: bool,
    /// The function that made it, if it is a virtual one.
    pub physfn: Option<PciAddress>,
    /// The ways in which the kernel can reset it, in its order.
    pub reset_methods: Vec<String>,
    /// Whether it answers when its configuration space is read.
    pub config_readable: bool,
}

impl PciSeen {
    /// Its vendor and device.
    pub fn id(&self) -> DeviceId {
        DeviceId::new(self.vendor_id, self.device_id)
    }

    /// Whether it joins buses. Switches of an NVLink fabric are of that class and are none in that sense: their driver
    /// works on the host's memory.
    pub fn is_plain_bridge(&self) -> bool {
        self.is_bridge_class() && !self.id().is_nvswitch()
    }

    /// Whether its class is one of the bridges'.
    pub fn is_bridge_class(&self) -> bool {
        self.class >> 16 == 0x06
    }
}

/// The path of a function's file.
pub(crate) fn file(address: PciAddress, name: &str) -> String {
    format!("{DEVICES}/{address}/{name}")
}

/// Every function of the host.
pub fn all(files: &dyn SysFs) -> Result<Vec<PciAddress>, Refusal> {
    addresses(DEVICES, files.list(DEVICES))
}

/// Every function of the host that is a switch of an NVLink fabric.
pub fn nvswitches(files: &dyn SysFs) -> Result<Vec<PciAddress>, Refusal> {
    let mut found = vec![];
    for address in all(files)? {
        if id(files, address)?.is_nvswitch() {
            found.push(address);
        }
    }
    Ok(found)
}

/// Looks at one function.
pub fn look(files: &dyn SysFs, address: PciAddress) -> Result<PciSeen, Refusal> {
    let id = id(files, address)?;
    let physfn = link(files, address, "physfn")?.map(|name| parsed(&file(address, "physfn"), &name)).transpose()?;
    let group = link(files, address, "iommu_group")?;
    let iommu_group = group.map(|name| parsed(&file(address, "iommu_group"), &name)).transpose()?;
    let config = files.read(&file(address, "config")).map_err(|error| unreadable(&file(address, "config"), error))?;
    let config_readable = answers(&config, id, physfn.is_some());
    let numa: i64 = text(files, &file(address, "numa_node"))?
        .map_or(Ok(-1), |found| parsed(&file(address, "numa_node"), &found))?;
    let driver_override = text(files, &file(address, "driver_override"))?;
    Ok(PciSeen {
        address,
        vendor_id: id.vendor,
        device_id: id.device,
        class: hex(files, address, "class", 0x00ff_ffff)?,
        device_serial: config_readable.then(|| device_serial(&config)).flatten(),
        nvme_serial: nvme_serial(files, address)?,
        driver: link(files, address, "driver")?,
        // The kernel writes this where nothing was said.
        driver_override: driver_override.filter(|name| name != "(null)"),
        iommu_group,
        group_members: iommu_group.map_or(Ok(vec![]), |group| group_members(files, group, address))?,
        // Firmware that does not know says -1.
        numa_node: u32::try_from(numa).ok(),
        is_vf: physfn.is_some(),
        physfn,
        reset_methods: text(files, &file(address, "reset_method"))?
            .map_or_else(Vec::new, |found| found.split_whitespace().map(str::to_owned).collect()),
        config_readable,
    })
}

fn id(files: &dyn SysFs, address: PciAddress) -> Result<DeviceId, Refusal> {
    let half = |name: &str| {
        let number = hex(files, address, name, 0xffff)?;
        u16::try_from(number).map_err(|error| unreadable(&file(address, name), error))
    };
    Ok(DeviceId::new(half("vendor")?, half("device")?))
}

fn hex(files: &dyn SysFs, address: PciAddress, name: &str, most: u32) -> Result<u32, Refusal> {
    let path = file(address, name);
    let found = text(files, &path)?.ok_or(Refusal::Missing { address })?;
    let number = found.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let fits = number.filter(|number| *number <= most);
    fits.ok_or_else(|| unreadable(&path, format!("{found:?} is no number of this kind")))
}

/// The trimmed text of a file; `None` when there is no such file or it is empty.
pub(crate) fn text(files: &dyn SysFs, path: &str) -> Result<Option<String>, Refusal> {
    match files.read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes).map_err(|_| unreadable(path, "it is no text"))?;
            Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}

/// Reads a value out of a text, or says where it stood.
pub(crate) fn parsed<T: FromStr>(path: &str, found: &str) -> Result<T, Refusal> {
    found.parse().map_err(|_| unreadable(path, format!("{found:?} is not of the expected form")))
}

pub(crate) fn unreadable(what: &str, why: impl ToString) -> Refusal {
    Refusal::Unreadable { what: what.to_owned(), why: why.to_string() }
}

fn link(files: &dyn SysFs, address: PciAddress, name: &str) -> Result<Option<String>, Refusal> {
    match files.read_link(&file(address, name)) {
        Ok(name) => Ok(Some(name)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&file(address, name), error)),
    }
}

fn addresses(path: &str, names: io::Result<Vec<String>>) -> Result<Vec<PciAddress>, Refusal> {
    let names = names.map_err(|error| unreadable(path, error))?;
    names.iter().map(|name| parsed(path, name)).collect()
}

fn group_members(files: &dyn SysFs, group: u32, but: PciAddress) -> Result<Vec<PciAddress>, Refusal> {
    let path = format!("kernel/iommu_groups/{group}/devices");
    let members = addresses(&path, files.list(&path))?;
    if !members.contains(&but) {
        return Err(unreadable(&path, format!("{but} says that it is a member, and is not listed")));
    }
    Ok(members.into_iter().filter(|member| *member != but).collect())
}

fn nvme_serial(files: &dyn SysFs, address: PciAddress) -> Result<Option<String>, Refusal> {
    let folder = file(address, "nvme");
    match files.list(&folder) {
        Ok(names) => names.first().map_or(Ok(None), |name| text(files, &format!("{folder}/{name}/serial"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(&folder, error)),
    }
}

// A virtual function has no vendor and device of its own in its configuration space: there are ones at that place.
fn answers(config: &[u8], id: DeviceId, is_vf: bool) -> bool {
    let Some(header) = config.get(..64) else { return false };
    let own = [id.vendor.to_le_bytes(), id.device.to_le_bytes()].concat();
    header.iter().any(|byte| *byte != 0xff) && (is_vf || header[..4] == own)
}

/// The serial number among the extended capabilities of a configuration space, spelled as `lspci` does.
fn device_serial(config: &[u8]) -> Option<String> {
    const SERIAL: u32 = 0x0003;
    // Each capability has at least 8 bytes, so a longer walk goes in a circle.
    const STEPS_MAX: usize = (4096 - 256) / 8;
    let word = |at: usize| config.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let mut at = 0x100;
    for _ in 0..STEPS_MAX {
        let head = word(at)?;
        if head & 0xffff == SERIAL {
            let number = (u64::from(word(at + 8)?) << 32) | u64::from(word(at + 4)?);
            let bytes: Vec<String> = number.to_be_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            return (number != 0 && number != u64::MAX).then(|| bytes.join("-"));
        }
        at = usize::try_from(head >> 20).ok().filter(|next| *next >= 0x100)?;
    }
    None
}

#[cfg(test)]
#[path = "pci_tests.rs"]
mod tests;
