//! The packet filter between the gateway and the world: one nftables table, wholly this room's. Guests go out with the host's
//! address and get back what belongs to a connection they made; nothing else comes to them. Of the host itself they reach DHCP
//! and, where it serves names, DNS. Which guests there are is one set; releasing a guest takes its address out of the set, which
//! also ends the connections it still has.
//!
//! The table is described in the JSON of nftables, in the very form `nft -j list` gives it back, so wanted and seen are compared
//! as they are. What is not a guest's element is replaced as a whole, in one transaction.

use std::{collections::BTreeSet, net::Ipv4Addr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Fault, GuestPort, HostNetwork, Subnet, is_guest_port_name};

/// One address that may go out. Its comment is the name of the guest's port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Element {
    /// The guest's address.
    pub ip: Ipv4Addr,
    /// Whose it is.
    pub comment: String,
}

impl Element {
    /// Whether this room made it.
    pub fn is_ours(&self) -> bool {
        is_guest_port_name(&self.comment)
    }

    fn json(&self) -> Value {
        json!({"elem": {"val": self.ip, "comment": self.comment}})
    }
}

/// The table: its sets, chains and rules, and the guests' elements.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FirewallSeen {
    /// Sets by name, then chains by name, then the rules of each chain in their order.
    pub objects: Vec<Value>,
    /// Who may go out.
    pub guests: BTreeSet<Element>,
}

const GUESTS: &str = "guests";

// Every guest's port, by the beginning of its name. A switch in user space only listens to a port: the kernel hears the guest too
// and would serve it past all rules of the bridge. With a switch in the kernel nothing ever comes this way.
const GUEST_PORTS: &str = "gp*";

enum Part<'a> {
    In(&'a str),
    Out(&'a str),
    NotIn(&'a str),
    NotOut(&'a str),
    FromGuest,
    NotFromGuest,
    ToGuest,
    ToSet(&'a str),
    To(Ipv4Addr),
    PortTo(&'a str, u16),
    Answer,
    Invalid,
    Count,
    Accept,
    Drop,
    Jump(&'a str),
    Masquerade,
}

impl Part<'_> {
    fn json(&self) -> Value {
        let is = |op: &str, left: Value, right: Value| json!({"match": {"op": op, "left": left, "right": right}});
        let meta = |key: &str| json!({"meta": {"key": key}});
        let field = |protocol: &str, field: &str| json!({"payload": {"protocol": protocol, "field": field}});
        let state = || json!({"ct": {"key": "state"}});
        match self {
            Self::In(name) => is("==", meta("iifname"), json!(name)),
            Self::Out(name) => is("==", meta("oifname"), json!(name)),
            Self::NotIn(name) => is("!=", meta("iifname"), json!(name)),
            Self::NotOut(name) => is("!=", meta("oifname"), json!(name)),
            Self::FromGuest => is("==", field("ip", "saddr"), json!("@guests")),
            Self::NotFromGuest => is("!=", field("ip", "saddr"), json!("@guests")),
            Self::ToGuest => is("==", field("ip", "daddr"), json!("@guests")),
            Self::ToSet(name) => is("==", field("ip", "daddr"), json!(format!("@{name}"))),
            Self::To(ip) => is("==", field("ip", "daddr"), json!(ip)),
            Self::PortTo(protocol, port) => is("==", field(protocol, "dport"), json!(port)),
            Self::Answer => is("in", state(), json!(["established", "related"])),
            Self::Invalid => is("==", state(), json!("invalid")),
            Self::Count => json!({"counter": null}),
            Self::Accept => json!({"accept": null}),
            Self::Drop => json!({"drop": null}),
            Self::Jump(chain) => json!({"jump": {"target": chain}}),
            Self::Masquerade => json!({"masquerade": null}),
        }
    }
}

/// The table that should be there.
pub fn firewall_desired(host: &HostNetwork, guests: &[GuestPort]) -> FirewallSeen {
    let table = host.nft_table.as_str();
    let mut objects = vec![
        set(table, "allowed", &host.policy.allowed),
        set(table, "denied", &host.policy.denied),
        json!({"set": {"family": "inet", "table": table, "name": GUESTS, "type": "ipv4_addr"}}),
    ];
    for (name, kind, hook, priority, policy) in [
        ("early", "filter", "prerouting", -300, "accept"),
        ("forward", "filter", "forward", 0, "drop"),
        ("input", "filter", "input", 0, "accept"),
        ("outward", "nat", "postrouting", 100, "accept"),
    ] {
        objects.push(json!({"chain": {"family": "inet", "table": table, "name": name, "type": kind, "hook": hook,
            "prio": priority, "policy": policy}}));
    }
    objects.push(json!({"chain": {"family": "inet", "table": table, "name": "to_host"}}));
    for (chain, comment, parts) in rules(host) {
        let parts: Vec<Value> = parts.iter().map(Part::json).collect();
        objects.push(json!({"rule": {"family": "inet", "table": table, "chain": chain, "comment": comment,
            "expr": parts}}));
    }
    let element = |guest: &GuestPort| Element { ip: guest.ip, comment: guest.port_name() };
    FirewallSeen { objects: in_order(objects), guests: guests.iter().map(element).collect() }
}

fn rules(host: &HostNetwork) -> Vec<(&'static str, &'static str, Vec<Part<'_>>)> {
    use Part::{
        Accept, Answer, Count, Drop, FromGuest, In, Invalid, Jump, Masquerade, NotFromGuest, NotIn, NotOut, Out,
        PortTo, To, ToGuest, ToSet,
    };
    let (bridge, uplink, gateway) = (host.bridge.as_str(), host.uplink.as_str(), host.gateway_ip);
    let mut rules = vec![
        ("early", "past the bridge", vec![In(GUEST_PORTS), Count, Drop]),
        ("forward", "not of a guest", vec![NotIn(bridge), NotOut(bridge), Accept]),
        ("forward", "guest to guest", vec![In(bridge), Out(bridge), Count, Drop]),
        ("forward", "no connection", vec![Invalid, Count, Drop]),
        ("forward", "not a guest's address", vec![In(bridge), NotFromGuest, Count, Drop]),
        ("forward", "allowed range", vec![In(bridge), Out(uplink), FromGuest, ToSet("allowed"), Accept]),
        ("forward", "denied range", vec![In(bridge), ToSet("denied"), Count, Drop]),
        ("forward", "outward", vec![In(bridge), Out(uplink), FromGuest, Accept]),
        ("forward", "answers", vec![In(uplink), Out(bridge), Answer, ToGuest, Accept]),
        ("input", "of a guest", vec![In(bridge), Jump("to_host")]),
        ("outward", "with the host's address", vec![Out(uplink), FromGuest, Masquerade]),
        ("to_host", "answers", vec![Answer, Accept]),
        ("to_host", "dhcp", vec![PortTo("udp", 67), Accept]),
    ];
    if !host.dns.is_empty() {
        rules.push(("to_host", "dns", vec![To(gateway), PortTo("udp", 53), Accept]));
        rules.push(("to_host", "dns over tcp", vec![To(gateway), PortTo("tcp", 53), Accept]));
    }
    rules.push(("to_host", "anything else", vec![Count, Drop]));
    rules
}

// Ranges in their order, without those that lie in another: nftables refuses overlaps.
fn set(table: &str, name: &str, ranges: &[Subnet]) -> Value {
    let all: BTreeSet<Subnet> = ranges.iter().copied().collect();
    let outer = all.iter().filter(|one| !all.iter().any(|other| other != *one && other.covers(**one)));
    let elements: Vec<Value> = outer
        .map(|range| match range.prefix() {
            32 => json!(range.address()),
            prefix => json!({"prefix": {"addr": range.address(), "len": prefix}}),
        })
        .collect();
    let mut set = json!({"family": "inet", "table": table, "name": name, "type": "ipv4_addr", "flags": ["interval"]});
    if !elements.is_empty() {
        set["elem"] = Value::Array(elements);
    }
    json!({"set": set})
}

fn in_order(mut objects: Vec<Value>) -> Vec<Value> {
    let key = |object: &Value| {
        let kinds = [("set", "name"), ("chain", "name"), ("rule", "chain")];
        let place = kinds.iter().position(|(kind, _)| object.get(kind).is_some());
        let name = place.map(|at| object[kinds[at].0][kinds[at].1].as_str().unwrap_or_default().to_owned());
        (place.unwrap_or(kinds.len()), name.unwrap_or_default())
    };
    objects.sort_by_key(key);
    objects
}

/// Reads what `nft -j list table` says.
pub fn firewall_parse(text: &str) -> Result<FirewallSeen, Fault> {
    let wrong = |found: &str| Fault::unreadable("the table of nftables", found);
    let said: Value = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
    let listed = said["nftables"].as_array().ok_or_else(|| wrong("no list of objects"))?;
    let mut seen = FirewallSeen::default();
    for object in listed {
        let (kind, body) = single(object).ok_or_else(|| wrong("an object of no kind"))?;
        if kind == "metainfo" || kind == "table" {
            continue;
        }
        let mut body = body.as_object().cloned().ok_or_else(|| wrong("an object without fields"))?;
        body.remove("handle");
        if kind == "set" && body.get("name").and_then(Value::as_str) == Some(GUESTS) {
            let elements = body.remove("elem").unwrap_or_else(|| json!([]));
            let elements = elements.as_array().ok_or_else(|| wrong("elements that are no list"))?;
            seen.guests = elements.iter().map(element_parse).collect::<Result<_, _>>()?;
        }
        if let Some(parts) = body.get_mut("expr").and_then(Value::as_array_mut) {
            // Counts are not part of what is wanted.
            parts.iter_mut().filter(|part| part.get("counter").is_some()).for_each(|part| *part = Part::Count.json());
        }
        seen.objects.push(Value::Object(Map::from_iter([(kind.to_owned(), Value::Object(body))])));
    }
    seen.objects = in_order(seen.objects);
    Ok(seen)
}

fn single(object: &Value) -> Option<(&str, &Value)> {
    let fields = object.as_object().filter(|fields| fields.len() == 1)?;
    fields.iter().next().map(|(kind, body)| (kind.as_str(), body))
}

fn element_parse(element: &Value) -> Result<Element, Fault> {
    let (value, comment) = match element.get("elem") {
        Some(inner) => (&inner["val"], inner["comment"].as_str().unwrap_or_default()),
        None => (element, ""),
    };
    let ip = value.as_str().and_then(|text| text.parse().ok());
    let ip = ip.ok_or_else(|| Fault::unreadable("an element of nftables", element.to_string()))?;
    Ok(Element { ip, comment: comment.to_owned() })
}

/// The whole table in one transaction, whatever was there before.
pub(crate) fn replace_input(table: &str, wanted: &FirewallSeen) -> String {
    let name = json!({"table": {"family": "inet", "name": table}});
    let mut orders = vec![json!({"add": name}), json!({"delete": name}), json!({"add": name})];
    orders.extend(wanted.objects.iter().map(|object| json!({"add": object})));
    orders.extend(wanted.guests.iter().map(|element| element_order("add", table, element)));
    json!({"nftables": orders}).to_string()
}

/// Elements out, then elements in, in one transaction.
pub(crate) fn elements_input(table: &str, out: &[&Element], r#in: &[&Element]) -> String {
    let out = out.iter().map(|element| element_order("delete", table, element));
    let orders: Vec<Value> = out.chain(r#in.iter().map(|element| element_order("add", table, element))).collect();
    json!({"nftables": orders}).to_string()
}

fn element_order(order: &str, table: &str, element: &Element) -> Value {
    let elements = json!([element.json()]);
    json!({order: {"element": {"family": "inet", "table": table, "name": GUESTS, "elem": elements}}})
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        Policy,
        host::tests::{guest, host},
    };

    // What nftables lists: with handles, counts and the elements inside their set.
    fn listed(table: &FirewallSeen) -> String {
        let mut objects =
            vec![json!({"metainfo": {"version": "1"}}), json!({"table": {"name": "gpuaas", "handle": 1}})];
        for object in &table.objects {
            let mut object = object.clone();
            let (kind, _) = single(&object).map(|(kind, body)| (kind.to_owned(), body.clone())).unwrap();
            object[&kind]["handle"] = json!(7);
            if object[&kind]["name"] == GUESTS && !table.guests.is_empty() {
                object[&kind]["elem"] = table.guests.iter().map(Element::json).collect();
            }
            if let Some(parts) = object[&kind].get_mut("expr") {
                for part in parts.as_array_mut().unwrap().iter_mut().filter(|part| part.get("counter").is_some()) {
                    *part = json!({"counter": {"packets": 5, "bytes": 9}});
                }
            }
            objects.push(object);
        }
        json!({"nftables": objects}).to_string()
    }

    #[test]
    fn what_is_listed_is_read_as_what_was_wanted() {
        for guests in [vec![], vec![guest(7), guest(8)]] {
            let wanted = firewall_desired(&host(), &guests);
            assert_eq!(firewall_parse(&listed(&wanted)).unwrap(), wanted);
        }
    }

    #[test]
    fn an_element_without_our_comment_is_somebody_elses() {
        let text = r#"{"nftables":[{"set":{"name":"guests","table":"t","elem":["10.0.0.9",{"elem":{"val":"10.0.0.8","comment":"x"}}]}}]}"#;
        let seen = firewall_parse(text).unwrap();
        assert_eq!(seen.guests.len(), 2);
        assert!(seen.guests.iter().all(|element| !element.is_ours()));
    }

    #[test]
    fn what_cannot_be_read_is_a_fault() {
        let strange = r#"{"nftables":[{"set":{"name":"guests","elem":[{"range":["10.0.0.1","10.0.0.9"]}]}}]}"#;
        for bad in ["", "{}", r#"{"nftables":[{"a":1,"b":2}]}"#, r#"{"nftables":[{"set":3}]}"#, strange] {
            assert!(matches!(firewall_parse(bad), Err(Fault::Unreadable { .. })), "{bad}");
        }
    }

    #[test]
    fn ranges_do_not_overlap_and_names_are_served_only_where_there_is_a_resolver() {
        let ranges = ["10.1.0.0/16", "10.0.0.0/8", "10.0.0.0/8", "1.2.3.4/32"].map(|text| text.parse().unwrap());
        let policy = Policy { denied: ranges.to_vec(), allowed: vec![] };
        let mut quiet = HostNetwork { policy, dns: vec![], ..host() };
        let table = firewall_desired(&quiet, &[]);
        let denied = table.objects.iter().find(|object| object["set"]["name"] == "denied").unwrap();
        assert_eq!(denied["set"]["elem"], json!(["1.2.3.4", {"prefix": {"addr": "10.0.0.0", "len": 8}}]));
        let text = |host: &HostNetwork| serde_json::to_string(&firewall_desired(host, &[]).objects).unwrap();
        assert!(!text(&quiet).contains("dns"));
        quiet.dns = host().dns;
        assert!(text(&quiet).contains("dns"));
    }
}
