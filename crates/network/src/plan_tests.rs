//! The difference between wanted and seen, held against everything a host could show.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::{
    Action,
    host::tests::{guest, host},
};

fn bare() -> Seen {
    Seen {
        gateway: GatewaySeen {
            mac: Mac::new([2, 9, 9, 9, 9, 9]),
            addresses: BTreeSet::new(),
            up: false,
            forwards: false,
            secure: false,
        },
        ports: vec![],
        elsewhere: BTreeSet::new(),
        flows: BTreeSet::new(),
        dhcp: None,
        reservations: BTreeMap::new(),
        leases: BTreeSet::new(),
        firewall: None,
    }
}

fn with(numbers: &[u8]) -> Vec<GuestPort> {
    numbers.iter().copied().map(guest).collect()
}

fn built(numbers: &[u8]) -> Seen {
    let wanted = desired(&host(), &with(numbers)).unwrap();
    let mut seen = applied(&bare(), &diff(&wanted, &bare()));
    for number in numbers {
        let (mac, ip) = (guest(*number).mac, guest(*number).ip);
        seen.leases.insert(Lease { mac, ip, until_s: 9_999_999_999 });
    }
    seen
}

fn flow(cookie: u64, priority: u16, fields: &[(&str, &str)], action: Action) -> Flow {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Flow { table: 0, priority, fields, cookie, action }
}

#[test]
fn a_bare_bridge_becomes_a_full_one_and_then_nothing_is_left_to_do() {
    let wanted = desired(&host(), &with(&[7, 8])).unwrap();
    let after = applied(&bare(), &diff(&wanted, &bare()));
    assert_eq!(diff(&wanted, &after), []);
    assert_eq!(after.flows, wanted.flows);
    assert_eq!(after.firewall.as_ref(), Some(&wanted.firewall));
}

#[test]
fn a_release_takes_exactly_its_own_things() {
    let (both, one) = (built(&[7, 8]), built(&[8]));
    let changes = diff(&desired(&host(), &with(&[8])).unwrap(), &both);
    let own = guest(7);
    for change in &changes {
        let is_own = match change {
            Change::ElementRemove { element } => element.comment == own.port_name(),
            Change::FlowRemove { flow } => flow.cookie == own.cookie(),
            Change::PortRemove { name } | Change::ReservationRemove { port: name } => *name == own.port_name(),
            Change::LeaseRemove { lease } => lease.mac == own.mac,
            _ => false,
        };
        assert!(is_own, "{change:?}");
    }
    assert_eq!(applied(&both, &changes), one);
}

#[test]
fn the_port_of_a_hypervisor_is_awaited_and_its_rules_come_with_it() {
    let later = GuestPort { attach: Attach::Hypervisor, ..guest(7) };
    let wanted = desired(&host(), std::slice::from_ref(&later)).unwrap();
    let mut seen = applied(&bare(), &diff(&wanted, &bare()));
    let name = later.port_name();
    assert_eq!(diff(&wanted, &seen), [Change::PortAwaited { name: name.clone() }]);
    assert!(seen.flows.iter().all(|flow| flow.cookie != later.cookie()));
    assert!(seen.reservations.contains_key(&name), "it can ask for its address at once");
    let mut port = PortSeen { name: name.clone(), interface_id: Some(later.interface_id.clone()), works: false };
    seen.ports.push(port.clone());
    assert_eq!(diff(&wanted, &seen), [Change::PortAwaited { name }], "a port without a device");
    port.works = true;
    seen.ports = vec![port];
    let after = applied(&seen, &diff(&wanted, &seen));
    assert_eq!((diff(&wanted, &after), after.flows), (vec![], wanted.flows));
}

#[test]
fn rules_left_from_a_port_that_came_back_with_another_number_are_replaced() {
    let wanted = desired(&host(), &with(&[7])).unwrap();
    let mut seen = built(&[7]);
    let name = guest(7).port_name();
    let renumbered = |mut flow: Flow| {
        flow.fields.values_mut().filter(|value| **value == name).for_each(|value| *value = "3".to_owned());
        if flow.action == Action::Output(name.clone()) {
            flow.action = Action::Output("3".to_owned());
        }
        flow
    };
    seen.flows = seen.flows.into_iter().map(renumbered).collect();
    let after = applied(&seen, &diff(&wanted, &seen));
    assert_eq!(after.flows, wanted.flows);
}

#[test]
fn what_others_made_is_reported_and_left() {
    let wanted = desired(&host(), &with(&[7])).unwrap();
    let mut seen = built(&[7]);
    let theirs = flow(0x99, 500, &[("in_port", "vnet3")], Action::Other("NORMAL".into()));
    seen.flows.insert(theirs.clone());
    seen.ports.push(PortSeen { name: "vnet3".into(), interface_id: None, works: true });
    seen.reservations.insert("operator".into(), "x\n".into());
    let element = Element { ip: Ipv4Addr::new(10, 77, 0, 99), comment: String::new() };
    seen.firewall.as_mut().unwrap().guests.insert(element.clone());
    let changes = diff(&wanted, &seen);
    assert!(changes.iter().all(|change| matches!(change, Change::Report { .. })), "{changes:?}");
    assert_eq!(changes.len(), 4);
    seen.firewall.as_mut().unwrap().objects.pop();
    let after = applied(&seen, &diff(&wanted, &seen));
    assert!(after.flows.contains(&theirs));
    assert!(after.firewall.unwrap().guests.contains(&element), "kept when the table is made anew");
}

#[test]
fn a_rule_of_somebody_else_in_our_place_is_told_and_the_switchs_own_default_is_not() {
    let wanted = desired(&host(), &[]).unwrap();
    let mut seen = built(&[]);
    let last = seen.flows.iter().find(|flow| flow.fields.is_empty()).unwrap().clone();
    seen.flows.remove(&last);
    let normal = flow(0, 0, &[], Action::Other("NORMAL".into()));
    seen.flows.insert(normal.clone());
    let replaced = [Change::FlowRemove { flow: normal.clone() }, Change::FlowAdd { flow: last }];
    assert_eq!(diff(&wanted, &seen), replaced);
    seen.flows.remove(&normal);
    let theirs = flow(0x99, 0, &[], Action::Other("NORMAL".into()));
    seen.flows.insert(theirs.clone());
    let told = Change::Report { foreign: Foreign::Flow { flow: theirs, in_the_way: true } };
    assert_eq!(diff(&wanted, &seen), [told]);
}

#[test]
fn an_address_that_something_else_holds_is_refused_with_its_holder() {
    let seen = built(&[8]);
    address_check(&guest(8), &seen).unwrap();
    address_check(&guest(7), &seen).unwrap();
    let thief = GuestPort { ip: guest(8).ip, ..guest(7) };
    let said = address_check(&thief, &seen).unwrap_err().to_string();
    let expected =
        format!("address 10.77.0.8 must be free for {}, found a lease of {}", thief.port_name(), guest(8).mac);
    assert_eq!(said, expected);
    let found_in = |seen: &Seen| match address_check(&thief, seen) {
        Err(Fault::AddressInUse { found_in, .. }) => found_in,
        other => format!("{other:?}"),
    };
    let mut seen = seen;
    seen.leases.clear();
    assert_eq!(found_in(&seen), "a reservation");
    seen.reservations.clear();
    assert_eq!(found_in(&seen), "a flow");
    seen.flows.clear();
    assert_eq!(found_in(&seen), "an element");
    let same_mac = GuestPort { mac: guest(8).mac, ..guest(7) };
    assert!(matches!(address_check(&same_mac, &built(&[8])), Err(Fault::AddressInUse { .. })));
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let name = guest(7).port_name();
    let mut seen = built(&[]);
    seen.elsewhere.insert(name.clone());
    let said = address_check(&guest(7), &seen).unwrap_err().to_string();
    assert_eq!(said, format!("interface {name} must be free, found it on another bridge"));
    seen.elsewhere.clear();
    seen.ports.push(PortSeen { name, interface_id: Some("other".into()), works: true });
    assert!(matches!(address_check(&guest(7), &seen), Err(Fault::InterfaceTaken { .. })));
}

#[test]
fn two_guests_with_one_address_are_refused() {
    for twin in [
        GuestPort { ip: guest(7).ip, ..guest(8) },
        GuestPort { mac: guest(7).mac, ..guest(8) },
        GuestPort { interface_id: guest(7).interface_id, ..guest(8) },
        guest(7),
    ] {
        assert!(matches!(desired(&host(), &[guest(7), twin]), Err(Fault::Twice { .. })));
    }
}

#[test]
fn changes_can_be_written_down_and_read() {
    let wanted = desired(&host(), &with(&[7])).unwrap();
    let changes = diff(&wanted, &bare());
    let text = serde_json::to_string(&changes).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Change>>(&text).unwrap(), changes);
    let text = serde_json::to_string(&built(&[7])).unwrap();
    assert_eq!(serde_json::from_str::<Seen>(&text).unwrap(), built(&[7]));
}

// A host in any state: some guests built, then things taken away, changed and added.
fn any_seen() -> impl Strategy<Value = Seen> {
    let numbers = prop::collection::btree_set(2u8..12, 0..5);
    let damage = prop::collection::vec((0u8..12, any::<prop::sample::Index>()), 0..12);
    (numbers, damage).prop_map(|(numbers, damage)| {
        let mut seen = built(&numbers.into_iter().collect::<Vec<u8>>());
        damage.iter().for_each(|(kind, at)| damaged(&mut seen, *kind, at));
        seen
    })
}

fn damaged(seen: &mut Seen, kind: u8, at: &prop::sample::Index) {
    let flow_at =
        |seen: &Seen| (!seen.flows.is_empty()).then(|| seen.flows.iter().nth(at.index(seen.flows.len())).cloned());
    let number = u8::try_from(at.index(12)).unwrap_or(0) + 2;
    match (kind, flow_at(seen).flatten()) {
        (0, Some(one)) => drop(seen.flows.remove(&one)),
        (1, Some(one)) => {
            seen.flows.remove(&one);
            seen.flows.insert(Flow { action: Action::Other("NORMAL".into()), ..one });
        }
        (2, Some(one)) => {
            seen.flows.remove(&one);
            seen.flows.insert(Flow { cookie: guest(number).cookie(), ..one });
        }
        (3, _) => drop(seen.flows.insert(flow(0x99, 700, &[("in_port", "x")], Action::Drop))),
        (4, _) => drop(seen.reservations.insert(guest(number).port_name(), "broken".into())),
        (5, _) => seen.ports.retain(|port| port.name != guest(number).port_name()),
        (6, _) => seen.firewall = None,
        (7, _) => seen.dhcp = None,
        (8, _) => {
            let (mac, ip) = (guest(number).mac, guest(number.wrapping_add(1)).ip);
            seen.leases.insert(Lease { mac, ip, until_s: 5 });
        }
        (9, _) => seen.gateway.up = false,
        (10, _) => {
            let element = Element { ip: guest(number).ip, comment: guest(number + 1).port_name() };
            seen.firewall.as_mut().map(|table| table.guests.insert(element));
        }
        _ => seen.ports.push(PortSeen { name: "vnet1".into(), interface_id: None, works: true }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn what_is_done_about_the_difference_leaves_none(seen in any_seen(), numbers in prop::collection::btree_set(2u8..12, 0..5)) {
        let guests: Vec<GuestPort> = numbers.into_iter().map(guest).collect();
        let wanted = desired(&host(), &guests).unwrap();
        let changes = diff(&wanted, &seen);
        let after = applied(&seen, &changes);
        let left = diff(&wanted, &after);
        prop_assert!(left.iter().all(|change| matches!(change, Change::Report { .. })), "{left:?}");
        let ours: BTreeSet<Flow> = after.flows.iter().filter(|flow| flow.is_ours()).cloned().collect();
        prop_assert_eq!(ours, wanted.flows);
        let theirs = |seen: &Seen| seen.flows.iter().filter(|flow| !flow.is_ours()).cloned().collect::<Vec<Flow>>();
        prop_assert_eq!(theirs(&after), theirs(&seen));
    }

    #[test]
    fn guests_never_share_anything(numbers in prop::collection::btree_set(2u8..200, 2..8)) {
        let guests: Vec<GuestPort> = numbers.into_iter().map(guest).collect();
        let wanted = desired(&host(), &guests).unwrap();
        let places: BTreeSet<_> = wanted.flows.iter().map(|flow| (flow.table, flow.priority, flow.fields.clone())).collect();
        prop_assert_eq!(places.len(), wanted.flows.len());
        prop_assert_eq!(wanted.reservations.len(), guests.len());
        prop_assert_eq!(wanted.firewall.guests.len(), guests.len());
        for guest in &guests {
            let own = |flow: &&Flow| flow.cookie == guest.cookie();
            for flow in wanted.flows.iter().filter(own) {
                let port = flow.fields.get("in_port").unwrap();
                prop_assert!(*port == guest.port_name() || port == crate::flow::LOCAL);
                if let Action::Output(to) = &flow.action {
                    prop_assert!(*to == guest.port_name() || to == crate::flow::LOCAL);
                }
            }
        }
    }

    #[test]
    fn a_release_takes_exactly_its_own_things_whoever_else_is_there(
        numbers in prop::collection::btree_set(2u8..200, 1..6), at in any::<prop::sample::Index>()
    ) {
        let numbers: Vec<u8> = numbers.into_iter().collect();
        let gone = numbers[at.index(numbers.len())];
        let rest: Vec<u8> = numbers.iter().copied().filter(|number| *number != gone).collect();
        let changes = diff(&desired(&host(), &with(&rest)).unwrap(), &built(&numbers));
        prop_assert_eq!(applied(&built(&numbers), &changes), built(&rest));
    }

    #[test]
    fn no_text_makes_the_readers_panic(text in ".{0,200}") {
        let _ = crate::flows_parse("br", &text);
        let _ = crate::firewall_parse(&text);
        let _ = crate::leases_parse(&text);
        let _ = crate::reservation_parse("gp", &text);
    }
}
