//! How fast placement is on 640 nodes: one block, ten racks, 64 hosts of 96 CPU in each; and, where it says so, on 10240.
//! Prints one line a measurement.
//!
//! `cargo run --release -p govern --example domains_speed`

#![allow(clippy::disallowed_types, reason = "an example measures; the crate itself has no clock")]
#![allow(clippy::print_stdout, reason = "an example prints")]

use govern::amount::Amount;
use govern::domains::{
    Ask, Domains, DomainsSpec, Eligible, Layer, LeafIx, LevelIx, Load, Needs, Node, PerPod, Placement, Plan, PodSet,
    Refusal, ResourceIx, Room, Spread, place_all,
};
use std::{collections::VecDeque, time::Instant};

const CPU: ResourceIx = ResourceIx(0);
const PODS: ResourceIx = ResourceIx(1);
const BLOCK: LevelIx = LevelIx(0);
const RACK: LevelIx = LevelIx(1);
const HOST: LevelIx = LevelIx(2);

/// A kind of work: pods, CPU of each, how near, slices.
type Kind = (u32, i64, Spread, &'static [Layer]);

const KINDS: &[Kind] = &[
    (2, 1, Spread::Required(RACK), &[]),
    (4, 5, Spread::Required(RACK), &[]),
    (8, 20, Spread::Required(RACK), &[]),
    (8, 1, Spread::Preferred(RACK), &[]),
    (8, 5, Spread::Preferred(HOST), &[]),
    (8, 20, Spread::Preferred(HOST), &[]),
    (8, 5, Spread::Required(BLOCK), &[Layer { level: HOST, size: 4 }]),
    (8, 20, Spread::Required(BLOCK), &[Layer { level: RACK, size: 8 }, Layer { level: HOST, size: 2 }]),
    (4, 20, Spread::Unconstrained, &[]),
];

fn fleet(nodes: u32) -> Result<Domains, Box<dyn std::error::Error>> {
    let levels = ["block", "rack", "host"].map(str::to_owned).to_vec();
    let spec = DomainsSpec { levels, leaves_are_nodes: true, resources: 2, pods: Some(PODS), ..DomainsSpec::default() };
    let node = |at: u32| {
        let labels = [("block", "b0".to_owned()), ("rack", format!("r{:03}", at / 64)), ("host", format!("h{at:05}"))];
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let capacity = vec![(CPU, Amount::new(96)), (PODS, Amount::new(110))];
        Node { labels, ready: true, capacity, ..Node::default() }
    };
    Ok(Domains::build(&spec, &(0..nodes).map(node).collect::<Vec<Node>>())?)
}

fn room(domains: &Domains, load: &Load, eligible: &Eligible, kind: &Kind, balanced: bool) -> Result<Room, Refusal> {
    let (count, cpu, spread, slices) = *kind;
    let per_pod = [(CPU, Amount::new(cpu))];
    let (per_pod, leader, within) = (&per_pod[..], None, None);
    let ask = Ask { per_pod, count, leader, spread, slices, eligible, within, balanced };
    Ok(Room::new(domains, load, Plan::new(domains, &ask)?))
}

fn say(what: &str, times: u32, begun: Instant) {
    let nanos = begun.elapsed().as_nanos().max(1);
    let rate = u128::from(times) * 1_000_000_000 / nanos;
    println!("{what}: {times} in {} us, {rate} a second", nanos / 1000);
}

// Counts everything for each placement, and keeps the fleet at about 85 %.
fn counted_each_time(domains: &Domains, eligible: &Eligible, balanced: bool) {
    let (mut load, mut running, mut refused) = (domains.unused(), VecDeque::<(PerPod, Placement)>::new(), 0);
    let (begun, times) = (Instant::now(), 50_000_u32);
    for at in 0..times {
        let (count, cpu, spread, slices) = KINDS[at as usize % KINDS.len()];
        let per_pod = [(CPU, Amount::new(cpu))];
        let set = PodSet { per_pod: &per_pod, count, spread, slices, eligible, group: None };
        let answer = place_all(domains, &mut load, &[set], balanced);
        if let Some(placement) = answer.placed.into_iter().next().flatten() {
            let per_pod = domains.per_pod(&per_pod);
            load.place(domains, &per_pod, &placement);
            running.push_back((per_pod, placement));
        } else {
            refused += 1;
        }
        if running.len() > 700
            && let Some((per_pod, placement)) = running.pop_front()
        {
            load.unplace(domains, &per_pod, &placement);
        }
    }
    let how = if balanced { "balanced where preferred" } else { "greedy" };
    say(&format!("place, counting anew ({how}, {refused} refused)"), times, begun);
}

// One room for each kind, which all follow every change.
fn counted_along(domains: &Domains, eligible: &Eligible, running_max: usize, times: u32) -> Result<(), Refusal> {
    let mut load = domains.unused();
    let rooms = KINDS.iter().map(|kind| room(domains, &load, eligible, kind, false));
    let mut rooms = rooms.collect::<Result<Vec<Room>, Refusal>>()?;
    let (mut running, mut refused) = (VecDeque::<(PerPod, Placement)>::new(), 0);
    let begun = Instant::now();
    for at in 0..times {
        let kind = &rooms[at as usize % KINDS.len()];
        let per_pod = kind.plan().per_pod().clone();
        match kind.place(domains, &load) {
            Ok(placed) => {
                load.place(domains, &per_pod, &placed.pods);
                touch(&mut rooms, domains, &load, &placed.pods);
                running.push_back((per_pod, placed.pods));
            }
            Err(_) => refused += 1,
        }
        if running.len() > running_max
            && let Some((per_pod, placement)) = running.pop_front()
        {
            load.unplace(domains, &per_pod, &placement);
            touch(&mut rooms, domains, &load, &placement);
        }
    }
    let leaves = domains.leaf_count();
    say(&format!("place on {leaves} nodes, counts of {} kinds kept ({refused} refused)", KINDS.len()), times, begun);
    Ok(())
}

fn touch(rooms: &mut [Room], domains: &Domains, load: &Load, placement: &Placement) {
    for (leaf, _) in &placement.0 {
        rooms.iter_mut().for_each(|room| room.touch(domains, load, *leaf));
    }
}

// The fleet is full of single pods; how many must go, in their order, until a large request fits? Then all come back.
fn search(domains: &Domains, eligible: &Eligible, kind: &Kind, name: &str) -> Result<(), Refusal> {
    let mut load = domains.unused();
    let small = domains.per_pod(&[(CPU, Amount::new(6))]);
    let spread: Vec<Placement> =
        (0..10_000_u32).map(|at| Placement(vec![(LeafIx((at * 7919 + at / 640) % 640), 1)])).collect();
    spread.iter().for_each(|placement| load.place(domains, &small, placement));
    let mut room = room(domains, &load, eligible, kind, false)?;
    let (begun, rounds) = (Instant::now(), 20_u32);
    let mut gone = 0;
    for _ in 0..rounds {
        gone = 0;
        while gone < spread.len() && !room.fits(domains) {
            room.remove(domains, &mut load, &small, &spread[gone]);
            gone += 1;
        }
        spread[..gone].iter().for_each(|placement| room.add(domains, &mut load, &small, placement));
    }
    let fits = if gone < spread.len() { "fits" } else { "does not fit" };
    say(&format!("search over 10000 candidates ({name}, {fits} without {gone})"), rounds, begun);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let domains = fleet(640)?;
    say("build the tree of 640 nodes", 1, begun);
    let eligible = domains.eligible(&Needs::default());
    counted_each_time(&domains, &eligible, false);
    counted_each_time(&domains, &eligible, true);
    counted_along(&domains, &eligible, 700, 200_000).map_err(|refusal| format!("{refusal:?}"))?;
    for (name, kind) in [
        ("all of a rack", (64, 96, Spread::Required(RACK), &[][..])),
        ("half the fleet", (320, 96, Spread::Preferred(BLOCK), &[][..])),
        ("all hosts", (640, 96, Spread::Unconstrained, &[][..])),
        ("never", (641, 96, Spread::Unconstrained, &[][..])),
    ] {
        search(&domains, &eligible, &kind, name).map_err(|refusal| format!("{refusal:?}"))?;
    }
    let large = fleet(10_240)?;
    let eligible = large.eligible(&Needs::default());
    counted_along(&large, &eligible, 11_200, 50_000).map_err(|refusal| format!("{refusal:?}"))?;
    Ok(())
}
