//! The rules of a bridge, one by one. A guest's port may send DHCP questions, ARP with its own two addresses, and IPv4 from its
//! own two addresses to the gateway; it receives what the gateway sends to its two addresses. Nothing is learned and nothing is
//! flooded: each rule names the one port a packet leaves by. All else is dropped, by a rule of its own where a count is of use.
//!
//! ```text
//! 400 DHCP question of the guest            → gateway
//! 390 anything from a DHCP server's port    → drop      (a rogue server)
//! 300 ARP with the guest's own MAC and IP   → gateway;  ARP of the gateway about the guest's IP → guest
//! 290 any other ARP                         → drop      (ARP spoofing)
//! 220 IPv4 between guest and gateway itself → through
//! 210 IPv4 between guest and the subnet     → drop      (guest to guest)
//! 200 IPv4 of the guest's own two addresses → through
//!  10 anything else of the port             → drop      (spoofed MAC or IP, IPv6)
//!   5, 0 anything else of the gateway, of anybody       → drop
//! ```
//!
//! Answers of the DHCP server are taken when they go to the guest's own address, which is what Linux guests ask for; an answer
//! to everybody would tell every guest of every other, so it is dropped.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Fault, GuestPort, HostNetwork,
    host::{COOKIE_BASE, cookie_is_ours, port_name_of},
};

/// What happens to a packet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is dropped.
    Drop,
    /// It leaves by this port.
    Output(String),
    /// Something this room never asks for.
    Other(String),
}

/// The port that is the bridge's own interface.
pub(crate) const LOCAL: &str = "LOCAL";

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flow {
    /// In which table.
    pub table: u8,
    /// The highest that matches is taken.
    pub priority: u16,
    /// What must be equal: the name of a field and its value. A protocol is the field `proto`.
    pub fields: BTreeMap<String, String>,
    /// Whose it is.
    pub cookie: u64,
    /// What happens.
    pub action: Action,
}

/// A rule and how often it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCount {
    /// The rule.
    pub flow: Flow,
    /// How many packets.
    pub packets: u64,
}

impl Flow {
    fn new(cookie: u64, priority: u16, fields: &[(&str, &dyn ToString)], action: Action) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        Self { table: 0, priority, fields, cookie, action }
    }

    /// Whether this room made it.
    pub fn is_ours(&self) -> bool {
        cookie_is_ours(self.cookie)
    }

    /// The name of the port it belongs to; none for what is the bridge's own or somebody else's.
    pub fn port_name(&self) -> Option<String> {
        port_name_of(self.cookie)
    }

    /// Whether both would be one entry in the switch.
    pub fn same_place(&self, other: &Self) -> bool {
        (self.table, self.priority, &self.fields) == (other.table, other.priority, &other.fields)
    }

    // A bridge that was made without a controller starts with this; it is nobody's.
    pub(crate) fn is_switch_default(&self) -> bool {
        let normal = matches!(&self.action, Action::Other(text) if text == "NORMAL");
        normal && (self.table, self.priority, self.cookie) == (0, 0, 0) && self.fields.is_empty()
    }

    fn matching(&self) -> String {
        let field = |(name, value): (&String, &String)| match name.as_str() {
            "proto" => format!(",{value}"),
            _ => format!(",{name}={value}"),
        };
        // A protocol comes before the fields that need it.
        let proto = self.fields.iter().filter(|(name, _)| *name == "proto");
        let rest = self.fields.iter().filter(|(name, _)| *name != "proto");
        format!("table={},priority={}{}", self.table, self.priority, proto.chain(rest).map(field).collect::<String>())
    }

    /// As a line that adds it.
    pub fn line_add(&self) -> String {
        let action = match &self.action {
            Action::Drop => "drop".to_owned(),
            Action::Output(port) => format!("output:{port}"),
            Action::Other(text) => text.clone(),
        };
        format!("add cookie={:#x},{},actions={action}", self.cookie, self.matching())
    }

    /// As a line that removes it, and it alone.
    pub fn line_remove(&self) -> String {
        format!("delete_strict cookie={:#x}/-1,{}", self.cookie, self.matching())
    }
}

/// The rules that should be on the bridge.
pub fn flows_desired(host: &HostNetwork, guests: &[GuestPort]) -> Vec<Flow> {
    let base =
        [Flow::new(COOKIE_BASE, 0, &[], Action::Drop), Flow::new(COOKIE_BASE, 5, &[("in_port", &LOCAL)], Action::Drop)];
    base.into_iter().chain(guests.iter().flat_map(|guest| guest_flows(host, guest))).collect()
}

const EVERYBODY: &str = "ff:ff:ff:ff:ff:ff";

fn guest_flows(host: &HostNetwork, guest: &GuestPort) -> Vec<Flow> {
    let mut flows = from_guest(host, guest);
    flows.extend(to_guest(host, guest));
    flows
}

fn from_guest(host: &HostNetwork, guest: &GuestPort) -> Vec<Flow> {
    let (port, mac, ip) = (&guest.port_name(), &guest.mac, &guest.ip);
    let (gateway, gateway_mac) = (&host.gateway_ip, &host.gateway_mac);
    let out = || Action::Output(LOCAL.to_owned());
    let flow = |priority, fields: &[(&str, &dyn ToString)], action| {
        let port: (&str, &dyn ToString) = ("in_port", port);
        Flow::new(guest.cookie(), priority, &[&[port], fields].concat(), action)
    };
    let question = |from: &dyn ToString| {
        let to = [("dl_src", mac as &dyn ToString), ("dl_dst", &EVERYBODY), ("nw_dst", &"255.255.255.255")];
        let ports = [("proto", &"udp" as &dyn ToString), ("nw_src", from), ("tp_src", &68), ("tp_dst", &67)];
        flow(400, &[&to[..], &ports[..]].concat(), out())
    };
    let own_arp: [(&str, &dyn ToString); 4] = [("proto", &"arp"), ("dl_src", mac), ("arp_sha", mac), ("arp_spa", ip)];
    let ask: [(&str, &dyn ToString); 2] = [("arp_op", &1), ("arp_tpa", gateway)];
    let answer: [(&str, &dyn ToString); 2] = [("arp_op", &2), ("dl_dst", gateway_mac)];
    let own_ip: [(&str, &dyn ToString); 4] =
        [("proto", &"ip"), ("dl_src", mac), ("dl_dst", gateway_mac), ("nw_src", ip)];
    vec![
        question(&"0.0.0.0"),
        question(ip),
        flow(390, &[("proto", &"udp"), ("tp_src", &67)], Action::Drop),
        flow(300, &[&own_arp[..], &ask[..]].concat(), out()),
        flow(300, &[&own_arp[..], &answer[..]].concat(), out()),
        flow(290, &[("proto", &"arp")], Action::Drop),
        flow(220, &[&own_ip[..], &[("nw_dst", gateway)]].concat(), out()),
        flow(210, &[("proto", &"ip"), ("nw_dst", &host.subnet)], Action::Drop),
        flow(200, &own_ip, out()),
        flow(10, &[], Action::Drop),
    ]
}

fn to_guest(host: &HostNetwork, guest: &GuestPort) -> Vec<Flow> {
    let (mac, ip) = (&guest.mac, &guest.ip);
    let (gateway, gateway_mac) = (&host.gateway_ip, &host.gateway_mac);
    let enter = || Action::Output(guest.port_name());
    let from: [(&str, &dyn ToString); 2] = [("in_port", &LOCAL), ("dl_src", gateway_mac)];
    let flow = |priority, fields: &[(&str, &dyn ToString)], action| {
        Flow::new(guest.cookie(), priority, &[&from[..], fields].concat(), action)
    };
    let arp: [(&str, &dyn ToString); 3] = [("proto", &"arp"), ("arp_spa", gateway), ("arp_tpa", ip)];
    let own: [(&str, &dyn ToString); 3] = [("proto", &"ip"), ("dl_dst", mac), ("nw_dst", ip)];
    vec![
        flow(300, &[&arp[..], &[("dl_dst", mac)]].concat(), enter()),
        flow(300, &[&arp[..], &[("dl_dst", &EVERYBODY)]].concat(), enter()),
        flow(220, &[&own[..], &[("nw_src", gateway)]].concat(), enter()),
        flow(210, &[&own[..], &[("nw_src", &host.subnet)]].concat(), Action::Drop),
        flow(200, &own, enter()),
    ]
}

/// Reads what `ovs-ofctl --names dump-flows` says. A line that is not understood is a fault: it could be a rule that lets
/// something through.
pub fn flows_parse(bridge: &str, text: &str) -> Result<Vec<FlowCount>, Fault> {
    let rules = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains("_FLOW reply"));
    rules.map(|line| flow_parse(bridge, line).ok_or_else(|| Fault::unreadable("a flow of the bridge", line))).collect()
}

// cookie=0x1, duration=1s, table=0, n_packets=0, n_bytes=0, priority=5,ip,in_port=x actions=drop
fn flow_parse(bridge: &str, line: &str) -> Option<FlowCount> {
    const ABOUT: [&str; 9] = [
        "duration",
        "n_bytes",
        "idle_age",
        "hard_age",
        "idle_timeout",
        "hard_timeout",
        "importance",
        "reset_counts",
        "send_flow_rem",
    ];
    let (before, actions) = line.split_once("actions=")?;
    let mut flow = Flow { table: 0, priority: 32768, fields: BTreeMap::new(), cookie: 0, action: Action::Drop };
    let mut packets = 0;
    for word in before.split([',', ' ']).filter(|word| !word.is_empty()) {
        let Some((name, value)) = word.split_once('=') else {
            if !ABOUT.contains(&word) && flow.fields.insert("proto".to_owned(), word.to_owned()).is_some() {
                return None;
            }
            continue;
        };
        let value = value.trim_matches('"');
        match name {
            "cookie" => flow.cookie = u64::from_str_radix(value.strip_prefix("0x")?, 16).ok()?,
            "table" => flow.table = value.parse().ok()?,
            "priority" => flow.priority = value.parse().ok()?,
            "n_packets" => packets = value.parse().ok()?,
            _ if ABOUT.contains(&name) => {}
            _ => {
                let value = if name == "in_port" && value == bridge { LOCAL } else { value };
                flow.fields.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    flow.action = action_parse(bridge, actions.trim());
    Some(FlowCount { flow, packets })
}

fn action_parse(bridge: &str, text: &str) -> Action {
    let port = |text: &str| {
        let name = text.trim_matches('"');
        if name == bridge { LOCAL.to_owned() } else { name.to_owned() }
    };
    match text {
        "drop" => Action::Drop,
        LOCAL => Action::Output(LOCAL.to_owned()),
        _ if text.contains(',') => Action::Other(text.to_owned()),
        _ => match text.strip_prefix("output:") {
            Some(name) => Action::Output(port(name)),
            None => Action::Other(text.to_owned()),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::host::tests::{guest, host};

    // What a rule says of a packet, so that the ladder can be tried without a switch. Masks only as the rules use them.
    fn takes(flow: &Flow, packet: &BTreeMap<&str, &str>) -> bool {
        flow.fields.iter().all(|(name, want)| match (name.as_str(), packet.get(name.as_str())) {
            ("proto", Some(has)) => has == want || (want == "ip" && ["udp", "tcp", "icmp"].contains(has)),
            (_, Some(has)) => match want.parse::<crate::Subnet>() {
                Ok(subnet) => subnet.contains(has.parse().unwrap()),
                Err(_) => has == want,
            },
            (_, None) => false,
        })
    }

    fn fate(packet: &[(&'static str, &'static str)]) -> Action {
        let packet: BTreeMap<&str, &str> = packet.iter().copied().collect();
        let flows = flows_desired(&host(), &[guest(7), guest(8)]);
        let highest = flows.iter().filter(|flow| takes(flow, &packet)).max_by_key(|flow| flow.priority).unwrap();
        let rivals = flows.iter().filter(|flow| takes(flow, &packet) && flow.priority == highest.priority);
        assert_eq!(rivals.count(), 1, "two rules of one priority for {packet:?}");
        highest.action.clone()
    }

    fn port(number: u8) -> &'static str {
        Box::leak(guest(number).port_name().into_boxed_str())
    }

    const MAC7: &str = "02:00:00:00:01:07";
    const MAC8: &str = "02:00:00:00:01:08";
    const GATEWAY: &str = "02:00:00:00:00:01";

    fn ip(from: u8, mac: &'static str, to_mac: &'static str, src: &'static str, dst: &'static str) -> Action {
        let port = if from == 0 { LOCAL } else { port(from) };
        let addresses = [("in_port", port), ("dl_src", mac), ("dl_dst", to_mac), ("nw_src", src), ("nw_dst", dst)];
        fate(&[&addresses[..], &[("proto", "tcp"), ("tp_src", "4000"), ("tp_dst", "22")]].concat())
    }

    #[test]
    fn a_guest_reaches_the_gateway_and_the_world_with_its_own_addresses_only() {
        let out = Action::Output(LOCAL.into());
        assert_eq!(ip(7, MAC7, GATEWAY, "10.77.0.7", "1.1.1.1"), out);
        assert_eq!(ip(7, MAC7, GATEWAY, "10.77.0.7", "10.77.0.1"), out);
        assert_eq!(ip(7, MAC8, GATEWAY, "10.77.0.7", "1.1.1.1"), Action::Drop, "another's MAC");
        assert_eq!(ip(7, MAC7, GATEWAY, "10.77.0.8", "1.1.1.1"), Action::Drop, "another's IP");
        assert_eq!(ip(7, MAC8, GATEWAY, "10.77.0.8", "1.1.1.1"), Action::Drop, "another's both");
    }

    #[test]
    fn guests_do_not_reach_each_other_directly_or_over_the_gateway() {
        assert_eq!(ip(7, MAC7, MAC8, "10.77.0.7", "10.77.0.8"), Action::Drop);
        assert_eq!(ip(7, MAC7, GATEWAY, "10.77.0.7", "10.77.0.8"), Action::Drop);
        assert_eq!(ip(7, MAC7, EVERYBODY, "10.77.0.7", "10.77.0.255"), Action::Drop);
        assert_eq!(ip(0, GATEWAY, MAC8, "10.77.0.7", "10.77.0.8"), Action::Drop, "turned round by the gateway");
    }

    #[test]
    fn what_comes_in_is_for_this_guest_and_from_the_gateway() {
        let enter = Action::Output(guest(7).port_name());
        assert_eq!(ip(0, GATEWAY, MAC7, "1.1.1.1", "10.77.0.7"), enter);
        assert_eq!(ip(0, GATEWAY, MAC7, "10.77.0.1", "10.77.0.7"), enter);
        assert_eq!(ip(0, MAC8, MAC7, "1.1.1.1", "10.77.0.7"), Action::Drop);
        assert_eq!(ip(0, GATEWAY, MAC7, "1.1.1.1", "10.77.0.8"), Action::Drop);
        assert_eq!(ip(0, GATEWAY, "01:00:5e:00:00:01", "1.1.1.1", "224.0.0.1"), Action::Drop);
    }

    fn arp(op: &'static str, mac: &'static str, sha: &'static str, spa: &'static str, tpa: &'static str) -> Action {
        let to = if op == "1" { EVERYBODY } else { GATEWAY };
        let packet = [("proto", "arp"), ("in_port", port(7)), ("dl_src", mac), ("dl_dst", to), ("arp_op", op)];
        fate(&[&packet[..], &[("arp_sha", sha), ("arp_spa", spa), ("arp_tpa", tpa)]].concat())
    }

    #[test]
    fn arp_speaks_of_the_guests_own_addresses() {
        let out = Action::Output(LOCAL.into());
        assert_eq!(arp("1", MAC7, MAC7, "10.77.0.7", "10.77.0.1"), out);
        assert_eq!(arp("2", MAC7, MAC7, "10.77.0.7", "10.77.0.1"), out);
        assert_eq!(arp("1", MAC7, MAC7, "10.77.0.7", "10.77.0.8"), Action::Drop, "a question about another guest");
        assert_eq!(arp("2", MAC7, MAC7, "10.77.0.1", "10.77.0.8"), Action::Drop, "I am the gateway");
        assert_eq!(arp("2", MAC7, MAC7, "10.77.0.8", "10.77.0.1"), Action::Drop, "I am the other guest");
        assert_eq!(arp("2", MAC7, MAC8, "10.77.0.7", "10.77.0.1"), Action::Drop, "my IP is at another's MAC");
        assert_eq!(arp("2", MAC8, MAC7, "10.77.0.7", "10.77.0.1"), Action::Drop);
    }

    fn udp(mac: &'static str, src: &'static str, dst: &'static str, from: &'static str, to: &'static str) -> Action {
        let packet = [("proto", "udp"), ("in_port", port(7)), ("dl_src", mac), ("dl_dst", EVERYBODY)];
        fate(&[&packet[..], &[("nw_src", src), ("nw_dst", dst), ("tp_src", from), ("tp_dst", to)]].concat())
    }

    #[test]
    fn dhcp_questions_pass_and_dhcp_answers_of_guests_do_not() {
        let out = Action::Output(LOCAL.into());
        assert_eq!(udp(MAC7, "0.0.0.0", "255.255.255.255", "68", "67"), out);
        assert_eq!(udp(MAC7, "10.77.0.7", "255.255.255.255", "68", "67"), out);
        assert_eq!(udp(MAC8, "0.0.0.0", "255.255.255.255", "68", "67"), Action::Drop);
        assert_eq!(udp(MAC7, "10.77.0.7", "255.255.255.255", "67", "68"), Action::Drop);
        assert_eq!(udp(MAC7, "0.0.0.0", "255.255.255.255", "5353", "5353"), Action::Drop);
    }

    #[test]
    fn ipv6_and_unknown_ports_are_dropped() {
        assert_eq!(fate(&[("proto", "ipv6"), ("in_port", port(7)), ("dl_src", MAC7)]), Action::Drop);
        assert_eq!(fate(&[("proto", "ip"), ("in_port", "vnet9"), ("dl_src", MAC7)]), Action::Drop);
    }

    #[test]
    fn what_the_switch_says_is_read_back() {
        let text = "OFPST_FLOW reply (OF1.4) (xid=0x2):\n cookie=0x67700000000000ab, duration=1.5s, table=0, n_packets=3, \
                    n_bytes=9, idle_age=1, priority=220,ip,in_port=\"gp0000000000ab\",nw_dst=10.77.0.0/24 actions=LOCAL\n \
                    cookie=0x0, duration=1s, table=1, n_packets=0, n_bytes=0, actions=mod_vlan_vid:3,NORMAL\n \
                    cookie=0x0, duration=1s, table=0, n_packets=0, n_bytes=0, priority=0 actions=NORMAL\n";
        let flows = flows_parse("br-gpu", text).unwrap();
        assert_eq!((flows[0].packets, &flows[0].flow.action), (3, &Action::Output(LOCAL.into())));
        assert_eq!(flows[0].flow.fields["in_port"], "gp0000000000ab");
        assert_eq!((flows[1].flow.priority, flows[1].flow.is_ours()), (32768, false));
        assert_eq!(flows[1].flow.action, Action::Other("mod_vlan_vid:3,NORMAL".into()));
        assert!(flows[2].flow.is_switch_default() && !flows[1].flow.is_switch_default());
        for bad in ["cookie=zz, actions=drop", "nothing at all", "cookie=0x0, ip,udp actions=drop"] {
            assert!(matches!(flows_parse("br-gpu", bad), Err(Fault::Unreadable { .. })), "{bad}");
        }
    }

    #[test]
    fn a_rule_that_is_written_is_read_as_the_same_rule() {
        for flow in flows_desired(&host(), &[guest(7)]) {
            let line = flow.line_add().replace("add ", "").replace(",actions=", " actions=");
            assert_eq!(flows_parse("br-gpu", &line).unwrap()[0].flow, flow, "{line}");
        }
    }
}
