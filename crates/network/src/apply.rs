//! Makes the changes, with the programs of the system. Order matters and is fixed here: what lets a guest out comes before its
//! rules, its rules go before its port, and its lease goes last. Doing it twice is the same as once.

use std::{collections::BTreeSet, fs, io, os::unix::fs::PermissionsExt, path::Path, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::{
    Change, Datapath, DhcpConfig, Element, Fault, Flow, Foreign, GatewaySeen, HostNetwork, Lease, PortWanted,
    dhcp::lease_parse,
    firewall::{elements_input, replace_input},
    see::{beside_gateway, bridge_socket, file_read, forward_settings, ofctl, pid_of, switch_fault, vsctl},
};

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Applied {
    /// How many changes were made.
    pub changes: usize,
    /// Ports that have no device yet.
    pub awaited: Vec<String>,
    /// What others made; nothing was done to it.
    pub foreign: Vec<Foreign>,
}

/// Makes the bridge where it is missing. It drops everything until [`apply`] has given it rules.
pub fn prepare(host: &HostNetwork) -> Result<(), Fault> {
    host.check()?;
    let add = vsctl(host).args(["--", "--may-exist", "add-br"]).arg(&host.bridge);
    add.args(bridge_settings(host)).run().map_err(switch_fault)?;
    Ok(())
}

// In one transaction with the making, so that the bridge never forwards by itself.
fn bridge_settings(host: &HostNetwork) -> Vec<String> {
    let words = ["--", "set", "Bridge", &host.bridge].map(str::to_owned).into_iter();
    let settings = [
        format!("datapath_type={}", host.datapath.as_str()),
        "fail_mode=secure".to_owned(),
        "other_config:disable-in-band=true".to_owned(),
        format!("other_config:hwaddr=\"{}\"", host.gateway_mac),
    ];
    words.chain(settings).collect()
}

/// Makes these changes. What can be made is made before something that stands in the way is told as a fault.
pub fn apply(host: &HostNetwork, changes: &[Change]) -> Result<Applied, Fault> {
    host.check()?;
    let mut done = Applied::default();
    let mut blocked = None;
    let mut missing = BTreeSet::new();
    for change in changes {
        match change {
            Change::GatewaySet { gateway } => gateway_set(host, gateway)?,
            Change::FirewallReplace { firewall } => nft(host, replace_input(&host.nft_table, firewall))?,
            Change::PortAdd { port } => match port_add(host, port) {
                Err(fault @ (Fault::InterfaceMissing { .. } | Fault::InterfaceTaken { .. })) => {
                    missing.insert(port.name.clone());
                    blocked = Some(fault);
                }
                other => other?,
            },
            Change::PortAwaited { name } => done.awaited.push(name.clone()),
            Change::Report { foreign } => {
                blocked = in_the_way(foreign).or(blocked);
                done.foreign.push(foreign.clone());
            }
            _ => {}
        }
    }
    elements_change(host, changes)?;
    flows_change(host, changes, &missing)?;
    for change in changes {
        if let Change::PortRemove { name } = change {
            let remove = vsctl(host).args(["--if-exists", "del-port"]).arg(&host.bridge).arg(name);
            remove.run().map_err(switch_fault)?;
        }
    }
    dhcp_change(host, changes)?;
    connections_forget(host, changes)?;
    let told = |change: &&Change| matches!(change, Change::PortAwaited { .. } | Change::Report { .. });
    done.changes = changes.iter().filter(|change| !told(change)).count();
    blocked.map_or(Ok(done), Err)
}

fn in_the_way(foreign: &Foreign) -> Option<Fault> {
    let (what, entry) = match foreign {
        Foreign::Flow { flow, in_the_way: true } => ("a flow of the bridge", flow.line_add()),
        Foreign::Element { element, in_the_way: true } => ("an element of the set of guests", element.ip.to_string()),
        _ => return None,
    };
    Some(Fault::ForeignInTheWay { what: what.to_owned(), entry })
}

fn gateway_set(host: &HostNetwork, gateway: &GatewaySeen) -> Result<(), Fault> {
    vsctl(host).args(bridge_settings(host)).run().map_err(switch_fault)?;
    let bridge = host.bridge.as_str();
    let ip = |words: &[&str]| beside_gateway(host, &host.tools.ip).args(words).run();
    if host.datapath == Datapath::Netdev {
        // The kernel would leave the sums of its packets to a card that is not there, and the guests would drop them.
        beside_gateway(host, &host.tools.ethtool).args(["-K", bridge, "tx", "off"]).run()?;
    }
    ip(&["link", "set", "dev", bridge, "address", &gateway.mac.to_string(), "up"])?;
    let wanted = |ip: &str, prefix: u64| {
        let mut all = gateway.addresses.iter();
        all.any(|(own, length)| own.to_string() == ip && u64::from(*length) == prefix)
    };
    let said = ip(&["-j", "-4", "addr", "show", "dev", bridge])?;
    let there: serde_json::Value = serde_json::from_str(&said.out)
        .map_err(|error| Fault::unreadable("the gateway's addresses", error.to_string()))?;
    for address in there.get(0).and_then(|one| one["addr_info"].as_array()).into_iter().flatten() {
        let (Some(other), Some(prefix)) = (address["local"].as_str(), address["prefixlen"].as_u64()) else { continue };
        if !wanted(other, prefix) {
            ip(&["addr", "del", &format!("{other}/{prefix}"), "dev", bridge])?;
        }
    }
    for (address, prefix) in &gateway.addresses {
        ip(&["addr", "replace", &format!("{address}/{prefix}"), "dev", bridge])?;
    }
    beside_gateway(host, &command::find("tee")?).args(forward_settings(host)).input("1\n").run()?;
    Ok(())
}

fn port_add(host: &HostNetwork, port: &PortWanted) -> Result<(), Fault> {
    let (bridge, name) = (host.bridge.as_str(), port.name.as_str());
    let marks =
        [format!("external_ids:iface-id={}", port.interface_id), format!("external_ids:attached-mac=\"{}\"", port.mac)];
    let add = vsctl(host).args(["--", "--may-exist", "add-port", bridge, name, "--", "set", "Interface", name]);
    let said = match add.args(marks).run() {
        Ok(said) => said,
        Err(command::Fault::Failed { said, .. }) if said.contains("is actually attached to bridge") => {
            return Err(Fault::InterfaceTaken { name: name.to_owned(), found: said });
        }
        Err(fault) => return Err(switch_fault(fault)),
    };
    if said.err.contains("could not open network device") {
        vsctl(host).args(["--if-exists", "del-port", bridge, name]).run().map_err(switch_fault)?;
        return Err(Fault::InterfaceMissing { name: name.to_owned(), said: said.err.trim().to_owned() });
    }
    Ok(())
}

// All rules in one bundle: the switch takes all of them or none.
fn flows_change(host: &HostNetwork, changes: &[Change], missing: &BTreeSet<String>) -> Result<(), Fault> {
    let ready = |flow: &Flow| flow.port_name().is_none_or(|port| !missing.contains(&port));
    let out = changes.iter().filter_map(|change| match change {
        Change::FlowRemove { flow } => Some(flow.line_remove()),
        _ => None,
    });
    let r#in = changes.iter().filter_map(|change| match change {
        Change::FlowAdd { flow } if ready(flow) => Some(flow.line_add()),
        _ => None,
    });
    let lines: Vec<String> = out.chain(r#in).collect();
    if host.datapath == Datapath::Netdev {
        ports_hush(
            host,
            changes.iter().filter_map(|change| match change {
                Change::FlowAdd { flow } if ready(flow) => flow.port_name(),
                _ => None,
            }),
        )?;
    }
    if lines.is_empty() {
        return Ok(());
    }
    let bundle = ofctl(host).args(["--bundle", "add-flows"]).arg(bridge_socket(host)).arg("-");
    bundle.input(lines.join("\n") + "\n").run().map_err(switch_fault)?;
    Ok(())
}

// The kernel hears such a port beside the switch, and would answer ARP for the gateway with an address of its own.
fn ports_hush(host: &HostNetwork, ports: impl Iterator<Item = String>) -> Result<(), Fault> {
    for port in ports.collect::<BTreeSet<String>>() {
        beside_gateway(host, &host.tools.ip).args(["link", "set", "dev", &port, "arp", "off"]).run()?;
    }
    Ok(())
}

fn elements_change(host: &HostNetwork, changes: &[Change]) -> Result<(), Fault> {
    let out: Vec<&Element> = elements_out(changes).collect();
    let r#in: Vec<&Element> = changes
        .iter()
        .filter_map(|change| match change {
            Change::ElementAdd { element } => Some(element),
            _ => None,
        })
        .collect();
    if out.is_empty() && r#in.is_empty() {
        return Ok(());
    }
    // One that is gone already must not stop the others: added first, it can always be removed.
    nft(host, elements_input(&host.nft_table, &[], &out))?;
    nft(host, elements_input(&host.nft_table, &out, &r#in))
}

fn elements_out(changes: &[Change]) -> impl Iterator<Item = &Element> {
    changes.iter().filter_map(|change| match change {
        Change::ElementRemove { element } => Some(element),
        _ => None,
    })
}

// The next guest with this address must not inherit what the kernel remembers of this one's connections.
fn connections_forget(host: &HostNetwork, changes: &[Change]) -> Result<(), Fault> {
    for element in elements_out(changes) {
        let address = element.ip.to_string();
        let forget = beside_gateway(host, &host.tools.conntrack).args(["-D", "-f", "ipv4", "-s", &address]);
        match forget.run() {
            Err(command::Fault::Failed { said, .. }) if said.contains(" 0 flow entries") => {}
            other => drop(other?),
        }
    }
    Ok(())
}

fn nft(host: &HostNetwork, input: String) -> Result<(), Fault> {
    if input.contains("\"nftables\":[]") {
        return Ok(());
    }
    beside_gateway(host, &host.tools.nft).args(["-j", "-f", "-"]).input(input).run()?;
    Ok(())
}

fn dhcp_change(host: &HostNetwork, changes: &[Change]) -> Result<(), Fault> {
    let files = DhcpConfig::of(host);
    let (mut read_again, mut config, mut leases_out) = (false, None, vec![]);
    for change in changes {
        match change {
            Change::ReservationRemove { port } => {
                file_remove(&files.reservations.join(port))?;
                read_again = true;
            }
            Change::ReservationWrite { reservation } => {
                file_write(&host.dhcp_dir, &files.reservations.join(&reservation.port), &reservation.text())?;
                read_again = true;
            }
            Change::LeaseRemove { lease } => leases_out.push(lease),
            Change::DhcpStart { config: wanted } => config = Some(wanted),
            _ => {}
        }
    }
    if config.is_none() && leases_out.is_empty() {
        return if read_again { dhcp_read_again(&files) } else { Ok(()) };
    }
    // dnsmasq keeps leases in mind and writes them back, so they are taken out while it does not run.
    dhcp_stop(host)?;
    if let Some(config) = config {
        file_write(&host.dhcp_dir, &files.config, config)?;
    }
    if let (false, Some(text)) = (leases_out.is_empty(), file_read(&files.leases)?) {
        file_write(&host.dhcp_dir, &files.leases, &leases_without(&text, &leases_out))?;
    }
    dhcp_start(host, &files)
}

fn leases_without(text: &str, out: &[&Lease]) -> String {
    let gone = |line: &str| {
        lease_parse(line).is_some_and(|lease| out.iter().any(|other| (other.mac, other.ip) == (lease.mac, lease.ip)))
    };
    text.lines().filter(|line| !gone(line)).map(|line| format!("{line}\n")).collect()
}

fn dhcp_start(host: &HostNetwork, files: &DhcpConfig) -> Result<(), Fault> {
    folder_make(&files.reservations)?;
    let config = format!("--conf-file={}", files.config.display());
    let started = beside_gateway(host, &host.tools.dnsmasq).arg(config).run();
    started.map_err(|fault| Fault::Dhcp { why: fault.to_string() })?;
    // It answers once it runs; the file that names its process comes a moment later.
    wait_until(|| pid_of(files).is_some()).then_some(()).ok_or_else(|| {
        let why = format!("it must run with {}, found no process", files.config.display());
        Fault::Dhcp { why }
    })
}

/// Ends dnsmasq; one that does not run is ended already.
pub fn dhcp_stop(host: &HostNetwork) -> Result<(), Fault> {
    let files = DhcpConfig::of(host);
    for signal in [Signal::TERM, Signal::KILL] {
        let Some(pid) = pid_of(&files) else { return file_remove(&files.pid) };
        signal_send(pid, signal)?;
        if wait_until(|| pid_of(&files) != Some(pid)) {
            return file_remove(&files.pid);
        }
    }
    Err(Fault::Dhcp { why: "it must end when killed, found it running".to_owned() })
}

fn dhcp_read_again(files: &DhcpConfig) -> Result<(), Fault> {
    let why = "it must run to read its reservations, found no process".to_owned();
    signal_send(pid_of(files).ok_or(Fault::Dhcp { why })?, Signal::HUP)
}

fn signal_send(pid: i32, signal: Signal) -> Result<(), Fault> {
    let pid = Pid::from_raw(pid).ok_or_else(|| Fault::Dhcp { why: format!("{pid} is no process") })?;
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Fault::Dhcp { why: format!("signal to its process: {error}") }),
    }
}

fn wait_until(so: impl Fn() -> bool) -> bool {
    const TURNS: u32 = 1000;
    (0..TURNS).any(|_| {
        let now = so();
        if !now {
            thread::sleep(Duration::from_millis(5));
        }
        now
    })
}

// Whole or not at all. The new text is written outside of the folder that dnsmasq reads.
fn file_write(near: &Path, path: &Path, text: &str) -> Result<(), Fault> {
    for folder in [Some(near), path.parent()].into_iter().flatten() {
        folder_make(folder)?;
    }
    let new = near.join(".new");
    fs::write(&new, text).map_err(|error| Fault::file(&new, &error))?;
    readable(&new, 0o644)?;
    fs::rename(&new, path).map_err(|error| Fault::file(path, &error))
}

// dnsmasq reads its reservations as a user of its own; one it cannot read would be one it silently does not have.
fn folder_make(folder: &Path) -> Result<(), Fault> {
    fs::create_dir_all(folder).map_err(|error| Fault::file(folder, &error))?;
    readable(folder, 0o755)
}

fn readable(path: &Path, mode: u32) -> Result<(), Fault> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| Fault::file(path, &error))
}

fn file_remove(path: &Path) -> Result<(), Fault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::file(path, &error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lease_that_is_named_goes() {
        let text = "5 02:00:00:00:01:07 10.77.0.7 a b\n5 02:00:00:00:01:08 10.77.0.8 * *\nduid 00:01\n";
        let lease = Lease { mac: "02:00:00:00:01:07".parse().unwrap(), ip: "10.77.0.7".parse().unwrap(), until_s: 9 };
        let left = "5 02:00:00:00:01:08 10.77.0.8 * *\nduid 00:01\n";
        assert_eq!(leases_without(text, &[&lease]), left, "a lease that was renewed meanwhile goes too");
    }

    #[test]
    fn a_file_is_replaced_whole_and_removed_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts/gp000000000001");
        file_write(folder.path(), &path, "one\n").unwrap();
        file_write(folder.path(), &path, "two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        file_remove(&path).unwrap();
        file_remove(&path).unwrap();
    }
}
