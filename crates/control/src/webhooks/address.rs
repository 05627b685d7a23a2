//! Which addresses the platform connects to for others. Whoever may name an address could otherwise have the platform knock
//! on doors that only it can reach: its own, those of its network, those that hand out the secrets of a cloud. So everything
//! that is not plainly on the public internet is refused, unless an operator allows the range it lies in.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use model::webhook::{Host, Target, WebhookUrl};

/// Addresses that an operator allows, such as `10.20.0.0/16` or `fd00:20::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    network: IpAddr,
    prefix: u8,
}

/// The text was not a range of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a range of addresses such as 10.20.0.0/16 or fd00:20::/32, with nothing set after the prefix")]
pub struct NotARange;

impl FromStr for AddressRange {
    type Err = NotARange;
    fn from_str(text: &str) -> Result<Self, NotARange> {
        let (network, prefix) = text.split_once('/').ok_or(NotARange)?;
        let network: IpAddr = network.parse().map_err(|_| NotARange)?;
        let prefix: u8 = prefix.parse().map_err(|_| NotARange)?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let range = Self { network, prefix };
        // A range that says more than it means was written by mistake.
        if prefix > longest || range.masked(network) != bits(network) { Err(NotARange) } else { Ok(range) }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

impl AddressRange {
    fn masked(self, address: IpAddr) -> u128 {
        let width = if self.network.is_ipv4() { 32 } else { 128 };
        let rest = width - u32::from(self.prefix).min(width);
        bits(address).checked_shr(rest).and_then(|kept| kept.checked_shl(rest)).unwrap_or(0)
    }

    /// Whether an address lies in it.
    pub fn contains(self, address: IpAddr) -> bool {
        self.network.is_ipv4() == address.is_ipv4() && self.masked(address) == bits(self.network)
    }
}

/// Where the platform may connect to for others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// What an operator allows besides the public internet, and without https.
    pub allowed: Vec<AddressRange>,
}

impl Reach {
    fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|range| range.contains(address))
    }

    /// What speaks against connecting to one address.
    pub fn refuse(&self, address: IpAddr, is_https: bool) -> Result<(), String> {
        // What is an IPv4 address in the clothes of an IPv6 one is judged by what it is.
        let address = address.to_canonical();
        if self.allows(address) {
            return Ok(());
        }
        if let Some(what) = not_public(address) {
            return Err(format!("{address} is {what}, which is not allowed here"));
        }
        if is_https { Ok(()) } else { Err(format!("{address} is reached with https only")) }
    }

    /// What speaks against an address as it was written. Names are looked up at every attempt and judged then.
    pub fn refuse_url(&self, url: &WebhookUrl) -> Result<Target, String> {
        let target = url.target().map_err(|rule| format!("expected {rule}"))?;
        match &target.host {
            Host::Address(address) => self.refuse(*address, target.is_https)?,
            Host::Name(_) if !target.is_https && self.allowed.is_empty() => {
                return Err("https is needed here".to_owned());
            }
            Host::Name(_) => {}
        }
        Ok(target)
    }
}

/// What an address is, where it is not plainly public.
fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "an address of this network",
        [127, ..] => "a loopback address",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private address",
        [100, 64..=127, ..] => "an address shared behind a carrier",
        [169, 254, ..] => "a link-local address",
        [192, 0, 0, _] | [192, 88, 99, _] => "an address for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "an address for documentation",
        [198, 18..=19, ..] => "an address for measurements",
        [224..=239, ..] => "a multicast address",
        [240..=255, ..] => "a reserved address",
        _ => return None,
    })
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let words = address.segments();
    let inner = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        not_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    Some(match words {
        [0, 0, 0, 0, 0, 0, 0, 0] => "the unspecified address",
        [0, 0, 0, 0, 0, 0, 0, 1] => "a loopback address",
        // Ways to an IPv4 address: they lead where that does.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return inner(high, low),
        [0x2002, high, low, ..] => return inner(high, low),
        [0x64, 0xff9b, 1, ..] => "a private address",
        [0x2001, 0, ..] => "a tunnel",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "an address for documentation",
        [0x2001, 0..=0x1ff, ..] => "an address for protocols",
        [0xfc00..=0xfdff, ..] => "a private address",
        [0xfe80..=0xfebf, ..] => "a link-local address",
        [0xfec0..=0xfeff, ..] => "a private address",
        [0xff00..=0xffff, ..] => "a multicast address",
        // Of the rest, only this part of the space was ever given out.
        [0x2000..=0x3fff, ..] => return None,
        _ => "a reserved address",
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn reach(allowed: &[&str]) -> Reach {
        Reach { allowed: allowed.iter().map(|range| range.parse().unwrap()).collect() }
    }

    const NOT_PUBLIC: &str = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.254 127.0.0.1 127.8.8.8 \
        169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 \
        198.51.100.7 203.0.113.7 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 \
        ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1::1 \
        2001::1 2001:db8::1 2001:20::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 100::1 4000::1 5f00::1";
    const PUBLIC: &str = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 169.253.1.1 \
        172.15.255.255 172.32.0.0 192.167.1.1 198.17.1.1 223.255.255.255 2606:4700::1111 2a00:1450::1 64:ff9b::808:808 \
        2002:808:808::1 ::ffff:8.8.8.8";

    #[test]
    fn only_the_public_internet_is_reached_unless_allowed() {
        for refused in NOT_PUBLIC.split_whitespace() {
            assert!(reach(&[]).refuse(refused.parse().unwrap(), true).is_err(), "{refused}");
        }
        for public in PUBLIC.split_whitespace() {
            let address: IpAddr = public.parse().unwrap();
            assert_eq!(reach(&[]).refuse(address, true), Ok(()), "{public}");
            assert!(reach(&[]).refuse(address, false).is_err(), "{public} in the open");
        }
    }

    #[test]
    fn an_allowed_range_is_reached_in_the_open_too_and_nothing_beside_it() {
        let reach = reach(&["10.20.0.0/16", "fd00:20::/32", "127.0.0.1/32"]);
        for (address, is_reached) in [
            ("10.20.0.1", true),
            ("::ffff:10.20.0.1", true),
            ("10.21.0.1", false),
            ("fd00:20::1", true),
            ("fd00:21::1", false),
            ("127.0.0.1", true),
            ("127.0.0.2", false),
            ("::1", false),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(reach.refuse(address, false).is_ok(), is_reached, "{address}");
            assert_eq!(reach.refuse(address, true).is_ok(), is_reached, "{address}");
        }
    }

    #[test]
    fn ranges_are_read_strictly() {
        for good in ["0.0.0.0/0", "::/0", "10.0.0.0/8", "10.1.2.3/32", "fd00::/8", "::1/128"] {
            let range: AddressRange = good.parse().unwrap();
            assert_eq!(range.to_string(), good);
        }
        let all: AddressRange = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("9.9.9.9".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
        for bad in
            ["", "10.0.0.0", "10.0.0.0/33", "10.0.0.1/8", "fd00::1/8", "::/129", "a/8", "10.0.0.0/-1", "10.0.0/8"]
        {
            assert!(bad.parse::<AddressRange>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_judged_when_it_is_written_where_that_is_possible() {
        let refused = |url: &str, allowed: &[&str]| reach(allowed).refuse_url(&url.parse().unwrap()).is_err();
        for (url, allowed, is_refused) in [
            ("https://hooks.example/x", &[] as &[&str], false),
            ("http://hooks.example/x", &[], true),
            ("http://hooks.example/x", &["10.0.0.0/8"], false),
            ("https://10.0.0.1/x", &[], true),
            ("https://10.0.0.1/x", &["10.0.0.0/8"], false),
            ("http://10.0.0.1/x", &["10.0.0.0/8"], false),
            ("http://8.8.8.8/x", &["10.0.0.0/8"], true),
            ("https://[::1]/x", &[], true),
            ("https://[::ffff:127.0.0.1]/x", &[], true),
            ("https://169.254.169.254/latest/meta-data", &[], true),
            ("https://8.8.8.8:25/x", &[], true),
        ] {
            assert_eq!(refused(url, allowed), is_refused, "{url}");
        }
    }
}
