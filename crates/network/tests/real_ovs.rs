//! The network of guests with real parts: Open vSwitch in user space, dnsmasq, nftables and the kernel, in namespaces. Guests
//! are namespaces with one interface; what they may not do is tried for real, each time next to something that works, so that
//! a silent failure of the try itself would be seen.

#![allow(clippy::unwrap_used)]

mod world;

use std::fs;

use model::Timestamp;
use network::{Change, Fault, Foreign, GuestPort, HostNetwork, LeaseState, Policy};
use world::{PRIVATE_IP, WORLD_IP, World, guest, run, wait_for, world};

fn both() -> [GuestPort; 2] {
    [guest(7), guest(8)]
}

fn ready(test: &str) -> Option<World> {
    let world = world(test)?;
    network::prepare(&world.host).unwrap();
    network::prepare(&world.host).unwrap();
    world.settle(&both());
    Some(world)
}

#[test]
fn a_guest_gets_its_address_reaches_the_world_and_nothing_else() {
    let Some(mut world) = ready("a_guest_gets_its_address_reaches_the_world_and_nothing_else") else { return };
    assert_eq!(world.lease(7).as_deref(), Some("10.77.0.7/24"));
    assert_eq!(world.lease(8).as_deref(), Some("10.77.0.8/24"));
    let leases = network::lease_file_read(&world.host).unwrap();
    let now = Timestamp::from_micros((leases[0].until_s - 60) * 1_000_000);
    let report = network::lease_report(&both(), &leases, now);
    assert!(report.iter().all(|one| one.lease_state == LeaseState::Expected), "{report:?}");
    assert_eq!(report.len(), 2);

    for key in ["w", "g7", "g8", "h"] {
        world.serve(key);
    }
    assert!(world.fetches("g7", WORLD_IP) && world.fetches("g8", WORLD_IP), "outward, with the host's address");
    assert!(world.fetches("h", "10.77.0.8"), "the host itself reaches its guest");
    assert!(!world.fetches("g7", "10.77.0.8"), "guest to guest");
    let before = world.packets(7, 210);
    world.inside("g7", &["ip", "route", "add", "10.77.0.8/32", "via", "10.77.0.1"]);
    assert!(!world.fetches("g7", "10.77.0.8"), "guest to guest over the gateway");
    assert!(world.packets(7, 210) > before, "and it was this rule");

    assert!(world.fetches("w", "203.0.113.1"), "the host serves the world");
    assert!(!world.fetches("g7", "10.77.0.1") && !world.fetches("g7", "203.0.113.1"), "but not its guests");
    assert!(world.fetches("h", PRIVATE_IP) && !world.fetches("g7", PRIVATE_IP), "a private range is denied");
    let allowed = Policy { allowed: vec!["192.168.50.0/24".parse().unwrap()], ..Policy::default() };
    let names = |world: &World| world.try_inside("g7", &["nc", "-z", "-w", "3", "10.77.0.1", "53"]).status.success();
    assert!(!names(&world), "names are not served without a resolver");
    world.host = HostNetwork { policy: allowed, dns: vec![WORLD_IP.parse().unwrap()], ..world.host.clone() };
    world.settle(&both());
    assert!(names(&world), "and with one they are");
    assert!(world.fetches("g7", PRIVATE_IP), "until the policy allows it");
    world.inside("w", &["ip", "route", "add", "10.77.0.0/24", "via", "203.0.113.1"]);
    assert!(!world.fetches("w", "10.77.0.7"), "nothing comes in from outside");
    assert!(world.fetches("h", "10.77.0.7"), "though the guest serves");
}

fn address_set(world: &World, number: u8) {
    let (key, ip) = (format!("g{number}"), guest(number).ip);
    world.inside(&key, &["ip", "addr", "add", &format!("{ip}/24"), "dev", "eth0"]);
    world.inside(&key, &["ip", "route", "add", "default", "via", "10.77.0.1"]);
    gateway_known(world, number);
}

// The guest need not ask for the gateway, so what it sends is judged by what it is and not by its question.
fn gateway_known(world: &World, number: u8) {
    let (key, gateway) = (format!("g{number}"), world.host.gateway_mac.to_string());
    world.inside(&key, &["ip", "neigh", "replace", "10.77.0.1", "lladdr", &gateway, "dev", "eth0", "nud", "permanent"]);
}

fn pings(world: &World, key: &str, from: &str, to: &str) -> bool {
    world.try_inside(key, &["busybox", "ping", "-c", "2", "-W", "1", "-I", from, to]).status.success()
}

#[test]
fn a_guest_cannot_speak_with_addresses_that_are_not_its_own() {
    let Some(world) = ready("a_guest_cannot_speak_with_addresses_that_are_not_its_own") else { return };
    address_set(&world, 7);
    address_set(&world, 8);
    assert!(pings(&world, "g7", "10.77.0.7", WORLD_IP), "with its own it can");
    assert!(world.packets(7, 200) >= 2);

    world.inside("g7", &["ip", "addr", "add", "10.77.0.50/32", "dev", "eth0"]);
    let (passed, dropped) = (world.packets(7, 200), world.packets(7, 10));
    assert!(!pings(&world, "g7", "10.77.0.50", WORLD_IP), "an IP that is nobody's");
    world.inside("g7", &["ip", "addr", "add", "10.77.0.8/32", "dev", "eth0"]);
    assert!(!pings(&world, "g7", "10.77.0.8", WORLD_IP), "the other guest's IP");
    assert_eq!(world.packets(7, 200), passed, "none of it passed");
    assert!(world.packets(7, 10) >= dropped + 4, "all of it came as far as the last rule");

    let (passed, dropped) = (world.packets(7, 200), world.packets(7, 10));
    world.inside("g7", &["ip", "link", "set", "eth0", "address", &guest(8).mac.to_string()]);
    gateway_known(&world, 7);
    assert!(!pings(&world, "g7", "10.77.0.7", WORLD_IP), "the other guest's MAC");
    assert_eq!(world.packets(7, 200), passed);
    assert!(world.packets(7, 10) >= dropped + 2);
    world.inside("g7", &["ip", "link", "set", "eth0", "address", &guest(7).mac.to_string()]);
    assert!(pings(&world, "g7", "10.77.0.7", WORLD_IP), "and with its own again it can");

    let dropped = world.packets(7, 10);
    let _ = world.try_inside("g7", &["busybox", "ping6", "-c", "2", "-W", "1", "-I", "eth0", "ff02::1"]);
    wait_for("IPv6 at the last rule", || world.packets(7, 10) > dropped);
}

#[test]
fn a_guest_cannot_reach_the_host_past_the_bridge() {
    let Some(mut world) = ready("a_guest_cannot_reach_the_host_past_the_bridge") else { return };
    address_set(&world, 7);
    world.serve("h");
    let port = guest(7).port_name();
    let shown = world.inside("h", &["ip", "-br", "link", "show", "dev", &port]);
    let mac = shown.split_whitespace().nth(2).unwrap().to_owned();
    world.inside("g7", &["ip", "neigh", "replace", "10.77.0.1", "lladdr", &mac, "dev", "eth0", "nud", "permanent"]);
    world.inside("h", &["nft", "flush", "chain", "inet", "gpuaas", "early"]);
    assert!(world.fetches("g7", "10.77.0.1"), "a kernel that hears the port beside the switch would serve the guest");
    world.settle(&both());
    assert!(!world.fetches("g7", "10.77.0.1"), "the filter's first rule prevents it");
    let rules = world.inside("h", &["nft", "list", "chain", "inet", "gpuaas", "early"]);
    assert!(rules.contains("counter packets") && !rules.contains("counter packets 0 "), "{rules}");
}

#[test]
fn a_guest_cannot_take_over_another_by_arp_or_dhcp() {
    let Some(mut world) = ready("a_guest_cannot_take_over_another_by_arp_or_dhcp") else { return };
    address_set(&world, 7);
    let own = ["busybox", "arping", "-c", "1", "-w", "5", "-I", "eth0", "10.77.0.1"];
    assert!(world.try_inside("g7", &own).status.success(), "ARP with its own addresses is answered");

    address_set(&world, 8);
    assert!(pings(&world, "h", "10.77.0.1", "10.77.0.8"));
    let known = || world.inside("h", &["ip", "neigh", "show", "10.77.0.8"]);
    assert!(known().contains(&guest(8).mac.to_string()), "{}", known());
    let (passed, dropped) = (world.packets(7, 300), world.packets(7, 290));
    for stolen in ["10.77.0.8", "10.77.0.1"] {
        world.inside("g7", &["ip", "addr", "add", &format!("{stolen}/32"), "dev", "eth0"]);
        for kind in ["-U", "-A"] {
            let say = ["busybox", "arping", kind, "-c", "2", "-I", "eth0", "-s", stolen, stolen];
            let _ = world.try_inside("g7", &say);
        }
        world.inside("g7", &["ip", "addr", "del", &format!("{stolen}/32"), "dev", "eth0"]);
    }
    assert!(world.packets(7, 290) >= dropped + 8, "they were sent");
    assert_eq!(world.packets(7, 300), passed, "and none passed");
    assert!(known().contains(&guest(8).mac.to_string()), "{}", known());

    let send = |port: &str| {
        let line = format!("echo x | nc -u -w 1 -p {port} 10.77.0.1 68");
        let _ = world.try_inside("g8", &["sh", "-c", &line]);
    };
    let (passed, dropped) = (world.packets(8, 220), world.packets(8, 390));
    send("6767");
    assert!(world.packets(8, 220) > passed, "from any other port it passes");
    assert_eq!(world.packets(8, 390), dropped);
    let passed = world.packets(8, 220);
    send("67");
    assert!(world.packets(8, 390) > dropped, "what a DHCP server would send is dropped");
    assert_eq!(world.packets(8, 220), passed);

    let config =
        "start 10.77.0.100\nend 10.77.0.110\ninterface eth0\noption subnet 255.255.255.0\noption router 10.77.0.8\n";
    let config = format!("{config}lease_file {0}\npidfile {0}.pid\n", world.text_of("rogue"));
    fs::write(world.path("rogue.conf"), config).unwrap();
    fs::write(world.path("rogue"), "").unwrap();
    world.background("g8", &["busybox", "udhcpd", "-f", &world.text_of("rogue.conf")]);
    wait_for("the rogue server", || world.path("rogue.pid").exists());
    world.inside("g7", &["ip", "addr", "flush", "dev", "eth0"]);
    assert_eq!(world.lease(7).as_deref(), Some("10.77.0.7/24"));
}

#[test]
fn a_release_removes_what_is_the_guests_and_nothing_of_the_others() {
    let Some(mut world) = ready("a_release_removes_what_is_the_guests_and_nothing_of_the_others") else { return };
    world.serve("w");
    assert!(world.lease(7).is_some() && world.lease(8).is_some());
    assert!(world.fetches("g7", WORLD_IP) && world.fetches("g8", WORLD_IP));
    let host = world.namespace("h");
    let connections =
        |ip: &str| run(&["ip", "netns", "exec", &host, "conntrack", "-L", "-f", "ipv4", "-s", ip]).lines().count();
    assert!(connections("10.77.0.7") > 0 && connections("10.77.0.8") > 0);
    let before = network::see(&world.host).unwrap();
    let seen = world.settle(&[guest(8)]);
    let text = serde_json::to_string(&seen).unwrap();
    for trace in [guest(7).port_name(), guest(7).mac.to_string(), "10.77.0.7\"".into(), guest(7).cookie().to_string()] {
        assert!(!text.contains(&trace), "{trace} is left in {text}");
    }
    assert_eq!(connections("10.77.0.7"), 0);
    assert!(connections("10.77.0.8") > 0);
    let of_other = |flows: &std::collections::BTreeSet<network::Flow>| {
        flows.iter().filter(|flow| flow.cookie != guest(7).cookie()).cloned().collect::<Vec<_>>()
    };
    assert_eq!(of_other(&seen.flows), of_other(&before.flows));
    assert_eq!(seen.leases.len(), 1, "the other keeps its lease");
    assert!(world.fetches("g8", WORLD_IP) && !world.fetches("g7", WORLD_IP));
    assert_eq!(world.lease(7), None, "nobody answers it any more");
    world.settle(&[guest(8)]);
}

#[test]
fn what_is_stale_is_found_and_what_is_foreign_is_left() {
    let Some(world) = ready("what_is_stale_is_found_and_what_is_foreign_is_left") else { return };
    let wanted = network::desired(&world.host, &both()).unwrap();
    let socket = format!("unix:{}", world.text_of("br-gpu.mgmt"));
    let stale = guest(9);
    let flow = |cookie: u64| format!("cookie={cookie:#x},priority=444,ip,nw_src=10.77.0.9,actions=LOCAL");
    for cookie in [stale.cookie(), 0x99] {
        let priority = if cookie == 0x99 { flow(cookie).replace("444", "445") } else { flow(cookie) };
        run(&["ovs-ofctl", "-O", "OpenFlow14", "add-flow", &socket, &priority]);
    }
    fs::write(world.path("dhcp/hosts").join(stale.port_name()), "02:00:00:00:01:09,10.77.0.9\n").unwrap();
    fs::write(world.path("dhcp/hosts/readme"), "# by hand\n").unwrap();
    let element = format!("{{ 10.77.0.9 comment \"{}\" }}", stale.port_name());
    world.inside("h", &["nft", "add", "element", "inet", "gpuaas", "guests", &element]);
    let database = format!("--db=unix:{}", world.text_of("db.sock"));
    world.inside("h", &["ip", "link", "add", &stale.port_name(), "type", "veth", "peer", "name", "x9"]);
    run(&["ovs-vsctl", &database, "add-port", "br-gpu", &stale.port_name()]);

    let seen = network::see(&world.host).unwrap();
    assert!(matches!(network::address_check(&stale_thief(), &seen), Err(Fault::AddressInUse { .. })));
    let changes = network::diff(&wanted, &seen);
    let kinds: Vec<&str> = changes
        .iter()
        .map(|change| match change {
            Change::ElementRemove { .. } => "element",
            Change::FlowRemove { .. } => "flow",
            Change::PortRemove { .. } => "port",
            Change::ReservationRemove { .. } => "reservation",
            Change::Report { foreign: Foreign::Flow { in_the_way: false, .. } } => "foreign flow",
            Change::Report { foreign: Foreign::Reservation { .. } } => "foreign reservation",
            _ => "something else",
        })
        .collect();
    assert_eq!(kinds, ["element", "foreign flow", "flow", "port", "reservation", "foreign reservation"]);
    let done = network::apply(&world.host, &changes).unwrap();
    assert_eq!((done.changes, done.foreign.len()), (4, 2));
    network::apply(&world.host, &changes).unwrap();
    let left = network::diff(&wanted, &network::see(&world.host).unwrap());
    assert!(left.len() == 2 && left.iter().all(|change| matches!(change, Change::Report { .. })), "{left:?}");
}

fn stale_thief() -> GuestPort {
    GuestPort { ip: guest(9).ip, ..guest(10) }
}

#[test]
fn a_switch_that_restarts_and_a_server_that_dies_are_healed() {
    let Some(mut world) = ready("a_switch_that_restarts_and_a_server_that_dies_are_healed") else { return };
    world.serve("w");
    assert!(world.lease(7).is_some() && world.fetches("g7", WORLD_IP));
    world.switch_stop();
    assert!(matches!(network::see(&world.host), Err(Fault::SwitchDown { .. })));
    world.switch_start();
    let wanted = network::desired(&world.host, &both()).unwrap();
    let changes = network::diff(&wanted, &network::see(&world.host).unwrap());
    assert!(changes.iter().any(|change| matches!(change, Change::FlowAdd { .. })), "its rules are gone");
    assert!(!world.fetches("g7", WORLD_IP), "and without rules it drops everything");
    world.settle(&both());
    assert!(world.fetches("g7", WORLD_IP));

    network::dhcp_stop(&world.host).unwrap();
    let changes = network::diff(&wanted, &network::see(&world.host).unwrap());
    assert!(matches!(changes[..], [Change::DhcpStart { .. }]), "{changes:?}");
    world.settle(&both());
    assert_eq!(world.lease(8).as_deref(), Some("10.77.0.8/24"));
    world.inside("h", &["nft", "flush", "chain", "inet", "gpuaas", "forward"]);
    assert!(!world.fetches("g7", WORLD_IP), "a filter without rules lets nothing pass");
    world.settle(&both());
    assert!(world.fetches("g7", WORLD_IP));
}

#[test]
fn what_is_missing_or_taken_is_named_and_stops_nobody_else() {
    let Some(mut world) = world("what_is_missing_or_taken_is_named_and_stops_nobody_else") else { return };
    assert_eq!(network::see(&world.host), Err(Fault::BridgeMissing { bridge: "br-gpu".into() }));
    network::prepare(&world.host).unwrap();
    let all = [guest(7), guest(8), guest(11)];
    let wanted = network::desired(&world.host, &all).unwrap();
    let changes = network::diff(&wanted, &network::see(&world.host).unwrap());
    let fault = network::apply(&world.host, &changes).unwrap_err();
    assert!(matches!(&fault, Fault::InterfaceMissing { name, .. } if *name == guest(11).port_name()), "{fault}");
    world.serve("w");
    assert!(world.lease(7).is_some() && world.fetches("g7", WORLD_IP), "the others work");
    world.settle(&both());

    let database = format!("--db=unix:{}", world.text_of("db.sock"));
    let port = guest(11).port_name();
    world.inside("h", &["ip", "link", "add", &port, "type", "veth", "peer", "name", "x11"]);
    run(&["ovs-vsctl", &database, "add-br", "br-other", "--", "set", "Bridge", "br-other", "datapath_type=netdev"]);
    run(&["ovs-vsctl", &database, "add-port", "br-other", &port]);
    let seen = network::see(&world.host).unwrap();
    assert!(matches!(network::address_check(&guest(11), &seen), Err(Fault::InterfaceTaken { .. })));
    let fault = network::apply(&world.host, &network::diff(&wanted, &seen)).unwrap_err();
    assert!(matches!(fault, Fault::InterfaceTaken { .. }), "{fault}");

    let mut other = world.host.clone();
    other.tools.ovs_vsctl = "/nonexistent/ovs-vsctl".into();
    assert!(matches!(network::see(&other), Err(Fault::Program { .. })));
}
