//! What the network is told: one host, and the guests on it. All of it is data that can be written down; the checks here run
//! before anything else does, so the other modules work with names and addresses that cannot break out of their place.

use std::{
    fmt,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    str::FromStr,
};

use model::AllocationId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Fault;

/// A network interface's address. Written in lower case with colons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac([u8; 6]);

impl Mac {
    /// From its six bytes.
    pub fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// Whether it names one interface, rather than a group or none.
    pub fn is_unicast(self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for Mac {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = || Fault::setting("a MAC address", "six bytes in hexadecimal with colons", text);
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()));
            *byte = part.and_then(|part| u8::from_str_radix(part, 16).ok()).ok_or_else(wrong)?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

impl TryFrom<String> for Mac {
    type Error = Fault;
    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// A range of IPv4 addresses with a common beginning. The rest of its address is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subnet {
    address: Ipv4Addr,
    prefix: u8,
}

impl Subnet {
    /// From its first address and the length of its prefix.
    pub fn new(address: Ipv4Addr, prefix: u8) -> Result<Self, Fault> {
        let subnet = Self { address, prefix };
        if prefix > 32 || u32::from(address) & !subnet.mask_bits() != 0 {
            let found = format!("{address}/{prefix}");
            return Err(Fault::setting("a subnet", "a first address and a prefix length of 0 to 32", found));
        }
        Ok(subnet)
    }

    /// Its first address.
    pub fn address(self) -> Ipv4Addr {
        self.address
    }

    /// How many bits its addresses share.
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// The mask as an address.
    pub fn mask(self) -> Ipv4Addr {
        Ipv4Addr::from(self.mask_bits())
    }

    /// The last address of it.
    pub fn broadcast(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.address) | !self.mask_bits())
    }

    /// Whether the address is in it.
    pub fn contains(self, ip: Ipv4Addr) -> bool {
        u32::from(ip) & self.mask_bits() == u32::from(self.address)
    }

    /// Whether all of the other is in it.
    pub fn covers(self, other: Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.address)
    }

    fn mask_bits(self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix.min(32))).unwrap_or(0)
    }

    // An address that a machine in it can have.
    fn has_place_for(self, ip: Ipv4Addr) -> bool {
        self.contains(ip) && ip != self.address && ip != self.broadcast()
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl FromStr for Subnet {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let parts = text.split_once('/').and_then(|(ip, prefix)| Some((ip.parse().ok()?, prefix.parse().ok()?)));
        let (ip, prefix) = parts.ok_or_else(|| Fault::setting("a subnet", "such as 10.0.0.0/8", text))?;
        Self::new(ip, prefix)
    }
}

impl TryFrom<String> for Subnet {
    type Error = Fault;
    fn try_from(text: String) -> Result<Self, Fault> {
        text.parse()
    }
}

impl From<Subnet> for String {
    fn from(subnet: Subnet) -> Self {
        subnet.to_string()
    }
}

/// How Open vSwitch moves the packets of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Datapath {
    /// In the kernel.
    System,
    /// In its own process. Checksums are then never left to a card, so this room turns that off at the gateway.
    Netdev,
}

impl Datapath {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Netdev => "netdev",
        }
    }
}

/// What guests may reach outside, as data. What is in no list is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Ranges that no guest reaches.
    pub denied: Vec<Subnet>,
    /// Exceptions inside of those.
    pub allowed: Vec<Subnet>,
}

impl Default for Policy {
    /// Private, shared, link-local (with the metadata address), loopback, group and reserved ranges are denied.
    fn default() -> Self {
        let range = |a: [u8; 4], prefix| Subnet { address: Ipv4Addr::from(a), prefix };
        Self {
            denied: vec![
                range([0, 0, 0, 0], 8),
                range([10, 0, 0, 0], 8),
                range([100, 64, 0, 0], 10),
                range([127, 0, 0, 0], 8),
                range([169, 254, 0, 0], 16),
                range([172, 16, 0, 0], 12),
                range([192, 168, 0, 0], 16),
                range([224, 0, 0, 0], 3),
            ],
            allowed: vec![],
        }
    }
}

/// Where the programs and sockets of the host are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    /// Speaks with the database of Open vSwitch.
    pub ovs_vsctl: PathBuf,
    /// Speaks with one bridge.
    pub ovs_ofctl: PathBuf,
    /// Sets the packet filter.
    pub nft: PathBuf,
    /// Gives out addresses and answers names.
    pub dnsmasq: PathBuf,
    /// Sets interfaces.
    pub ip: PathBuf,
    /// Turns checksum offload off where packets move in user space.
    pub ethtool: PathBuf,
    /// Forgets the connections of a guest that is gone.
    pub conntrack: PathBuf,
    /// The database's socket.
    pub ovs_database: PathBuf,
    /// Where the bridges' own sockets are.
    pub ovs_run_dir: PathBuf,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            ovs_vsctl: "/usr/bin/ovs-vsctl".into(),
            ovs_ofctl: "/usr/bin/ovs-ofctl".into(),
            nft: "/usr/sbin/nft".into(),
            dnsmasq: "/usr/sbin/dnsmasq".into(),
            ip: "/usr/sbin/ip".into(),
            ethtool: "/usr/sbin/ethtool".into(),
            conntrack: "/usr/sbin/conntrack".into(),
            ovs_database: "/run/openvswitch/db.sock".into(),
            ovs_run_dir: "/run/openvswitch".into(),
        }
    }
}

/// The network of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostNetwork {
    /// The bridge. Its own interface, of the same name, is the gateway.
    pub bridge: String,
    /// How it moves packets.
    pub datapath: Datapath,
    /// Where the guests' addresses are from.
    pub subnet: Subnet,
    /// The gateway's address in it.
    pub gateway_ip: Ipv4Addr,
    /// The gateway's interface address.
    pub gateway_mac: Mac,
    /// Who is asked for names on behalf of guests. None: guests are given no resolver.
    pub dns: Vec<Ipv4Addr>,
    /// The interface that leads outward.
    pub uplink: String,
    /// The network namespace that holds bridge and uplink, where it is not the host's own.
    pub namespace: Option<String>,
    /// Where dnsmasq's files are. The user dnsmasq runs as must be able to enter it.
    pub dhcp_dir: PathBuf,
    /// How long a lease holds.
    pub lease_s: u32,
    /// The nftables table, in the family `inet`; all of it is this room's.
    pub nft_table: String,
    /// What guests may reach outside.
    pub policy: Policy,
    /// Programs and sockets.
    pub tools: Tools,
}

/// Who makes a guest's port on the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attach {
    /// The hypervisor, when it starts the guest. Until then the port is awaited.
    Hypervisor,
    /// This room; the interface is there already.
    Network,
}

/// One guest's place in the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestPort {
    /// Whose guest.
    pub allocation_id: AllocationId,
    /// Which use of its slots.
    pub use_generation: i64,
    /// The address the platform gave its interface.
    pub mac: Mac,
    /// The address it leases.
    pub ip: Ipv4Addr,
    /// Its name in Open vSwitch and the hypervisor, a UUID.
    pub interface_id: String,
    /// Who makes its port.
    pub attach: Attach,
}

// The upper 16 bits of every cookie of ours, "gp". What has others is somebody else's.
const COOKIE_OURS: u64 = 0x6770 << 48;
const COOKIE_GUEST_BITS: u64 = (1 << 48) - 1;

/// The cookie of what belongs to the bridge and to no guest.
pub(crate) const COOKIE_BASE: u64 = COOKIE_OURS;

pub(crate) fn cookie_is_ours(cookie: u64) -> bool {
    cookie & !COOKIE_GUEST_BITS == COOKIE_OURS
}

/// The port that a cookie stands for; none for the bridge's own and for somebody else's.
pub(crate) fn port_name_of(cookie: u64) -> Option<String> {
    (cookie_is_ours(cookie) && cookie != COOKIE_BASE).then(|| format!("gp{:012x}", cookie & COOKIE_GUEST_BITS))
}

/// Whether a port of this name is one that this room names.
pub fn is_guest_port_name(name: &str) -> bool {
    let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    name.strip_prefix("gp").is_some_and(|rest| rest.len() == 12 && rest.bytes().all(hex))
}

impl GuestPort {
    /// What marks this guest's flows. One use of one allocation, one cookie.
    pub fn cookie(&self) -> u64 {
        let mut digest = Sha256::new();
        digest.update(self.allocation_id.as_str());
        digest.update(self.use_generation.to_be_bytes());
        let mut bits = [0; 8];
        bits.copy_from_slice(&digest.finalize()[..8]);
        // Zero is the bridge's own.
        COOKIE_OURS | (u64::from_be_bytes(bits) & COOKIE_GUEST_BITS).max(1)
    }

    /// The port's name, 14 characters: the cookie's own bits, so name and cookie stand for each other.
    pub fn port_name(&self) -> String {
        format!("gp{:012x}", self.cookie() & COOKIE_GUEST_BITS)
    }
}

fn interface_name_check(field: &str, name: &str) -> Result<(), Fault> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    if starts && name.len() <= 15 && name.bytes().all(good) {
        return Ok(());
    }
    Err(Fault::setting(field, "a letter and up to 14 letters, digits, - or _", name))
}

fn path_check(field: &str, path: &Path) -> Result<(), Fault> {
    let good = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    if path.is_absolute() && path.to_str().is_some_and(|text| text.chars().all(good)) {
        return Ok(());
    }
    Err(Fault::setting(field, "an absolute path of letters, digits, / - _ and .", path.display()))
}

impl HostNetwork {
    /// Refuses names and addresses that do not fit together.
    pub fn check(&self) -> Result<(), Fault> {
        interface_name_check("bridge", &self.bridge)?;
        interface_name_check("uplink", &self.uplink)?;
        if let Some(namespace) = &self.namespace {
            interface_name_check("namespace", namespace)?;
        }
        let table_good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let table_starts = self.nft_table.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        if !table_starts || self.nft_table.len() > 31 || !self.nft_table.bytes().all(table_good) {
            return Err(Fault::setting("nft_table", "a-z, then up to 30 of a-z, 0-9 and _", &self.nft_table));
        }
        if is_guest_port_name(&self.bridge) || self.bridge == self.uplink || is_guest_port_name(&self.uplink) {
            let found = format!("{} and {}", self.bridge, self.uplink);
            return Err(Fault::setting("bridge and uplink", "two names that no guest's port has", found));
        }
        path_check("dhcp_dir", &self.dhcp_dir)?;
        path_check("ovs_run_dir", &self.tools.ovs_run_dir)?;
        path_check("ovs_database", &self.tools.ovs_database)?;
        if !(8..=30).contains(&self.subnet.prefix) {
            return Err(Fault::setting("subnet", "a prefix length of 8 to 30", self.subnet));
        }
        if !self.subnet.has_place_for(self.gateway_ip) {
            return Err(Fault::setting("gateway_ip", format!("an address in {}", self.subnet), self.gateway_ip));
        }
        if !self.gateway_mac.is_unicast() {
            return Err(Fault::setting("gateway_mac", "the address of one interface", self.gateway_mac));
        }
        if self.lease_s < 120 {
            return Err(Fault::setting("lease_s", "120 or more", self.lease_s));
        }
        Ok(())
    }

    /// What a guest's address must be here; none if this one is that.
    pub fn ip_expected(&self, ip: Ipv4Addr) -> Option<String> {
        let fits = self.subnet.has_place_for(ip) && ip != self.gateway_ip;
        (!fits).then(|| format!("an address in {} other than the gateway's", self.subnet))
    }

    /// What the address of a guest's interface must be here; none if this one is that.
    pub fn mac_expected(&self, mac: Mac) -> Option<&'static str> {
        let fits = mac.is_unicast() && mac != self.gateway_mac;
        (!fits).then_some("the address of one interface other than the gateway's")
    }

    /// Refuses a guest that has no place here.
    pub fn guest_check(&self, guest: &GuestPort) -> Result<(), Fault> {
        let port = guest.port_name();
        if let Some(expected) = self.ip_expected(guest.ip) {
            return Err(Fault::setting(format!("ip of {port}"), expected, guest.ip));
        }
        if let Some(expected) = self.mac_expected(guest.mac) {
            return Err(Fault::setting(format!("mac of {port}"), expected, guest.mac));
        }
        let uuid = |(at, b): (usize, u8)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
        };
        if guest.interface_id.len() != 36 || !guest.interface_id.bytes().enumerate().all(uuid) {
            return Err(Fault::setting(format!("interface_id of {port}"), "a UUID in lower case", &guest.interface_id));
        }
        if guest.use_generation < 0 {
            return Err(Fault::setting(format!("use_generation of {port}"), "0 or more", guest.use_generation));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use model::Timestamp;

    pub(crate) fn host() -> HostNetwork {
        HostNetwork {
            bridge: "br-gpu".into(),
            datapath: Datapath::Netdev,
            subnet: "10.77.0.0/24".parse().unwrap(),
            gateway_ip: Ipv4Addr::new(10, 77, 0, 1),
            gateway_mac: "02:00:00:00:00:01".parse().unwrap(),
            dns: vec![Ipv4Addr::new(9, 9, 9, 9)],
            uplink: "eth0".into(),
            namespace: None,
            dhcp_dir: "/var/lib/gpuaas/dhcp".into(),
            lease_s: 3600,
            nft_table: "gpuaas".into(),
            policy: Policy::default(),
            tools: Tools::default(),
        }
    }

    pub(crate) fn guest(number: u8) -> GuestPort {
        GuestPort {
            allocation_id: AllocationId::from_parts(Timestamp::from_micros(1_000_000), [number; 10]),
            use_generation: i64::from(number),
            mac: Mac::new([2, 0, 0, 0, 1, number]),
            ip: Ipv4Addr::new(10, 77, 0, number),
            interface_id: format!("00000000-0000-4000-8000-0000000000{number:02x}"),
            attach: Attach::Network,
        }
    }

    #[test]
    fn a_name_and_a_cookie_stand_for_each_other_and_change_with_the_use() {
        let one = guest(7);
        let next = GuestPort { use_generation: one.use_generation + 1, ..one.clone() };
        assert!(is_guest_port_name(&one.port_name()) && one.port_name().len() <= 15);
        assert_eq!(format!("{:x}", one.cookie()), one.port_name().replace("gp", "6770"));
        assert_ne!(one.cookie(), next.cookie());
        assert!(cookie_is_ours(one.cookie()) && cookie_is_ours(COOKIE_BASE) && !cookie_is_ours(0));
        assert!(!is_guest_port_name("gp00000000000g") && !is_guest_port_name("vnet0"));
    }

    #[test]
    fn what_could_break_out_of_its_place_is_refused() {
        host().check().unwrap();
        for bridge in ["", "br gpu", "br\"x", "a-name-too-long-x", "br,x", "-x", "gp0123456789ab", "eth0"] {
            let wrong = HostNetwork { bridge: bridge.into(), ..host() };
            assert!(matches!(wrong.check(), Err(Fault::Setting { .. })), "{bridge}");
        }
        for dir in ["relative", "/a\nport=53", "/a b", "/a,b"] {
            let wrong = HostNetwork { dhcp_dir: dir.into(), ..host() };
            assert!(matches!(wrong.check(), Err(Fault::Setting { .. })), "{dir}");
        }
        let wrong = HostNetwork { nft_table: "t\" }".into(), ..host() };
        assert!(wrong.check().unwrap_err().to_string().starts_with("nft_table must be"));
    }

    #[test]
    fn a_guest_has_an_address_of_the_subnet_that_is_not_the_gateways() {
        host().guest_check(&guest(7)).unwrap();
        for ip in [[10, 77, 0, 0], [10, 77, 0, 1], [10, 77, 0, 255], [10, 78, 0, 7]] {
            let wrong = GuestPort { ip: Ipv4Addr::from(ip), ..guest(7) };
            assert!(host().guest_check(&wrong).unwrap_err().to_string().starts_with("ip of gp"), "{ip:?}");
        }
        for mac in ["01:00:00:00:00:07", "00:00:00:00:00:00", "02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff"] {
            let wrong = GuestPort { mac: mac.parse().unwrap(), ..guest(7) };
            assert!(host().guest_check(&wrong).unwrap_err().to_string().starts_with("mac of gp"), "{mac}");
        }
        let wrong = GuestPort { interface_id: "a -- del-br x".into(), ..guest(7) };
        assert!(host().guest_check(&wrong).is_err());
    }

    #[test]
    fn addresses_are_read_strictly() {
        assert_eq!("02:00:00:00:0A:ff".parse::<Mac>().unwrap().to_string(), "02:00:00:00:0a:ff");
        for bad in ["", "02:00:00:00:00", "02:00:00:00:00:00:00", "2:0:0:0:0:1", "+2:00:00:00:00:01"] {
            assert!(bad.parse::<Mac>().is_err(), "{bad}");
        }
        let all: Subnet = "0.0.0.0/0".parse().unwrap();
        let one: Subnet = "10.1.2.3/32".parse().unwrap();
        assert!(all.covers(one) && !one.covers(all) && one.contains(Ipv4Addr::new(10, 1, 2, 3)));
        assert_eq!((all.mask().to_string(), all.broadcast().to_string()), ("0.0.0.0".into(), "255.255.255.255".into()));
        for bad in ["10.0.0.1/8", "10.0.0.0/33", "10.0.0.0", "x/8"] {
            assert!(bad.parse::<Subnet>().is_err(), "{bad}");
        }
    }
}
