//! What should be there, what is there, and what to do about the difference. All of it is pure: [`desired`] works from the
//! host's settings and its guests, [`diff`] from that and what was seen. A guest that is not among the guests has nothing here,
//! so a release is the same computation without it.
//!
//! What is ours is known by its mark (a cookie, a port's or file's name, a comment). What has no mark of ours is reported and
//! never touched, not even where it stands in the way: [`apply`](crate::apply) then ends with a fault that names it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use serde::{Deserialize, Serialize};

use crate::{
    Attach, Element, Fault, FirewallSeen, Flow, GuestPort, HostNetwork, Lease, Mac, Reservation, dhcp_config,
    firewall_desired, flows_desired, is_guest_port_name,
};

/// The gateway: the bridge's own interface, and whether the bridge drops what no rule lets through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewaySeen {
    /// Its interface address.
    pub mac: Mac,
    /// Its addresses, with prefix lengths.
    pub addresses: BTreeSet<(Ipv4Addr, u8)>,
    /// Whether it is up.
    pub up: bool,
    /// Whether packets that come in by it or by the uplink may be passed on.
    pub forwards: bool,
    /// Whether the bridge without rules drops everything.
    pub secure: bool,
}

/// A port that should be on the bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortWanted {
    /// Its name.
    pub name: String,
    /// The guest's interface.
    pub interface_id: String,
    /// The guest's interface address.
    pub mac: Mac,
    /// Who makes it.
    pub attach: Attach,
}

/// A port that is on the bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSeen {
    /// Its name.
    pub name: String,
    /// Whose interface it says it is.
    pub interface_id: Option<String>,
    /// Whether the switch moves its packets; not while its device is missing.
    pub works: bool,
}

/// What should be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Desired {
    /// The gateway.
    pub gateway: GatewaySeen,
    /// Ports.
    pub ports: Vec<PortWanted>,
    /// Rules of the bridge.
    pub flows: BTreeSet<Flow>,
    /// dnsmasq's settings.
    pub dhcp: String,
    /// Reservations.
    pub reservations: BTreeSet<Reservation>,
    /// The packet filter.
    pub firewall: FirewallSeen,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The gateway.
    pub gateway: GatewaySeen,
    /// Ports of the bridge, without its own.
    pub ports: Vec<PortSeen>,
    /// Names of interfaces on other bridges.
    pub elsewhere: BTreeSet<String>,
    /// Rules of the bridge.
    pub flows: BTreeSet<Flow>,
    /// dnsmasq's settings, where it runs.
    pub dhcp: Option<String>,
    /// Files in the folder of reservations and what they hold.
    pub reservations: BTreeMap<String, String>,
    /// What dnsmasq gave out.
    pub leases: BTreeSet<Lease>,
    /// The packet filter's table, where there is one.
    pub firewall: Option<FirewallSeen>,
}

/// Something that this room did not make, where only its own should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Foreign {
    /// A rule of the bridge.
    Flow {
        /// The rule.
        flow: Flow,
        /// Whether one of ours belongs there.
        in_the_way: bool,
    },
    /// A port of the bridge. It is cut off by the last rule.
    Port {
        /// Its name.
        name: String,
    },
    /// A file among the reservations.
    Reservation {
        /// Its name.
        file: String,
    },
    /// An address in the set of guests.
    Element {
        /// The element.
        element: Element,
        /// Whether one of ours belongs there.
        in_the_way: bool,
    },
}

/// One thing to do, or to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// Set the bridge and its interface.
    GatewaySet {
        /// As this.
        gateway: GatewaySeen,
    },
    /// Replace the packet filter's table.
    FirewallReplace {
        /// By this.
        firewall: FirewallSeen,
    },
    /// Take an address out of the set of guests.
    ElementRemove {
        /// Which.
        element: Element,
    },
    /// Put an address into it.
    ElementAdd {
        /// Which.
        element: Element,
    },
    /// Make a port.
    PortAdd {
        /// Which.
        port: PortWanted,
    },
    /// The port has no device yet; its rules come when it does.
    PortAwaited {
        /// Its name.
        name: String,
    },
    /// Remove a port.
    PortRemove {
        /// Its name.
        name: String,
    },
    /// Remove a rule.
    FlowRemove {
        /// Which.
        flow: Flow,
    },
    /// Add a rule.
    FlowAdd {
        /// Which.
        flow: Flow,
    },
    /// Remove a reservation.
    ReservationRemove {
        /// Its port.
        port: String,
    },
    /// Write a reservation.
    ReservationWrite {
        /// Which.
        reservation: Reservation,
    },
    /// Forget a lease.
    LeaseRemove {
        /// Which.
        lease: Lease,
    },
    /// Start dnsmasq anew.
    DhcpStart {
        /// With these settings.
        config: String,
    },
    /// Something of somebody else; nothing is done to it.
    Report {
        /// What.
        foreign: Foreign,
    },
}

/// What should be there for these guests. Refuses settings and guests that do not fit together.
pub fn desired(host: &HostNetwork, guests: &[GuestPort]) -> Result<Desired, Fault> {
    host.check()?;
    for guest in guests {
        host.guest_check(guest)?;
    }
    alike_check(guests, "port", GuestPort::port_name)?;
    alike_check(guests, "MAC address", |guest| guest.mac.to_string())?;
    alike_check(guests, "address", |guest| guest.ip.to_string())?;
    alike_check(guests, "interface", |guest| guest.interface_id.clone())?;
    let port = |guest: &GuestPort| PortWanted {
        name: guest.port_name(),
        interface_id: guest.interface_id.clone(),
        mac: guest.mac,
        attach: guest.attach,
    };
    Ok(Desired {
        gateway: GatewaySeen {
            mac: host.gateway_mac,
            addresses: BTreeSet::from([(host.gateway_ip, host.subnet.prefix())]),
            up: true,
            forwards: true,
            secure: true,
        },
        ports: guests.iter().map(port).collect(),
        flows: flows_desired(host, guests).into_iter().collect(),
        dhcp: dhcp_config(host),
        reservations: guests.iter().map(Reservation::of).collect(),
        firewall: firewall_desired(host, guests),
    })
}

fn alike_check(guests: &[GuestPort], what: &str, of: impl Fn(&GuestPort) -> String) -> Result<(), Fault> {
    let mut known: BTreeMap<String, &GuestPort> = BTreeMap::new();
    for guest in guests {
        let Some(other) = known.insert(of(guest), guest) else { continue };
        let (one, other) = (other.allocation_id.to_string(), guest.allocation_id.to_string());
        return Err(Fault::Twice { what: what.to_owned(), value: of(guest), one, other });
    }
    Ok(())
}

/// Refuses a guest that is about to come if its addresses or its port's name are in use on this host by something else.
pub fn address_check(guest: &GuestPort, seen: &Seen) -> Result<(), Fault> {
    let port = guest.port_name();
    let used = |address: String, found_in: &str, held_by: String| {
        Err(Fault::AddressInUse { address, wanted_by: port.clone(), found_in: found_in.to_owned(), held_by })
    };
    let ip = guest.ip.to_string();
    if seen.elsewhere.contains(&port) {
        return Err(Fault::InterfaceTaken { name: port, found: "on another bridge".to_owned() });
    }
    let taken = |other: &&PortSeen| other.name == port && other.interface_id.as_ref() != Some(&guest.interface_id);
    if let Some(PortSeen { interface_id: Some(other), .. }) = seen.ports.iter().find(taken) {
        return Err(Fault::InterfaceTaken { name: port, found: format!("on the bridge for interface {other}") });
    }
    if let Some(lease) = seen.leases.iter().find(|lease| lease.ip == guest.ip && lease.mac != guest.mac) {
        return used(ip, "a lease", lease.mac.to_string());
    }
    if let Some(lease) = seen.leases.iter().find(|lease| lease.mac == guest.mac && lease.ip != guest.ip) {
        return used(guest.mac.to_string(), "a lease", lease.ip.to_string());
    }
    for (name, text) in seen.reservations.iter().filter(|(name, _)| **name != port) {
        for address in [guest.mac.to_string(), ip.clone()] {
            if text.trim().split(',').any(|word| word == address) {
                return used(address, "a reservation", name.clone());
            }
        }
    }
    let speaks = |flow: &&Flow| ["nw_src", "arp_spa"].iter().any(|field| flow.fields.get(*field) == Some(&ip));
    if let Some(flow) = seen.flows.iter().filter(|flow| flow.cookie != guest.cookie()).find(speaks) {
        return used(ip, "a flow", flow.port_name().unwrap_or_else(|| format!("cookie {:#x}", flow.cookie)));
    }
    let mut elements = seen.firewall.iter().flat_map(|table| &table.guests);
    match elements.find(|element| element.ip == guest.ip && element.comment != port) {
        Some(element) => used(ip, "an element", format!("{:?}", element.comment)),
        None => Ok(()),
    }
}

/// What to do so that what is there becomes what should be there, in the order in which it is done.
pub fn diff(desired: &Desired, seen: &Seen) -> Vec<Change> {
    let mut changes = vec![];
    if desired.gateway != seen.gateway {
        changes.push(Change::GatewaySet { gateway: desired.gateway.clone() });
    }
    firewall_diff(desired, seen, &mut changes);
    let awaited = ports_diff(desired, seen, &mut changes);
    flows_diff(desired, seen, &awaited, &mut changes);
    let known = |name: &String| desired.ports.iter().any(|port| port.name == *name);
    for name in seen.ports.iter().map(|port| &port.name).filter(|name| !known(name)) {
        changes.push(match is_guest_port_name(name) {
            true => Change::PortRemove { name: name.clone() },
            false => Change::Report { foreign: Foreign::Port { name: name.clone() } },
        });
    }
    dhcp_diff(desired, seen, &mut changes);
    changes
}

fn firewall_diff(desired: &Desired, seen: &Seen, changes: &mut Vec<Change>) {
    let none = BTreeSet::new();
    let there = seen.firewall.as_ref().map_or(&none, |table| &table.guests);
    let wanted = &desired.firewall.guests;
    let blocked = |element: &Element| there.iter().any(|other| !other.is_ours() && other.ip == element.ip);
    let foreign: BTreeSet<Element> = there.iter().filter(|element| !element.is_ours()).cloned().collect();
    for element in &foreign {
        let in_the_way = wanted.iter().any(|own| own.ip == element.ip);
        changes.push(Change::Report { foreign: Foreign::Element { element: element.clone(), in_the_way } });
    }
    let possible = wanted.iter().filter(|element| !blocked(element));
    if seen.firewall.as_ref().is_none_or(|table| table.objects != desired.firewall.objects) {
        let guests = possible.cloned().chain(foreign).collect();
        let firewall = FirewallSeen { objects: desired.firewall.objects.clone(), guests };
        changes.push(Change::FirewallReplace { firewall });
        return;
    }
    let stale = there.iter().filter(|element| element.is_ours() && !wanted.contains(element));
    changes.extend(stale.map(|element| Change::ElementRemove { element: element.clone() }));
    let missing = possible.filter(|element| !there.contains(element));
    changes.extend(missing.map(|element| Change::ElementAdd { element: element.clone() }));
}

// Answers the ports whose rules must wait.
fn ports_diff(desired: &Desired, seen: &Seen, changes: &mut Vec<Change>) -> BTreeSet<String> {
    let mut awaited = BTreeSet::new();
    for port in &desired.ports {
        match seen.ports.iter().find(|other| other.name == port.name) {
            Some(other) if other.works => {}
            None if port.attach == Attach::Network => changes.push(Change::PortAdd { port: port.clone() }),
            _ => {
                awaited.insert(port.name.clone());
                changes.push(Change::PortAwaited { name: port.name.clone() });
            }
        }
    }
    awaited
}

fn flows_diff(desired: &Desired, seen: &Seen, awaited: &BTreeSet<String>, changes: &mut Vec<Change>) {
    let now = |flow: &&Flow| flow.port_name().is_none_or(|port| !awaited.contains(&port));
    let wanted: BTreeSet<&Flow> = desired.flows.iter().filter(now).collect();
    let foreign = |flow: &&Flow| !flow.is_ours() && !flow.is_switch_default();
    let blocks = |flow: &Flow| wanted.iter().any(|own| own.same_place(flow));
    for flow in seen.flows.iter().filter(foreign) {
        let foreign = Foreign::Flow { flow: flow.clone(), in_the_way: blocks(flow) };
        changes.push(Change::Report { foreign });
    }
    for flow in seen.flows.iter().filter(|flow| !foreign(flow) && !wanted.contains(flow)) {
        changes.push(Change::FlowRemove { flow: flow.clone() });
    }
    let blocked = |flow: &Flow| seen.flows.iter().filter(foreign).any(|other| other.same_place(flow));
    for flow in wanted.into_iter().filter(|flow| !seen.flows.contains(flow) && !blocked(flow)) {
        changes.push(Change::FlowAdd { flow: flow.clone() });
    }
}

fn dhcp_diff(desired: &Desired, seen: &Seen, changes: &mut Vec<Change>) {
    let wanted = &desired.reservations;
    for file in seen.reservations.keys().filter(|file| !wanted.iter().any(|own| own.port == **file)) {
        changes.push(match is_guest_port_name(file) {
            true => Change::ReservationRemove { port: file.clone() },
            false => Change::Report { foreign: Foreign::Reservation { file: file.clone() } },
        });
    }
    for reservation in wanted.iter().filter(|own| seen.reservations.get(&own.port) != Some(&own.text())) {
        changes.push(Change::ReservationWrite { reservation: reservation.clone() });
    }
    let right = |lease: &Lease| wanted.iter().any(|own| (own.mac, own.ip) == (lease.mac, lease.ip));
    for lease in seen.leases.iter().filter(|lease| !right(lease)) {
        changes.push(Change::LeaseRemove { lease: lease.clone() });
    }
    if seen.dhcp.as_ref() != Some(&desired.dhcp) {
        changes.push(Change::DhcpStart { config: desired.dhcp.clone() });
    }
}

/// What will be there once these changes are made. The tests hold [`diff`] against it, and a dry run can show it.
pub fn applied(seen: &Seen, changes: &[Change]) -> Seen {
    let mut after = seen.clone();
    for change in changes {
        let elements = after.firewall.as_mut().map(|table| &mut table.guests);
        match change.clone() {
            Change::GatewaySet { gateway } => after.gateway = gateway,
            Change::FirewallReplace { firewall } => after.firewall = Some(firewall),
            Change::ElementRemove { element } => {
                elements.map(|all| all.remove(&element));
            }
            Change::ElementAdd { element } => {
                elements.map(|all| all.insert(element));
            }
            Change::PortAdd { port: PortWanted { name, interface_id, .. } } => {
                after.ports.push(PortSeen { name, interface_id: Some(interface_id), works: true });
            }
            Change::PortRemove { name } => after.ports.retain(|port| port.name != name),
            Change::FlowRemove { flow } => drop(after.flows.remove(&flow)),
            Change::FlowAdd { flow } => {
                // As in the switch: one entry in one place.
                after.flows.retain(|other| !other.same_place(&flow));
                after.flows.insert(flow);
            }
            Change::ReservationRemove { port } => drop(after.reservations.remove(&port)),
            Change::ReservationWrite { reservation } => {
                after.reservations.insert(reservation.port.clone(), reservation.text());
            }
            Change::LeaseRemove { lease } => drop(after.leases.remove(&lease)),
            Change::DhcpStart { config } => after.dhcp = Some(config),
            Change::PortAwaited { .. } | Change::Report { .. } => {}
        }
    }
    after
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
