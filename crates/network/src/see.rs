//! Reads what is there. Every part must be read: an answer that is missing or not understood is a fault, never "nothing".

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
    time::Duration,
};

use command::Program;
use serde_json::Value;

use crate::{
    DhcpConfig, Fault, FirewallSeen, Flow, FlowCount, GatewaySeen, HostNetwork, Lease, PortSeen, Seen, firewall_parse,
    flows_parse, leases_parse,
};

const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const FILES_MAX: usize = 10_000;

/// Everything of the guests' network that is on this host now.
pub fn see(host: &HostNetwork) -> Result<Seen, Fault> {
    host.check()?;
    let (secure, _) = bridge_see(host)?;
    let (ports, elsewhere) = ports_see(host)?;
    let flows: BTreeSet<Flow> = flow_counts(host)?.into_iter().map(|count| count.flow).collect();
    let files = DhcpConfig::of(host);
    let dhcp = match pid_of(&files) {
        Some(_) => file_read(&files.config)?,
        None => None,
    };
    Ok(Seen {
        gateway: gateway_see(host, secure)?,
        ports,
        elsewhere,
        flows,
        dhcp,
        reservations: reservations_see(&files.reservations)?,
        leases: lease_file_read(host)?.into_iter().collect(),
        firewall: firewall_see(host)?,
    })
}

/// The leases dnsmasq has given out.
pub fn lease_file_read(host: &HostNetwork) -> Result<Vec<Lease>, Fault> {
    leases_parse(&file_read(&DhcpConfig::of(host).leases)?.unwrap_or_default())
}

/// The bridge's rules, and how many packets each has taken.
pub fn flow_counts(host: &HostNetwork) -> Result<Vec<FlowCount>, Fault> {
    let said = ofctl(host).arg("dump-flows").arg(bridge_socket(host)).run().map_err(switch_fault)?;
    flows_parse(&host.bridge, &said.out)
}

pub(crate) fn bridge_socket(host: &HostNetwork) -> String {
    format!("unix:{}/{}.mgmt", host.tools.ovs_run_dir.display(), host.bridge)
}

pub(crate) fn vsctl(host: &HostNetwork) -> Program {
    let database = format!("--db=unix:{}", host.tools.ovs_database.display());
    Program::at(&host.tools.ovs_vsctl).arg("--timeout=20").arg(database).within(Duration::from_secs(30))
}

pub(crate) fn ofctl(host: &HostNetwork) -> Program {
    let program = Program::at(&host.tools.ovs_ofctl).args(["-O", "OpenFlow14", "--names", "--timeout=20"]);
    program.within(Duration::from_secs(30))
}

/// A program that acts on the gateway's interfaces, in their namespace.
pub(crate) fn beside_gateway(host: &HostNetwork, program: &Path) -> Program {
    match &host.namespace {
        None => Program::at(program),
        Some(namespace) => Program::at(&host.tools.ip).args(["netns", "exec"]).arg(namespace).arg(program),
    }
}

/// A switch that cannot be reached has a fault of its own.
pub(crate) fn switch_fault(fault: command::Fault) -> Fault {
    let said = fault.to_string();
    let down = ["database connection failed", "(No such file or directory)", "(Connection refused)", "signal 14"];
    let down = down.iter().any(|word| said.contains(word)) || matches!(fault, command::Fault::TooLong { .. });
    if down { Fault::SwitchDown { said } } else { Fault::Program { said } }
}

fn rows(text: &str, columns: usize) -> Result<Vec<Vec<Value>>, Fault> {
    let wrong = |found: &str| Fault::unreadable("the answer of ovs-vsctl", found);
    let said: Value = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let rows = said["data"].as_array().ok_or_else(|| wrong("no rows"))?;
    let row = |row: &Value| row.as_array().filter(|row| row.len() == columns).cloned();
    rows.iter().map(|one| row(one).ok_or_else(|| wrong("a row of another length"))).collect()
}

// ["map", [["key", "value"], …]]
fn map_value<'a>(map: &'a Value, key: &str) -> Option<&'a str> {
    let pairs = map.get(1)?.as_array()?;
    pairs.iter().find(|pair| pair[0].as_str() == Some(key)).and_then(|pair| pair[1].as_str())
}

fn bridge_see(host: &HostNetwork) -> Result<(bool, String), Fault> {
    let ask = ["--format=json", "--columns=name,datapath_type,fail_mode,other_config", "list", "Bridge"];
    let said = vsctl(host).args(ask).run().map_err(switch_fault)?;
    bridge_parse(host, &said.out)
}

fn bridge_parse(host: &HostNetwork, text: &str) -> Result<(bool, String), Fault> {
    let rows = rows(text, 4)?;
    let bridge = rows.iter().find(|row| row[0].as_str() == Some(&host.bridge));
    let bridge = bridge.ok_or_else(|| Fault::BridgeMissing { bridge: host.bridge.clone() })?;
    let datapath = match bridge[1].as_str() {
        Some("") => "system",
        Some(other) => other,
        None => return Err(Fault::unreadable("the bridge's datapath", bridge[1].to_string())),
    };
    if datapath != host.datapath.as_str() {
        return Err(Fault::setting(format!("datapath of {}", host.bridge), host.datapath.as_str(), datapath));
    }
    let secure = bridge[2].as_str() == Some("secure");
    let in_band_off = map_value(&bridge[3], "disable-in-band") == Some("true");
    let mac = map_value(&bridge[3], "hwaddr").unwrap_or_default().to_owned();
    Ok((secure && in_band_off && mac == host.gateway_mac.to_string(), mac))
}

fn ports_see(host: &HostNetwork) -> Result<(Vec<PortSeen>, BTreeSet<String>), Fault> {
    let said = vsctl(host).arg("list-ports").arg(&host.bridge).run().map_err(switch_fault)?;
    let here: BTreeSet<&str> = said.out.lines().collect();
    let ask = ["--format=json", "--columns=name,ofport,external_ids", "list", "Interface"];
    let all = vsctl(host).args(ask).run().map_err(switch_fault)?;
    ports_parse(&host.bridge, &here, &all.out)
}

fn ports_parse(bridge: &str, here: &BTreeSet<&str>, text: &str) -> Result<(Vec<PortSeen>, BTreeSet<String>), Fault> {
    let (mut ports, mut elsewhere) = (vec![], BTreeSet::new());
    for row in rows(text, 3)? {
        let name = row[0].as_str().ok_or_else(|| Fault::unreadable("an interface's name", row[0].to_string()))?;
        if here.contains(name) {
            let interface_id = map_value(&row[2], "iface-id").map(str::to_owned);
            let works = row[1].as_i64().is_some_and(|number| number > 0);
            ports.push(PortSeen { name: name.to_owned(), interface_id, works });
        } else if name != bridge {
            elsewhere.insert(name.to_owned());
        }
    }
    match here.iter().find(|name| !ports.iter().any(|port| port.name == **name)) {
        Some(name) => Err(Fault::unreadable("the interfaces of Open vSwitch", format!("none for the port {name}"))),
        None => Ok((ports, elsewhere)),
    }
}

fn gateway_see(host: &HostNetwork, secure: bool) -> Result<GatewaySeen, Fault> {
    let ask = ["-j", "addr", "show", "dev", host.bridge.as_str()];
    let said = beside_gateway(host, &host.tools.ip).args(ask).run();
    let said =
        said.map_err(|fault| Fault::GatewayMissing { interface: host.bridge.clone(), said: fault.to_string() })?;
    let wrong = || Fault::unreadable("the gateway's interface", said.out.chars().take(200).collect::<String>());
    let all: Value = serde_json::from_str(&said.out).map_err(|_| wrong())?;
    let one = all.get(0).ok_or_else(wrong)?;
    let mac = one["address"].as_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    let up = one["flags"].as_array().ok_or_else(wrong)?.iter().any(|flag| flag == "UP");
    let mut addresses = BTreeSet::new();
    for address in one["addr_info"].as_array().ok_or_else(wrong)?.iter().filter(|one| one["family"] == "inet") {
        let ip = address["local"].as_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
        let prefix = address["prefixlen"].as_u64().and_then(|length| u8::try_from(length).ok()).ok_or_else(wrong)?;
        addresses.insert((ip, prefix));
    }
    Ok(GatewaySeen { mac, addresses, up, forwards: forwards(host)?, secure })
}

/// The settings of the kernel that let packets pass between bridge and uplink.
pub(crate) fn forward_settings(host: &HostNetwork) -> [String; 2] {
    [&host.bridge, &host.uplink].map(|interface| format!("/proc/sys/net/ipv4/conf/{interface}/forwarding"))
}

fn forwards(host: &HostNetwork) -> Result<bool, Fault> {
    let cat = command::find("cat")?;
    let said = beside_gateway(host, &cat).args(forward_settings(host)).run()?;
    Ok(said.out.split_whitespace().eq(["1", "1"]))
}

fn firewall_see(host: &HostNetwork) -> Result<Option<FirewallSeen>, Fault> {
    let ask = ["-j", "list", "table", "inet", host.nft_table.as_str()];
    match beside_gateway(host, &host.tools.nft).args(ask).run() {
        Ok(said) => firewall_parse(&said.out).map(Some),
        Err(command::Fault::Failed { said, .. }) if said.contains("No such file or directory") => Ok(None),
        Err(fault) => Err(fault.into()),
    }
}

fn reservations_see(folder: &Path) -> Result<BTreeMap<String, String>, Fault> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Fault::file(folder, &error)),
    };
    let mut files = BTreeMap::new();
    for entry in entries.take(FILES_MAX) {
        let entry = entry.map_err(|error| Fault::file(folder, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.insert(name, file_read(&entry.path())?.unwrap_or_default());
    }
    Ok(files)
}

/// A file's text; none where there is no file.
pub(crate) fn file_read(path: &Path) -> Result<Option<String>, Fault> {
    let length = match fs::metadata(path) {
        Ok(about) if about.is_file() => about.len(),
        Ok(_) => return Err(Fault::unreadable(path.display().to_string(), "something that is no file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Fault::file(path, &error)),
    };
    if length > FILE_BYTES_MAX {
        return Err(Fault::unreadable(path.display().to_string(), format!("{length} bytes")));
    }
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Fault::file(path, &error)),
    }
}

/// The process of our dnsmasq: the one that its file names, if it runs and was started with our settings.
pub(crate) fn pid_of(files: &DhcpConfig) -> Option<i32> {
    let pid: i32 = fs::read_to_string(&files.pid).ok()?.trim().parse().ok().filter(|pid| *pid > 1)?;
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let ours = format!("--conf-file={}", files.config.display());
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ended = state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']));
    (!ended && words.split(|byte| *byte == 0).any(|word| word == ours.as_bytes())).then_some(pid)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::host::tests::host;

    fn bridge(datapath: &str, fail: &str, mac: &str) -> String {
        let config = format!(r#"["map",[["disable-in-band","true"],["hwaddr","{mac}"]]]"#);
        format!(r#"{{"data":[["br-gpu","{datapath}",{fail},{config}]],"headings":[]}}"#)
    }

    #[test]
    fn a_bridge_is_secure_only_with_all_its_settings() {
        let own = "02:00:00:00:00:01";
        let secure = |text: &str| bridge_parse(&host(), text).map(|(secure, _)| secure);
        assert_eq!(secure(&bridge("netdev", "\"secure\"", own)), Ok(true));
        assert_eq!(secure(&bridge("netdev", r#"["set",[]]"#, own)), Ok(false));
        assert_eq!(secure(&bridge("netdev", "\"secure\"", "02:00:00:00:00:02")), Ok(false));
        let said = secure(&bridge("", "\"secure\"", own)).unwrap_err().to_string();
        assert_eq!(said, "datapath of br-gpu must be netdev, found \"system\"");
        let missing = Fault::BridgeMissing { bridge: "br-gpu".into() };
        assert_eq!(secure(r#"{"data":[]}"#), Err(missing));
        assert!(matches!(secure("{}"), Err(Fault::Unreadable { .. })));
    }

    #[test]
    fn a_port_works_when_the_switch_gave_it_a_number() {
        let text = r#"{"data":[["br-gpu",65534,["map",[]]],["a",1,["map",[["iface-id","x"]]]],["b",-1,["map",[]]],
            ["c",["set",[]],["map",[]]],["d",2,["map",[]]]]}"#;
        let (ports, elsewhere) = ports_parse("br-gpu", &BTreeSet::from(["a", "b", "c"]), text).unwrap();
        let works: Vec<bool> = ports.iter().map(|port| port.works).collect();
        assert_eq!((works, ports[0].interface_id.as_deref()), (vec![true, false, false], Some("x")));
        assert_eq!(elsewhere, BTreeSet::from(["d".to_owned()]));
        assert!(ports_parse("br-gpu", &BTreeSet::from(["gone"]), text).is_err());
    }

    #[test]
    fn a_switch_that_is_not_there_has_a_fault_of_its_own() {
        let mut host = host();
        host.tools.ovs_database = "/nonexistent/db.sock".into();
        let fault = command::Fault::Failed {
            program: "ovs-vsctl".into(),
            code: "exit 1".into(),
            said: "ovs-vsctl: unix:/x: database connection failed (No such file or directory)".into(),
        };
        assert!(matches!(switch_fault(fault), Fault::SwitchDown { .. }));
        let other = command::Fault::Missing("ovs-vsctl".into());
        assert_eq!(switch_fault(other).to_string(), "the program ovs-vsctl is not on this host");
    }

    #[test]
    fn a_process_is_ours_only_with_our_settings() {
        let folder = tempfile::tempdir().unwrap();
        let files = DhcpConfig {
            config: folder.path().join("c"),
            reservations: folder.path().join("h"),
            leases: folder.path().join("l"),
            pid: folder.path().join("p"),
        };
        assert_eq!(pid_of(&files), None);
        fs::write(&files.pid, std::process::id().to_string()).unwrap();
        assert_eq!(pid_of(&files), None, "a process that is no dnsmasq of ours");
    }
}
