//! Suggested names and addresses for a slot: a MAC, an address from the pool's range, names for Open vSwitch. They are
//! functions of the node's number and the slot's, so they come out the same every time and never meet another slot's.
//!
//! The slot's number is the GPU's module id where the driver tells it, because that is printed on the board: it stays when a
//! neighbour fails or GPUs are listed in another order. A host whose driver tells none at all is numbered by PCI address, and
//! there a GPU that disappears moves the numbers of those behind it. The two ways are never mixed on one host: a GPU
//! without a module id among others with one gets no suggestion.
//!
//! Suggestions are advice. What an operator approves is what counts, and the validator checks it like anything else.

use crate::{discovery::Gpu, pci::PciAddress};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{borrow::Cow, collections::BTreeMap, fmt, net::Ipv4Addr, str::FromStr};

/// Slots on one node have numbers below this.
pub const SLOTS_MAX: u8 = 16;
/// The longest name of a Linux network interface, and so of a port.
pub const INTERFACE_NAME_BYTES_MAX: usize = 15;

/// A range of IPv4 addresses, `10.64.0.0/12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    base: u32,
    prefix: u8,
}

/// The text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an IPv4 range such as 10.64.0.0/12, with no bits set after the prefix")]
pub struct NotACidr;

impl Cidr {
    /// The address that names the range; no host has it.
    pub fn network(self) -> Ipv4Addr {
        Ipv4Addr::from(self.base)
    }

    /// The last address; no host has it either.
    pub fn broadcast(self) -> Ipv4Addr {
        Ipv4Addr::from(self.base | !self.mask())
    }

    /// Whether a host in the range may have this address.
    pub fn has_host(self, address: Ipv4Addr) -> bool {
        let address = u32::from(address);
        let (first, last) = (u64::from(self.base), u64::from(u32::from(self.broadcast())));
        (first + 1..last).contains(&u64::from(address))
    }

    /// The address this far behind the first, if a host may have it.
    pub fn host(self, offset: u64) -> Option<Ipv4Addr> {
        let address = u64::from(self.base).checked_add(offset)?;
        u32::try_from(address).ok().map(Ipv4Addr::from).filter(|address| self.has_host(*address))
    }

    fn mask(self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.prefix)
    }
}

impl FromStr for Cidr {
    type Err = NotACidr;
    fn from_str(text: &str) -> Result<Self, NotACidr> {
        let (base, prefix) = text.split_once('/').ok_or(NotACidr)?;
        let plain = !prefix.is_empty() && prefix.len() <= 2 && prefix.bytes().all(|b| b.is_ascii_digit());
        let one_spelling = plain && (prefix == "0" || !prefix.starts_with('0'));
        let base: Ipv4Addr = base.parse().map_err(|_| NotACidr)?;
        let prefix = prefix.parse().ok().filter(|prefix| one_spelling && *prefix <= 32).ok_or(NotACidr)?;
        let range = Self { base: base.into(), prefix };
        if range.base & !range.mask() == 0 { Ok(range) } else { Err(NotACidr) }
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cidr {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Cidr {
    fn schema_name() -> Cow<'static, str> {
        "Cidr".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": range_pattern(),
            "description": "A range of IPv4 addresses, with no bits set after the prefix", "examples": ["10.64.0.0/12"]
        })
    }
}

/// The texts that are ranges, as a pattern: for each prefix, what comes after it is zero.
fn range_pattern() -> String {
    const ANY: &str = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    let mut forms = vec![format!("({ANY}\\.){{3}}{ANY}/32")];
    for whole in 0..4usize {
        let (before, after) = (format!("{ANY}\\.").repeat(whole), "\\.0".repeat(3 - whole));
        let cut = (0..8usize).map(|bits| {
            let steps: Vec<String> = (0..256u32).step_by(1 << (8 - bits)).map(|octet| octet.to_string()).collect();
            format!("({}){after}/{}", steps.join("|"), 8 * whole + bits)
        });
        forms.push(format!("{before}({})", cut.collect::<Vec<_>>().join("|")));
    }
    format!("^({})$", forms.join("|"))
}

/// A hardware address of six bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mac([u8; 6]);

impl Mac {
    /// The address of a text that is spelled as it is printed: `02:00:00:00:2a:05`.
    pub fn canonical(text: &str) -> Option<Self> {
        let mut bytes = [0u8; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            *byte = parts.next().filter(|part| part.len() == 2).and_then(|part| u8::from_str_radix(part, 16).ok())?;
        }
        let mac = Self(bytes);
        (parts.next().is_none() && mac.to_string() == text).then_some(mac)
    }

    /// Whether it is of the kind that anybody may give out, and names one interface.
    pub fn is_local_unicast(self) -> bool {
        self.0[0] & 0b11 == 0b10
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The numbers that names are made of. Both are given out once by the control plane and never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Naming {
    /// The node's number in the whole fleet.
    pub node_number: u32,
    /// The node's number in its pool, from 0.
    pub pool_number: u32,
    /// The addresses that the pool's guests get theirs from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_range: Option<Cidr>,
}

/// What is suggested for one slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suggestion {
    /// The slot's number on its node.
    pub slot_number: u8,
    /// For the guest's management interface.
    pub mgmt_mac: String,
    /// For the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ip: Option<String>,
    /// Why there is no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_ip_missing: Option<String>,
    /// The bridge that the node's guests are connected to.
    pub ovs_bridge: String,
    /// The guest's port on it.
    pub ovs_port: String,
}

impl Naming {
    /// The suggestion for a slot; `None` when its number is not below [`SLOTS_MAX`].
    pub fn suggest(&self, slot_number: u8) -> Option<Suggestion> {
        if slot_number >= SLOTS_MAX {
            return None;
        }
        let [a, b, c, d] = self.node_number.to_be_bytes();
        let private_ip = self.address(slot_number);
        Some(Suggestion {
            slot_number,
            mgmt_mac: Mac([0x02, a, b, c, d, slot_number]).to_string(),
            private_ip_missing: private_ip.as_ref().err().cloned(),
            private_ip: private_ip.ok().map(|address| address.to_string()),
            ovs_bridge: format!("br-gp{}", self.node_number),
            ovs_port: format!("gp{}-{slot_number}", self.node_number),
        })
    }

    /// Each node has sixteen addresses in a row, behind the one that names the range.
    fn address(&self, slot_number: u8) -> Result<Ipv4Addr, String> {
        let range = self.pool_range.ok_or("the pool has no range of addresses")?;
        let offset = u64::from(self.pool_number) * u64::from(SLOTS_MAX) + 1 + u64::from(slot_number);
        range.host(offset).ok_or_else(|| {
            format!(
                "the pool's range {range} has no room for slot {slot_number} of its node number {}",
                self.pool_number
            )
        })
    }
}

/// The slot number of each GPU, or why it has none.
pub fn slot_numbers(gpus: &[Gpu]) -> BTreeMap<PciAddress, Result<u8, String>> {
    let by_module = gpus.iter().any(|gpu| gpu.module_id.is_some());
    let mut order: Vec<&Gpu> = gpus.iter().collect();
    order.sort_by_key(|gpu| gpu.pci.address);
    let number = |at: usize, gpu: &Gpu| {
        let number = if by_module {
            let module = gpu.module_id.ok_or("the driver does not tell its module id, and does for other GPUs here")?;
            if gpus.iter().filter(|other| other.module_id == Some(module)).count() > 1 {
                return Err(format!("another GPU here has the module id {module} too"));
            }
            u8::try_from(module.0).ok()
        } else {
            u8::try_from(at).ok()
        };
        number.filter(|number| *number < SLOTS_MAX).ok_or_else(|| format!("its number is not below {SLOTS_MAX}"))
    };
    order.iter().enumerate().map(|(at, gpu)| (gpu.pci.address, number(at, gpu))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn naming(number: u32, range: &str) -> Naming {
        Naming { node_number: number, pool_number: number, pool_range: Some(range.parse().unwrap()) }
    }

    fn is_interface_name(name: &str) -> bool {
        (1..=INTERFACE_NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !["all", "default"].contains(&name)
    }

    #[test]
    fn ten_thousand_nodes_with_sixteen_slots_never_meet() {
        let (mut macs, mut addresses, mut ports, mut bridges) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let range: Cidr = "10.64.0.0/12".parse().unwrap();
        for node in 0..10_000 {
            let naming = naming(node, "10.64.0.0/12");
            for slot in 0..SLOTS_MAX {
                let one = naming.suggest(slot).unwrap();
                assert_eq!(naming.suggest(slot).unwrap(), one, "the same every time");
                assert!(Mac::canonical(&one.mgmt_mac).unwrap().is_local_unicast());
                assert!(is_interface_name(&one.ovs_port) && is_interface_name(&one.ovs_bridge));
                assert!(range.has_host(one.private_ip.clone().unwrap().parse().unwrap()));
                assert!(macs.insert(one.mgmt_mac), "node {node} slot {slot}");
                assert!(addresses.insert(one.private_ip), "node {node} slot {slot}");
                assert!(ports.insert(one.ovs_port), "node {node} slot {slot}");
                bridges.insert(one.ovs_bridge);
            }
        }
        assert_eq!((macs.len(), bridges.len()), (160_000, 10_000));
        assert!(ports.is_disjoint(&bridges));
    }

    #[test]
    fn a_range_that_is_full_gives_no_address_and_says_so() {
        assert_eq!(naming(0, "10.0.0.0/24").suggest(0).unwrap().private_ip.as_deref(), Some("10.0.0.1"));
        assert_eq!(naming(15, "10.0.0.0/24").suggest(13).unwrap().private_ip.as_deref(), Some("10.0.0.254"));
        let full = naming(15, "10.0.0.0/24").suggest(14).unwrap();
        assert_eq!(full.private_ip, None, "the broadcast address is nobody's");
        assert_eq!(
            full.private_ip_missing.as_deref(),
            Some("the pool's range 10.0.0.0/24 has no room for slot 14 of its node number 15")
        );
        let none = Naming { node_number: 1, pool_number: 1, pool_range: None }.suggest(0).unwrap();
        assert_eq!(none.private_ip_missing.as_deref(), Some("the pool has no range of addresses"));
        assert_eq!(naming(0, "10.0.0.0/24").suggest(SLOTS_MAX), None);
        let last =
            Naming { node_number: u32::MAX, pool_number: u32::MAX, ..naming(0, "0.0.0.0/0") }.suggest(15).unwrap();
        assert_eq!(last.private_ip, None);
        assert!(is_interface_name(&last.ovs_port) && is_interface_name(&last.ovs_bridge));
    }

    #[test]
    fn ranges_have_one_spelling() {
        for good in ["10.64.0.0/12", "0.0.0.0/0", "192.168.1.4/30", "10.0.0.1/32"] {
            assert_eq!(good.parse::<Cidr>().unwrap().to_string(), good);
        }
        for bad in ["", "10.0.0.0", "10.0.0.1/24", "10.0.0.0/33", "10.0.0.0/024", "10.0.0.0/+8", "10.0.0/8", "::/0"] {
            assert!(bad.parse::<Cidr>().is_err(), "{bad}");
        }
        let tiny: Cidr = "10.0.0.0/31".parse().unwrap();
        assert!(!tiny.has_host(tiny.network()) && !tiny.has_host(tiny.broadcast()));
        assert_eq!("192.168.1.4/30".parse::<Cidr>().unwrap().host(2), Some(Ipv4Addr::new(192, 168, 1, 6)));
    }

    #[test]
    fn hardware_addresses_have_one_spelling() {
        assert!(Mac::canonical("02:00:00:00:2a:05").unwrap().is_local_unicast());
        assert!(!Mac::canonical("00:25:38:00:2a:05").unwrap().is_local_unicast(), "given out by a maker");
        assert!(!Mac::canonical("03:00:00:00:2a:05").unwrap().is_local_unicast(), "for several at once");
        for bad in
            ["", "02:00:00:00:2A:05", "02-00-00-00-2a-05", "02:00:00:00:2a", "02:00:00:00:2a:05:06", "2:0:0:0:0:1"]
        {
            assert_eq!(Mac::canonical(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn two_slots_anywhere_have_different_names(a in any::<(u32, u8)>(), b in any::<(u32, u8)>()) {
            let of = |(node, slot): (u32, u8)| naming(node, "0.0.0.0/0").suggest(slot % SLOTS_MAX).unwrap();
            let (one, other) = (of(a), of(b));
            let same = (a.0, a.1 % SLOTS_MAX) == (b.0, b.1 % SLOTS_MAX);
            prop_assert_eq!(one.mgmt_mac == other.mgmt_mac, same);
            prop_assert_eq!(one.ovs_port == other.ovs_port, same);
            if one.private_ip.is_some() {
                prop_assert_eq!(one.private_ip == other.private_ip, same);
            }
            prop_assert!(is_interface_name(&one.ovs_port) && is_interface_name(&one.ovs_bridge));
        }
    }
}
