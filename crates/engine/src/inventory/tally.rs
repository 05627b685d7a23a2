//! The numbers behind an answer: every node of the fleet counted once, as fitting or by why it was passed over.

use super::{
    Inventory,
    domain::{Order, OwnOrder},
    kind::{Kind, Outcome, SlotStatus},
    node::key_of,
    search::{Ask, Share},
};
use crate::{
    board::count,
    place::{Considered, REASONS, Reason, Refusal, Release, Request, SlotCounts},
};
use model::{Timestamp, placement::Spread, sku::CapacityShape, supply::GpuModel};
use std::collections::BTreeMap;
use topology::ModuleId;

/// Every node of the fleet, counted once.
pub(super) struct Tally {
    pub(super) nodes_fitting: u32,
    pub(super) sets: u32,
    by_reason: [u32; REASONS],
}

impl Tally {
    fn add(&mut self, reason: Reason, nodes: u32) {
        let number = &mut self.by_reason[reason as usize];
        *number = number.saturating_add(nodes);
    }

    // Nodes that would fit, and do not for this reason.
    fn shut(&mut self, reason: Reason, nodes: u32, sets: u32) {
        self.nodes_fitting = self.nodes_fitting.saturating_sub(nodes);
        self.sets = self.sets.saturating_sub(sets);
        self.add(reason, nodes);
    }

    // What was counted as the nodes came.
    fn add_counted(&mut self, ask: &Ask<'_>, order: &Order, own: Option<&OwnOrder>) {
        for (at, (pool, answers)) in ask.domain.pools.iter().zip(order.answers()).enumerate() {
            let own = own.map(|own| own.in_pool(at)).unwrap_or_default();
            let (fits, would) = answers.fitting(own, ask.request.co_tenancy);
            if ask.pool.is_some_and(|wanted| wanted != *pool) {
                self.add(Reason::OtherPool, answers.by_reason.iter().sum::<u32>() + would.nodes);
                continue;
            }
            for (number, here) in self.by_reason.iter_mut().zip(answers.by_reason) {
                *number = number.saturating_add(here);
            }
            self.nodes_fitting = self.nodes_fitting.saturating_add(fits.nodes);
            self.sets = self.sets.saturating_add(fits.sets);
            self.add(Reason::CoTenancy, would.nodes - fits.nodes);
        }
    }

    /// The reasons that hold for any node.
    pub(super) fn reasons(&self) -> BTreeMap<Reason, u32> {
        let all = Reason::ALL.iter().zip(self.by_reason);
        all.filter(|(_, nodes)| *nodes > 0).map(|(reason, nodes)| (*reason, nodes)).collect()
    }
}

impl Inventory {
    pub(super) fn domain_of(&self, request: &Request) -> Option<usize> {
        self.domain_numbers.get(&(key_of(request.region_id.as_str()), request.gpu_model)).copied()
    }

    /// Counts the fleet for a size that some board knows.
    pub(super) fn tally(&self, ask: &Ask<'_>, order: usize) -> Tally {
        let mut tally = self.tally_elsewhere(ask.request);
        match ask.domain.order_at(order) {
            Some(counted) if !ask.keeps_whole() || ask.domain.whole_nodes == 0 => {
                tally.add_counted(ask, counted, ask.domain.own(ask.tenant, order));
            }
            _ => tally_by_kind(ask, order, &mut tally),
        }
        self.tally_group(ask, order, &mut tally);
        tally
    }

    // The nodes that are in another region or have other GPUs.
    fn tally_elsewhere(&self, request: &Request) -> Tally {
        let mut tally = Tally { nodes_fitting: 0, sets: 0, by_reason: [0; REASONS] };
        let region = key_of(request.region_id.as_str());
        let of_model = |model| self.domain_numbers.get(&(region, model)).map_or(0, |at| self.domains[*at].nodes);
        let in_region: u32 = GpuModel::ALL.iter().copied().map(of_model).sum();
        let here = of_model(request.gpu_model);
        tally.add(Reason::OtherRegion, count(self.len()) - in_region);
        tally.add(Reason::OtherGpuModel, in_region - here);
        tally
    }

    // Moves the nodes that the request shuts out for its group's sake.
    fn tally_group(&self, ask: &Ask<'_>, order: usize, tally: &mut Tally) {
        let Some(group) = ask.group else { return };
        let sets_of = |at: usize| {
            let node = self.nodes[at].as_ref()?;
            match ask.domain.class(node.class as usize).outcomes.get(order)? {
                Outcome::Offer(offer) => Some(offer.sets),
                Outcome::Passed { .. } => None,
            }
        };
        let usable = group.iter().filter(|at| self.usable(ask, order, **at).is_some());
        let (mut nodes, mut sets) = (0u32, 0u32);
        for at in usable {
            nodes += 1;
            sets = sets.saturating_add(sets_of(*at).unwrap_or(0));
        }
        match ask.request.spread {
            Spread::Require => tally.shut(Reason::SameGroup, nodes, sets),
            Spread::SameNode => {
                let (others, their_sets) = (tally.nodes_fitting - nodes, tally.sets - sets);
                tally.shut(Reason::NotWithGroup, others, their_sets);
            }
            Spread::None | Spread::Prefer | Spread::Near => (),
        }
    }

    /// Everything there is to say about a request that fits nowhere.
    pub(super) fn refuse(&self, request: &Request) -> Refusal {
        let Some(ask) = self.ask_any(request) else {
            return self.refusal(&self.tally_elsewhere(request));
        };
        let tally = match ask.domain.order(ask.wanted) {
            Some((order, _)) => self.tally(&ask, order),
            None => self.tally_odd_size(&ask),
        };
        let mut refusal = self.refusal(&tally);
        self.measure(&ask, &mut refusal);
        refusal
    }

    // No board has a set of this size, so every node is passed over before sharing and groups are looked at.
    fn tally_odd_size(&self, ask: &Ask<'_>) -> Tally {
        let mut tally = self.tally_elsewhere(ask.request);
        for class in ask.domain.live() {
            let nodes = class.nodes;
            let board = &self.boards[class.kind.board];
            match class.kind.judge(board, ask.wanted, &self.policy.weights) {
                _ if !ask.in_pool(class) => tally.add(Reason::OtherPool, nodes),
                Outcome::Passed { reason, .. } => tally.add(reason, nodes),
                Outcome::Offer(_) => tally.nodes_fitting += nodes,
            }
        }
        tally
    }

    fn refusal(&self, tally: &Tally) -> Refusal {
        Refusal {
            considered: Considered { nodes: count(self.len()), nodes_fitting: tally.nodes_fitting, sets: tally.sets },
            nodes_by_reason: tally.reasons(),
            slots: SlotCounts::default(),
            free_gpus: 0,
            largest_set: 0,
            sets_wanted: vec![],
            release: None,
            one_step: BTreeMap::new(),
            blocked_since: None,
        }
    }

    // What the nodes that were asked about have, whatever the size.
    fn measure(&self, ask: &Ask<'_>, refusal: &mut Refusal) {
        let order = ask.domain.order(ask.wanted).map(|(order, _)| order);
        let mut boards: BTreeMap<usize, u32> = BTreeMap::new();
        refusal.one_step = self.one_step(ask, order, &refusal.nodes_by_reason);
        for class in ask.domain.live().filter(|class| ask.in_pool(class)) {
            let (kind, board, nodes) = (&class.kind, &self.boards[class.kind.board], class.nodes);
            *boards.entry(kind.board).or_default() += nodes;
            refusal.slots.add(kind, nodes);
            if kind.takes_new_work(ask.wanted.shape) {
                let free = kind.tally(SlotStatus::Free).saturating_mul(nodes);
                refusal.free_gpus = refusal.free_gpus.saturating_add(free);
                let together = match ask.wanted.shape {
                    CapacityShape::Baremetal if class.wholly_free => board.len(),
                    CapacityShape::Baremetal => 0,
                    CapacityShape::GpuSlice => kind.free_sets(board).map(|set| set.size).max().unwrap_or(0),
                };
                refusal.largest_set = refusal.largest_set.max(together);
            }
            if let Some(Outcome::Passed { release: Some(gpus), .. }) = order.and_then(|at| class.outcomes.get(at)) {
                refusal.release = Some(least(refusal.release, Release { gpus: *gpus, nodes }));
            }
        }
        let common =
            boards.into_iter().max_by_key(|(board, nodes)| (*nodes, std::cmp::Reverse(self.sets_of(*board, ask))));
        refusal.sets_wanted = common.map(|(board, _)| self.sets_of(board, ask)).unwrap_or_default();
        refusal.blocked_since = self.blocked_since(ask);
    }

    // The nodes that would do if the one reason against them fell.
    fn one_step(&self, ask: &Ask<'_>, order: Option<usize>, passed: &BTreeMap<Reason, u32>) -> BTreeMap<Reason, u32> {
        // These hold only where everything else is right.
        let last = [Reason::KeptWhole, Reason::CoTenancy, Reason::SameGroup, Reason::NotWithGroup];
        let mut steps: BTreeMap<Reason, u32> =
            last.iter().filter_map(|reason| Some((*reason, *passed.get(reason)?))).collect();
        let Some(order) = order else { return steps };
        for class in ask.domain.live() {
            let nodes = class.nodes;
            match class.outcomes.get(order) {
                Some(Outcome::Passed { reason, one_step: true, .. }) if ask.in_pool(class) => {
                    *steps.entry(*reason).or_default() += nodes;
                }
                Some(Outcome::Offer(_)) if !ask.in_pool(class) && ask.share(class) == Share::All => {
                    *steps.entry(Reason::OtherPool).or_default() += nodes;
                }
                _ => (),
            }
        }
        steps
    }

    // The sets that would do on one board, where there is something to say about them.
    fn sets_of(&self, board: usize, ask: &Ask<'_>) -> Vec<Vec<ModuleId>> {
        let board = &self.boards[board];
        let wanted = ask.wanted;
        if wanted.shape == CapacityShape::Baremetal || wanted.size < 2 || wanted.size >= board.len() {
            return vec![];
        }
        board.sets.iter().filter(|set| set.size == wanted.size).map(|set| board.modules_in(set.mask)).collect()
    }

    fn blocked_since(&self, ask: &Ask<'_>) -> Option<Timestamp> {
        let mut all = ask.domain.blocked.keys();
        match ask.pool {
            Some(pool) => all.find(|(of, _)| *of == pool).map(|(_, since)| *since),
            None => all.map(|(_, since)| *since).min(),
        }
    }
}

// The same kind by kind, because the policy holds some of them back.
fn tally_by_kind(ask: &Ask<'_>, order: usize, tally: &mut Tally) {
    for class in ask.domain.live() {
        let nodes = class.nodes;
        match class.outcomes.get(order) {
            _ if !ask.in_pool(class) => tally.add(Reason::OtherPool, nodes),
            Some(Outcome::Passed { reason, .. }) => tally.add(*reason, nodes),
            None => tally.add(Reason::NoSuchSet, nodes),
            Some(Outcome::Offer(offer)) => {
                let (open, reason) = match ask.share(class) {
                    Share::All => (nodes, Reason::CoTenancy),
                    Share::Own => (class.members_of(ask.tenant).map_or(0, |own| count(own.len())), Reason::CoTenancy),
                    Share::None(reason) => (0, reason),
                };
                tally.nodes_fitting = tally.nodes_fitting.saturating_add(open);
                tally.sets = tally.sets.saturating_add(open.saturating_mul(offer.sets));
                tally.add(reason, nodes - open);
            }
        }
    }
}

impl SlotCounts {
    fn add(&mut self, kind: &Kind, nodes: u32) {
        let slots = |status| kind.tally(status).saturating_mul(nodes);
        let add = |number: &mut u32, status| *number = number.saturating_add(slots(status));
        add(&mut self.free, SlotStatus::Free);
        add(&mut self.claimed, SlotStatus::Claimed);
        add(&mut self.wiping, SlotStatus::Wiping);
        add(&mut self.cleanup_blocked, SlotStatus::CleanupBlocked);
        add(&mut self.drifted, SlotStatus::Drifted);
        add(&mut self.incomplete, SlotStatus::Incomplete);
        add(&mut self.disabled, SlotStatus::Disabled);
    }
}

// The smaller release, with the nodes of both where they are the same.
fn least(known: Option<Release>, other: Release) -> Release {
    match known {
        Some(known) if known.gpus < other.gpus => known,
        Some(known) if known.gpus == other.gpus => Release { nodes: known.nodes.saturating_add(other.nodes), ..known },
        _ => other,
    }
}
