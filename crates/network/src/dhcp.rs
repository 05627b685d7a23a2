//! Addresses by reservation. dnsmasq is told of each guest in a file of its own and answers nobody else; what it gave out is
//! read from its lease file and compared with what the platform expects.

use std::{net::Ipv4Addr, path::PathBuf};

use model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Fault, GuestPort, HostNetwork, Mac};

/// The address that one interface is given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reservation {
    /// The guest's port, which is also the file's name.
    pub port: String,
    /// Which interface.
    pub mac: Mac,
    /// Which address.
    pub ip: Ipv4Addr,
}

impl Reservation {
    /// The reservation of a guest.
    pub fn of(guest: &GuestPort) -> Self {
        Self { port: guest.port_name(), mac: guest.mac, ip: guest.ip }
    }

    /// What its file holds.
    pub fn text(&self) -> String {
        format!("{},{}\n", self.mac, self.ip)
    }
}

/// Reads a reservation's file. `None`: it holds something else.
pub fn reservation_parse(port: &str, text: &str) -> Option<Reservation> {
    let (mac, ip) = text.strip_suffix('\n')?.split_once(',')?;
    let read = Reservation { port: port.to_owned(), mac: mac.parse().ok()?, ip: ip.parse().ok()? };
    (read.text() == text).then_some(read)
}

/// Where dnsmasq's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhcpConfig {
    /// Its settings.
    pub config: PathBuf,
    /// One file for each reservation.
    pub reservations: PathBuf,
    /// What it gave out.
    pub leases: PathBuf,
    /// Its process.
    pub pid: PathBuf,
}

impl DhcpConfig {
    /// The files of a host.
    pub fn of(host: &HostNetwork) -> Self {
        let at = |name: &str| host.dhcp_dir.join(name);
        Self { config: at("dnsmasq.conf"), reservations: at("hosts"), leases: at("leases"), pid: at("dnsmasq.pid") }
    }
}

/// dnsmasq's settings: an answer only on the bridge, only for reservations, and names from the given resolvers or none.
pub fn dhcp_config(host: &HostNetwork) -> String {
    let files = DhcpConfig::of(host);
    let mut lines = vec![
        format!("interface={}", host.bridge),
        "except-interface=lo".to_owned(),
        "bind-dynamic".to_owned(),
        "no-hosts".to_owned(),
        "no-resolv".to_owned(),
        "dhcp-authoritative".to_owned(),
        "dhcp-ignore=tag:!known".to_owned(),
        "quiet-dhcp".to_owned(),
        format!("dhcp-range={},static,{},{}", host.subnet.address(), host.subnet.mask(), host.lease_s),
        format!("dhcp-option=3,{}", host.gateway_ip),
        format!("dhcp-hostsfile={}", files.reservations.display()),
        format!("dhcp-leasefile={}", files.leases.display()),
        format!("pid-file={}", files.pid.display()),
    ];
    if host.dns.is_empty() {
        lines.push("port=0".to_owned());
        // Without this dnsmasq names itself as resolver.
        lines.push("dhcp-option=6".to_owned());
    } else {
        lines.push("domain-needed".to_owned());
        lines.push("bogus-priv".to_owned());
        lines.push("stop-dns-rebind".to_owned());
        lines.push(format!("dhcp-option=6,{}", host.gateway_ip));
        lines.extend(host.dns.iter().map(|server| format!("server={server}")));
    }
    lines.join("\n") + "\n"
}

/// One line of the lease file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Lease {
    /// Who has it.
    pub mac: Mac,
    /// What it has.
    pub ip: Ipv4Addr,
    /// Until when, in seconds since 1970; 0 is for ever.
    pub until_s: i64,
}

/// Reads the lease file. A line that is not understood is a fault.
pub fn leases_parse(text: &str) -> Result<Vec<Lease>, Fault> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("duid "));
    lines.map(|line| lease_parse(line).ok_or_else(|| Fault::unreadable("a lease of dnsmasq", line))).collect()
}

// 1794771000 02:00:00:00:01:07 10.77.0.7 name client-id
pub(crate) fn lease_parse(line: &str) -> Option<Lease> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [until, mac, ip, _name, _client] = words[..] else { return None };
    Some(Lease { mac: mac.parse().ok()?, ip: ip.parse().ok()?, until_s: until.parse().ok().filter(|s| *s >= 0)? })
}

/// How a lease stands to what the platform expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    /// The guest has asked for none.
    None,
    /// The guest has its own address.
    Expected,
    /// The guest has another address.
    OtherIp,
    /// The guest had its address and did not renew it.
    Expired,
    /// No guest of this host belongs to it.
    Stale,
}

/// What is reported of one lease.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseSeen {
    /// Whose.
    pub mac: Mac,
    /// What the platform reserved; none for an interface it does not know.
    pub expected_ip: Option<Ipv4Addr>,
    /// What dnsmasq gave out.
    pub actual_ip: Option<Ipv4Addr>,
    /// How the two stand to each other.
    pub lease_state: LeaseState,
}

/// One report for each guest, and one for each lease that is nobody's.
pub fn lease_report(guests: &[GuestPort], leases: &[Lease], now: Timestamp) -> Vec<LeaseSeen> {
    let now_s = now.as_micros() / 1_000_000;
    let expired = |lease: &Lease| lease.until_s != 0 && lease.until_s <= now_s;
    let of_guest = |guest: &GuestPort| {
        let own = || leases.iter().filter(|lease| lease.mac == guest.mac);
        let found = own().find(|lease| lease.ip == guest.ip).or_else(|| own().next());
        let lease_state = match found {
            None => LeaseState::None,
            Some(lease) if lease.ip != guest.ip => LeaseState::OtherIp,
            Some(lease) if expired(lease) => LeaseState::Expired,
            Some(_) => LeaseState::Expected,
        };
        let actual_ip = found.map(|lease| lease.ip);
        LeaseSeen { mac: guest.mac, expected_ip: Some(guest.ip), actual_ip, lease_state }
    };
    let nobodys = leases.iter().filter(|lease| !guests.iter().any(|guest| guest.mac == lease.mac));
    let stale = |lease: &Lease| LeaseSeen {
        mac: lease.mac,
        expected_ip: None,
        actual_ip: Some(lease.ip),
        lease_state: LeaseState::Stale,
    };
    guests.iter().map(of_guest).chain(nobodys.map(stale)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::host::tests::{guest, host};

    const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn state(lease: &str) -> (LeaseState, Option<String>) {
        let report = lease_report(&[guest(7)], &leases_parse(lease).unwrap(), NOW);
        (report[0].lease_state, report[0].actual_ip.map(|ip| ip.to_string()))
    }

    #[test]
    fn each_state_of_a_lease_is_told() {
        assert_eq!(state(""), (LeaseState::None, None));
        assert_eq!(state("2000 02:00:00:00:01:07 10.77.0.7 * *\n"), (LeaseState::Expected, Some("10.77.0.7".into())));
        assert_eq!(state("0 02:00:00:00:01:07 10.77.0.7 h 01:02\n"), (LeaseState::Expected, Some("10.77.0.7".into())));
        assert_eq!(state("1000 02:00:00:00:01:07 10.77.0.7 * *\n"), (LeaseState::Expired, Some("10.77.0.7".into())));
        assert_eq!(state("2000 02:00:00:00:01:07 10.77.0.9 * *\n"), (LeaseState::OtherIp, Some("10.77.0.9".into())));
        let stale = leases_parse("2000 02:00:00:00:01:09 10.77.0.7 * *\n").unwrap();
        let report = lease_report(&[guest(7)], &stale, NOW);
        assert_eq!(report.len(), 2);
        assert_eq!(report[0].lease_state, LeaseState::None);
        assert_eq!((report[1].lease_state, report[1].expected_ip), (LeaseState::Stale, None));
    }

    #[test]
    fn a_lease_that_is_not_understood_is_a_fault() {
        let bad = ["x", "1 2 3 4 5", "-1 02:00:00:00:01:07 10.77.0.7 * *", "2000 02:00:00:00:01:07 10.77.0.7 *"];
        for line in bad {
            assert!(matches!(leases_parse(line), Err(Fault::Unreadable { .. })), "{line}");
        }
        assert_eq!(leases_parse("duid 00:01\n\n").unwrap(), []);
    }

    #[test]
    fn the_report_is_written_with_the_names_the_platform_expects() {
        let report = lease_report(&[guest(7)], &[], NOW);
        let written = serde_json::to_value(&report[0]).unwrap();
        let expected = serde_json::json!({
            "mac": "02:00:00:00:01:07", "expected_ip": "10.77.0.7", "actual_ip": null, "lease_state": "none"
        });
        assert_eq!(written, expected);
    }

    #[test]
    fn a_reservation_is_read_only_as_it_is_written() {
        let one = Reservation::of(&guest(7));
        assert_eq!(reservation_parse(&one.port, &one.text()), Some(one.clone()));
        for bad in ["", "02:00:00:00:01:07,10.77.0.7", "02:00:00:00:01:07,10.77.0.7\n\n", "id:*,10.77.0.7\n"] {
            assert_eq!(reservation_parse(&one.port, bad), None, "{bad}");
        }
    }

    #[test]
    fn the_settings_serve_names_only_with_a_resolver_and_answer_only_the_known() {
        let with = dhcp_config(&host());
        assert!(with.contains("server=9.9.9.9\n") && with.contains("dhcp-option=6,10.77.0.1\n"));
        let without = dhcp_config(&HostNetwork { dns: vec![], ..host() });
        assert!(without.contains("port=0\n") && !without.contains("server="));
        for text in [with, without] {
            assert!(text.contains("dhcp-ignore=tag:!known\n") && text.contains("interface=br-gpu\n"));
            assert!(text.contains("dhcp-range=10.77.0.0,static,255.255.255.0,3600\n"));
        }
    }
}
