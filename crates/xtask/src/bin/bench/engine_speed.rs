//! How fast the engine decides: a seeded mix of sizes on a fleet that is 85 % full, with departures, on one thread.
//!
//! What happens is written down first and then taken again against copies of the inventory, so that making up requests costs
//! nothing of what is measured. One decision is the search with every filter, every node counted by its reason, and the
//! record of it as a struct and as bytes. The rate with a limit has everything in it: besides the decision the claim of what
//! was found, and the releases of those who leave meanwhile. Only the CPU of this thread counts for rates; single decisions
//! are timed one by one for the percentile.

use crate::{
    figure::{Limit, Report, five},
    made_fleet,
    quality::stream::{Happening, Stream, Wish},
};
use engine::{DecisionRecord, Inventory, Occupant, Request, Verdict};
use model::{
    AllocationId, NodeId, SlotId,
    placement::{CoTenancy, Spread},
    supply::SlotState,
};
use rustix::time::{ClockId, clock_gettime};
use std::{hint::black_box, time::Instant};

const LOAD: u64 = 850;
const DECISIONS: usize = 100_000;
const CHUNK: usize = 500;
const SIZES: [u32; 4] = [100, 1_000, 10_000, 100_000];
const PUBLISHED: u32 = 10_000;

/// A fleet in use.
struct Busy {
    inventory: Inventory,
    stream: Stream,
    holders: Vec<Option<(NodeId, AllocationId)>>,
    unused: Vec<u32>,
    asked: u32,
}

/// What happens to an inventory, with everything made ready that is not the engine's work.
#[derive(Clone)]
enum Step {
    Leave(NodeId, AllocationId),
    Ask(Request, Option<(NodeId, Occupant)>),
}

// Requests of many tenants; some name the pool, some belong to a group that wants to be spread, some share with nobody.
fn request(wish: Wish, number: u32) -> Request {
    let mut request = match wish {
        Wish::Slice(gpus) => made_fleet::slice(gpus),
        Wish::BareMetal => made_fleet::bare_metal(),
    };
    let tenant = number % 211;
    (request.tenant_id, request.project_id) = (made_fleet::tenant(tenant), made_fleet::project(tenant));
    if number.is_multiple_of(10) {
        request.pool_id = Some(made_fleet::pool());
    }
    if number % 10 == 3 {
        request.group = Some(format!("group-{}", number % 7));
        request.spread = if number % 20 == 3 { Spread::Require } else { Spread::Prefer };
    }
    if number % 50 == 7 {
        request.co_tenancy = CoTenancy::SameTenant;
    }
    request
}

impl Busy {
    /// A fleet that has been in use long enough to look like one.
    fn new(nodes: u32, seed: u64, load: u64) -> Self {
        let inventory = made_fleet::clean(nodes);
        let stream = Stream::new(seed, u64::from(nodes) * 8, load);
        let mut busy = Self { inventory, stream, holders: vec![], unused: vec![], asked: 0 };
        // Two mean lifetimes of arrivals.
        let arrivals = u64::from(nodes) * 8 * load * 2 * 100 / (1000 * 270);
        for _ in 0..arrivals {
            let (request, lifetime) = busy.next_request();
            if let Some(spot) = busy.inventory.find(&request) {
                busy.claim(&request, lifetime, &spot.node_id, spot.slot_ids);
            }
        }
        busy
    }

    /// The next request; those who leave before it have left.
    fn next_request(&mut self) -> (Request, u64) {
        self.next_request_after(|_| ())
    }

    fn next_request_after(&mut self, mut left: impl FnMut(Step)) -> (Request, u64) {
        loop {
            match self.stream.next() {
                Happening::Departure(holder) => {
                    if let Some((node, allocation)) = self.holders[holder as usize].take() {
                        self.inventory.release(&node, &allocation, SlotState::Available, None);
                        left(Step::Leave(node, allocation));
                    }
                    self.unused.push(holder);
                }
                Happening::Arrival { wish, lifetime } => {
                    self.asked += 1;
                    return (request(wish, self.asked), lifetime);
                }
            }
        }
    }

    fn claim(&mut self, request: &Request, lifetime: u64, node: &NodeId, slot_ids: Vec<SlotId>) -> Option<Occupant> {
        let holder = self.unused.pop().unwrap_or_else(|| {
            self.holders.push(None);
            u32::try_from(self.holders.len() - 1).unwrap_or(u32::MAX)
        });
        let occupant = Occupant {
            tenant_id: request.tenant_id.clone(),
            project_id: request.project_id.clone(),
            group: request.group.clone(),
            co_tenancy: request.co_tenancy,
            ..made_fleet::occupant(holder, slot_ids)
        };
        if self.inventory.claim(node, request.shape, &occupant).is_err() {
            self.unused.push(holder);
            return None;
        }
        self.holders[holder as usize] = Some((node.clone(), occupant.allocation_id.clone()));
        self.stream.stay(holder, lifetime);
        Some(occupant)
    }

    /// Lets requests come, and writes down what happened.
    fn trace(&mut self, requests: usize) -> Vec<Step> {
        let mut steps = Vec::with_capacity(requests * 2);
        for _ in 0..requests {
            let (request, lifetime) = self.next_request_after(|step| steps.push(step));
            let claimed = self.inventory.find(&request).and_then(|spot| {
                let occupant = self.claim(&request, lifetime, &spot.node_id, spot.slot_ids)?;
                Some((spot.node_id, occupant))
            });
            steps.push(Step::Ask(request, claimed));
        }
        steps
    }
}

// One decision with its record, as a struct and as bytes.
fn decide(inventory: &Inventory, request: &Request) -> (Verdict, String) {
    let verdict = inventory.place(request);
    let text = DecisionRecord::new(request, &verdict, inventory.policy_id(), 1, None).to_json();
    (verdict, text)
}

/// Measures rates, percentiles, refusals and growth.
pub fn measure(report: &mut Report) -> Result<(), String> {
    for nodes in SIZES {
        let mut busy = Busy::new(nodes, u64::from(nodes), LOAD);
        let limit = |limit: Limit| if nodes == PUBLISHED { limit } else { Limit::None };
        rates(report, &mut busy, nodes, limit)?;
        percentile(report, &mut busy, nodes, limit)?;
        refusals(report, nodes, limit)?;
    }
    Ok(())
}

// The same steps are taken three times: as they are, with the search, and with the whole decision. The last is what counts;
// what it and the second take longer than the first is told beside it, as the decision and the search alone.
fn rates(report: &mut Report, busy: &mut Busy, nodes: u32, limit: impl Fn(Limit) -> Limit) -> Result<(), String> {
    let (mut with_churn, mut decisions, mut searches) = (vec![], vec![], vec![]);
    for _ in 0..crate::figure::RUNS {
        let before = busy.inventory.clone();
        let steps = busy.trace(DECISIONS);
        let churn = timed(&before, &steps, |_, _| true)?;
        let searching = timed(&before, &steps, |inventory, request| inventory.find(request).is_some())?;
        let deciding = timed(&before, &steps, |inventory, request| {
            let (verdict, text) = black_box(decide(inventory, request));
            text.len() <= engine::record::BYTES_MAX && matches!(verdict, Verdict::Placed(_))
        })?;
        let per_second = |ns: u64| DECISIONS as u64 * 1_000_000_000 / ns.max(1);
        with_churn.push(per_second(deciding));
        decisions.push(per_second(deciding.saturating_sub(churn)));
        searches.push(per_second(searching.saturating_sub(churn)));
    }
    let name = |what: &str| format!("engine_{what}_{nodes}_nodes");
    report.figure(&name("decisions_with_churn"), &with_churn, "decisions/cpu_s", limit(Limit::AtBest(200_000)));
    report.figure(&name("decisions_alone"), &decisions, "decisions/cpu_s", Limit::None);
    report.figure(&name("searches_alone"), &searches, "searches/cpu_s", limit(Limit::AtBest(1_000_000)));
    Ok(())
}

// How long an inventory takes for what happened to a fleet. It happens a little at a time, each time with a fresh copy of
// what was written down: a request that has just come lies in the processor's memory, one of a long list does not.
fn timed(before: &Inventory, steps: &[Step], ask: impl Fn(&Inventory, &Request) -> bool) -> Result<u64, String> {
    let mut inventory = before.clone();
    let mut all = 0;
    for steps in steps.chunks(CHUNK) {
        all += replay(&mut inventory, steps, &ask)?;
    }
    Ok(all)
}

// How long the steps take. A request that was placed when they were written down must be placed again.
fn replay(
    inventory: &mut Inventory,
    steps: &[Step],
    ask: impl Fn(&Inventory, &Request) -> bool,
) -> Result<u64, String> {
    let start = cpu_ns();
    for step in steps {
        match step {
            Step::Leave(node, allocation) => {
                inventory.release(node, allocation, SlotState::Available, None);
            }
            Step::Ask(request, claimed) => {
                let placed = ask(inventory, request);
                if let Some((node, occupant)) = claimed {
                    let done = placed && inventory.claim(node, request.shape, occupant).is_ok();
                    if !done {
                        return Err("the same steps ended otherwise".to_owned());
                    }
                }
            }
        }
    }
    Ok(cpu_ns() - start)
}

fn percentile(report: &mut Report, busy: &mut Busy, nodes: u32, limit: impl Fn(Limit) -> Limit) -> Result<(), String> {
    let runs = five(|| {
        let mut times = Vec::with_capacity(DECISIONS / 5);
        for _ in 0..DECISIONS / 5 {
            let (request, lifetime) = busy.next_request();
            let start = Instant::now();
            let (verdict, text) = decide(&busy.inventory, &request);
            times.push(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
            if text.len() > engine::record::BYTES_MAX {
                return Err(format!("a record of {} bytes", text.len()));
            }
            if let Verdict::Placed(placement) = verdict {
                busy.claim(&request, lifetime, &placement.chosen.node_id, placement.slot_ids);
            }
        }
        times.sort_unstable();
        Ok(times[times.len() * 99 / 100])
    })?;
    report.figure(&format!("engine_decision_p99_{nodes}_nodes"), &runs, "ns", limit(Limit::AtMost(50_000)));
    Ok(())
}

// A fleet on which no whole board is left, asked for whole boards; every answer counts every node.
fn refusals(report: &mut Report, nodes: u32, limit: impl Fn(Limit) -> Limit) -> Result<(), String> {
    let mut busy = Busy::new(nodes, 7, 2 * LOAD);
    let asked = [made_fleet::slice(8), made_fleet::bare_metal(), made_fleet::slice(3)];
    let runs = five(|| {
        // Whoever left meanwhile made room: fill it again.
        while busy.inventory.find(&made_fleet::slice(8)).is_some() {
            let (request, lifetime) = busy.next_request();
            if let Some(spot) = busy.inventory.find(&request) {
                busy.claim(&request, lifetime, &spot.node_id, spot.slot_ids);
            }
        }
        let mut worst = 0;
        for request in asked.iter().cycle().take(300) {
            let start = cpu_ns();
            let (verdict, _) = decide(&busy.inventory, request);
            worst = worst.max(cpu_ns() - start);
            let counted = match verdict {
                Verdict::Refused(refusal) => refusal.nodes_by_reason.values().sum::<u32>(),
                Verdict::Placed(_) => return Err("a full fleet had room".to_owned()),
            };
            if counted != nodes {
                return Err(format!("{counted} of {nodes} nodes counted"));
            }
        }
        Ok(worst)
    })?;
    report.figure(&format!("engine_refusal_worst_{nodes}_nodes"), &runs, "cpu_ns", limit(Limit::AtMost(1_000_000)));
    Ok(())
}

fn cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(used.tv_sec * 1_000_000_000 + used.tv_nsec).unwrap_or(0)
}
