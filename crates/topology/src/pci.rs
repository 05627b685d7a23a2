//! Where a function sits on the PCI bus, and which functions are what.
//!
//! An address has one spelling (`0000:0f:00.0`, lower case), because uniqueness is decided on the text. Reading is more
//! generous: NVIDIA's tools write the domain with eight digits and capitals. The table of ids names what the platform knows
//! by heart; what is not in it is reported with its raw ids.

use model::supply::GpuModel;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, fmt, str::FromStr};

/// An address on the PCI bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// The text is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a PCI address such as 0000:0f:00.0")]
pub struct NotAPciAddress;

impl PciAddress {
    /// Builds an address; `None` when device or function are out of range.
    pub fn new(domain: u32, bus: u8, device: u8, function: u8) -> Option<Self> {
        (device < 32 && function < 8).then_some(Self { domain, bus, device, function })
    }

    /// Whether both are functions of one physical device.
    pub fn is_sibling_of(self, other: Self) -> bool {
        (self.domain, self.bus, self.device) == (other.domain, other.bus, other.device)
    }

    /// The address of a text that is spelled exactly as it is printed here.
    pub fn canonical(text: &str) -> Option<Self> {
        text.parse().ok().filter(|address: &Self| address.to_string() == text)
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = NotAPciAddress;
    fn from_str(text: &str) -> Result<Self, NotAPciAddress> {
        let read = || {
            let (rest, function) = text.rsplit_once('.')?;
            let mut parts = rest.split(':');
            let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
            let hex = |part: &str, least: usize, most: usize| {
                let shaped = (least..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
                shaped.then(|| u32::from_str_radix(part, 16).ok()).flatten()
            };
            let byte = |part: &str, digits: usize| u8::try_from(hex(part, digits, digits)?).ok();
            let address = Self::new(hex(domain, 4, 8)?, byte(bus, 2)?, byte(device, 2)?, byte(function, 1)?)?;
            parts.next().is_none().then_some(address)
        };
        read().ok_or(NotAPciAddress)
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

impl JsonSchema for PciAddress {
    fn schema_name() -> Cow<'static, str> {
        "PciAddress".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": "^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]$",
            "description": "Where a function sits on the PCI bus", "examples": ["0000:0f:00.0"]
        })
    }
}

/// NVIDIA.
pub const NVIDIA: u16 = 0x10de;
/// AMD.
pub const AMD: u16 = 0x1002;
/// Mellanox, now NVIDIA networking.
pub const MELLANOX: u16 = 0x15b3;

/// What a class code says in its upper two bytes.
pub mod class {
    /// NVMe and the like: non-volatile memory controllers.
    pub const NVME: u16 = 0x0108;
    /// Ethernet controllers.
    pub const ETHERNET: u16 = 0x0200;
    /// InfiniBand controllers.
    pub const INFINIBAND: u16 = 0x0207;
    /// VGA-compatible, 3D and other display controllers, and processing accelerators.
    pub const GPU: &[u16] = &[0x0300, 0x0302, 0x0380, 0x1200];
    /// Other bridges; NVSwitches are among them.
    pub const OTHER_BRIDGE: u16 = 0x0680;
    /// The base class of bridges.
    pub const BRIDGE_BASE: u16 = 0x06;
}

/// A function that the platform knows by heart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its vendor.
    pub vendor: u16,
    /// Its device id.
    pub device: u16,
    /// What it is called.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
}

/// What a known function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A GPU, with the family it is sold as where it is sold.
    Gpu(Option<GpuModel>),
    /// A switch of the NVLink fabric.
    NvSwitch,
    /// A network function that can do RDMA.
    Fabric,
    /// A network function of a BlueField.
    BlueField,
    /// A function through which a BlueField is managed.
    BlueFieldManagement,
}

const fn known(vendor: u16, device: u16, name: &'static str, kind: Kind) -> Known {
    Known { vendor, device, name, kind }
}

const H200: Kind = Kind::Gpu(Some(GpuModel::H200Sxm));
const A100_80: Kind = Kind::Gpu(Some(GpuModel::A100Sxm));
const GPU: Kind = Kind::Gpu(None);

/// Every function that is known, by vendor and device.
pub const KNOWN: &[Known] = &[
    known(AMD, 0x7408, "AMD Instinct MI250X", GPU),
    known(AMD, 0x740c, "AMD Instinct MI250X", GPU),
    known(AMD, 0x740f, "AMD Instinct MI210", GPU),
    known(AMD, 0x74a0, "AMD Instinct MI300A", GPU),
    known(AMD, 0x74a1, "AMD Instinct MI300X", GPU),
    known(AMD, 0x74a2, "AMD Instinct MI308X", GPU),
    known(AMD, 0x74a5, "AMD Instinct MI325X", GPU),
    known(AMD, 0x75a0, "AMD Instinct MI350X", GPU),
    known(AMD, 0x75a3, "AMD Instinct MI355X", GPU),
    known(NVIDIA, 0x1af1, "NVIDIA NVSwitch (A100 board)", Kind::NvSwitch),
    known(NVIDIA, 0x20b0, "NVIDIA A100 SXM4 40GB", GPU),
    known(NVIDIA, 0x20b2, "NVIDIA A100 SXM4 80GB", A100_80),
    known(NVIDIA, 0x20b5, "NVIDIA A100 PCIe 80GB", GPU),
    known(NVIDIA, 0x20f1, "NVIDIA A100 PCIe 40GB", GPU),
    known(NVIDIA, 0x20f3, "NVIDIA A800 SXM4 80GB", GPU),
    known(NVIDIA, 0x22a3, "NVIDIA NVSwitch (H100 or H200 board)", Kind::NvSwitch),
    known(NVIDIA, 0x2321, "NVIDIA H100 NVL", GPU),
    known(NVIDIA, 0x2324, "NVIDIA H800", GPU),
    known(NVIDIA, 0x2329, "NVIDIA H20", GPU),
    known(NVIDIA, 0x2330, "NVIDIA H100 SXM5 80GB", GPU),
    known(NVIDIA, 0x2331, "NVIDIA H100 PCIe", GPU),
    known(NVIDIA, 0x2335, "NVIDIA H200 SXM 141GB", H200),
    known(NVIDIA, 0x233b, "NVIDIA H200 NVL", GPU),
    known(NVIDIA, 0x2342, "NVIDIA GH200 120GB", GPU),
    known(NVIDIA, 0x26b9, "NVIDIA L40S", GPU),
    known(NVIDIA, 0x2901, "NVIDIA B200", GPU),
    known(NVIDIA, 0x2941, "NVIDIA GB200", GPU),
    known(NVIDIA, 0x3182, "NVIDIA B300", GPU),
    known(MELLANOX, 0x1017, "ConnectX-5", Kind::Fabric),
    known(MELLANOX, 0x1018, "ConnectX-5 virtual function", Kind::Fabric),
    known(MELLANOX, 0x1019, "ConnectX-5 Ex", Kind::Fabric),
    known(MELLANOX, 0x101a, "ConnectX-5 Ex virtual function", Kind::Fabric),
    known(MELLANOX, 0x101b, "ConnectX-6", Kind::Fabric),
    known(MELLANOX, 0x101c, "ConnectX-6 virtual function", Kind::Fabric),
    known(MELLANOX, 0x101d, "ConnectX-6 Dx", Kind::Fabric),
    known(MELLANOX, 0x101e, "ConnectX virtual function", Kind::Fabric),
    known(MELLANOX, 0x101f, "ConnectX-6 Lx", Kind::Fabric),
    known(MELLANOX, 0x1021, "ConnectX-7", Kind::Fabric),
    known(MELLANOX, 0x1023, "ConnectX-8", Kind::Fabric),
    known(MELLANOX, 0xa2d2, "BlueField", Kind::BlueField),
    known(MELLANOX, 0xa2d6, "BlueField-2", Kind::BlueField),
    known(MELLANOX, 0xa2dc, "BlueField-3", Kind::BlueField),
    known(MELLANOX, 0xc2d2, "BlueField management", Kind::BlueFieldManagement),
    known(MELLANOX, 0xc2d3, "BlueField-2 management", Kind::BlueFieldManagement),
    known(MELLANOX, 0xc2d5, "BlueField-3 management", Kind::BlueFieldManagement),
];

/// What is known of a function, by its ids.
pub fn known_as(vendor: u16, device: u16) -> Option<&'static Known> {
    KNOWN.binary_search_by_key(&(vendor, device), |known| (known.vendor, known.device)).ok().map(|at| &KNOWN[at])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_has_one_spelling_and_several_readings() {
        let address: PciAddress = "00000000:0F:1f.7".parse().unwrap();
        assert_eq!(address.to_string(), "0000:0f:1f.7");
        assert_eq!(PciAddress::canonical("0000:0f:1f.7"), Some(address));
        assert_eq!(PciAddress::canonical("0000:0F:1f.7"), None);
        assert_eq!("10000:e1:00.0".parse::<PciAddress>().unwrap().to_string(), "10000:e1:00.0");
        for bad in ["", "0f:00.0", "0000:0f:00", "0000:0f:20.0", "0000:0f:00.8", "0000:0g:00.0", "0000:0f:00.0.0"] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
        assert!("0000:00:0f:00.0".parse::<PciAddress>().is_err() && "+000:0f:00.0".parse::<PciAddress>().is_err());
    }

    #[test]
    fn addresses_sort_as_the_bus_does() {
        let order = ["0000:0f:00.0", "0000:0f:00.1", "0000:10:00.0", "10000:01:00.0"];
        let addresses: Vec<PciAddress> = order.iter().map(|text| text.parse().unwrap()).collect();
        assert!(addresses.is_sorted());
        assert!(addresses[0].is_sibling_of(addresses[1]) && !addresses[0].is_sibling_of(addresses[2]));
    }

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched() {
        assert!(KNOWN.is_sorted_by(|a, b| (a.vendor, a.device) < (b.vendor, b.device)));
        assert_eq!(known_as(NVIDIA, 0x2335).unwrap().kind, H200);
        assert_eq!(known_as(AMD, 0x74a1).unwrap().name, "AMD Instinct MI300X");
        assert_eq!(known_as(NVIDIA, 0xffff), None);
    }
}
