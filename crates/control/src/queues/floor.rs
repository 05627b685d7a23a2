//! Where governed work would lie: the leader's picture of the fleet, asked what would fit if some workloads were gone. All that
//! is tried on the picture is undone: after a search by the search's place, after a cycle by the floor itself. What is really
//! taken is taken later, when a verdict is decided and committed like any other.
//!
//! A slot that is being wiped is nobody's and will be free. Quota does not count it any more, so a workload may find its quota
//! free and no place yet. It then waits, and stops nobody: a search sees such slots as free.

use std::collections::{BTreeMap, BTreeSet};

use engine::{Kept, Occupant, Request, Verdict};
use govern::{
    cycle::{Floor, Placing},
    preempt::{Part, Place},
    workload::WorkloadIx,
};
use model::{AllocationId, NodeId, SlotId, Timestamp, supply::SlotState};

use crate::snapshot::Snapshot;

/// What a floor has to know about workloads.
pub(super) trait Tenancy {
    /// What each member of a workload that waits asks for, with the flavor that it would get.
    fn request(&self, asked: &Placing<'_>) -> Option<Request>;
    /// The allocations of one that runs.
    fn allocations(&self, workload: WorkloadIx) -> &[AllocationId];
}

/// Nodes as they were before something was tried on them.
#[derive(Default)]
pub(super) struct Before {
    nodes: BTreeMap<NodeId, Kept>,
    placed: u32,
}

impl Before {
    fn keep(&mut self, snapshot: &Snapshot, node: &NodeId) {
        if !self.nodes.contains_key(node)
            && let Some(kept) = snapshot.inventory.keep(node)
        {
            self.nodes.insert(node.clone(), kept);
        }
    }

    /// These are gone, and what they had is free.
    pub(super) fn leave(&mut self, snapshot: &mut Snapshot, allocations: &[AllocationId]) {
        for allocation in allocations {
            if let Some(node) = snapshot.node_of(allocation).cloned() {
                self.keep(snapshot, &node);
                snapshot.inventory.release(&node, allocation, SlotState::Available, None);
            }
        }
    }

    /// These slots are free.
    pub(super) fn free(&mut self, snapshot: &mut Snapshot, node: &NodeId, slots: &[SlotId]) {
        self.keep(snapshot, node);
        snapshot.inventory.turn(node, slots, SlotState::Available, None);
    }

    /// As many members as find a place have one; says where.
    pub(super) fn place(
        &mut self,
        snapshot: &mut Snapshot,
        request: &Request,
        members: usize,
    ) -> Vec<(NodeId, Vec<SlotId>)> {
        let mut places = vec![];
        for _ in 0..members {
            let Verdict::Placed(found) = snapshot.inventory.place(request) else { break };
            let node = found.chosen.node_id;
            self.keep(snapshot, &node);
            self.placed += 1;
            let occupant = stand_in(request, self.placed, found.slot_ids.clone());
            if snapshot.inventory.claim(&node, request.shape, &occupant).is_err() {
                break;
            }
            places.push((node, found.slot_ids));
        }
        places
    }

    /// Makes everything as it was.
    pub(super) fn restore(self, snapshot: &mut Snapshot) {
        self.nodes.into_values().for_each(|kept| snapshot.inventory.put_back(kept));
    }
}

/// The picture, with what a cycle has promised so far.
pub(super) struct PictureFloor<'a> {
    snapshot: &'a mut Snapshot,
    tenancy: &'a dyn Tenancy,
    before: Before,
}

impl<'a> PictureFloor<'a> {
    pub(super) fn new(snapshot: &'a mut Snapshot, tenancy: &'a dyn Tenancy) -> Self {
        Self { snapshot, tenancy, before: Before::default() }
    }

    fn count(asked: &Placing<'_>) -> u32 {
        asked.assignment.pod_sets.iter().fold(0_u32, |sum, set| sum.saturating_add(set.count)).max(1)
    }
}

impl Floor for PictureFloor<'_> {
    fn place<'p>(&'p mut self, asked: &Placing<'_>) -> Box<dyn Place + 'p> {
        let request = self.tenancy.request(asked);
        Box::new(Trial {
            count: Self::count(asked),
            request,
            snapshot: &mut *self.snapshot,
            tenancy: self.tenancy,
            before: BTreeMap::new(),
            gone: BTreeMap::new(),
            searching: false,
        })
    }

    fn is_possible(&mut self, asked: &Placing<'_>) -> bool {
        let request = self.tenancy.request(asked);
        request.is_some_and(|request| self.snapshot.could_ever_place(&request, Self::count(asked)))
    }

    fn occupy(&mut self, asked: &Placing<'_>, gone: &[WorkloadIx]) {
        for workload in gone {
            self.before.leave(self.snapshot, self.tenancy.allocations(*workload));
        }
        if let Some(request) = self.tenancy.request(asked) {
            self.before.place(self.snapshot, &request, Self::count(asked) as usize);
        }
    }
}

impl Drop for PictureFloor<'_> {
    fn drop(&mut self) {
        std::mem::take(&mut self.before).restore(self.snapshot);
    }
}

// Somebody who holds slots in the picture while something is tried.
fn stand_in(request: &Request, number: u32, slot_ids: Vec<SlotId>) -> Occupant {
    let mut bits = [0; 10];
    bits[6..].copy_from_slice(&number.to_be_bytes());
    Occupant {
        allocation_id: AllocationId::from_parts(Timestamp::from_micros(0), bits),
        tenant_id: request.tenant_id.clone(),
        project_id: request.project_id.clone(),
        group: request.group.clone(),
        co_tenancy: request.co_tenancy,
        slot_ids,
    }
}

/// One search: the picture with some workloads gone.
struct Trial<'a> {
    snapshot: &'a mut Snapshot,
    tenancy: &'a dyn Tenancy,
    request: Option<Request>,
    count: u32,
    // As the nodes were before the search.
    before: BTreeMap<NodeId, Kept>,
    gone: BTreeMap<NodeId, BTreeSet<AllocationId>>,
    searching: bool,
}

impl Trial<'_> {
    // From the first question about others on, what is being wiped counts as free.
    fn search(&mut self) {
        if self.searching {
            return;
        }
        self.searching = true;
        for node in self.snapshot.wiping().keys().cloned().collect::<Vec<_>>() {
            self.redo(&node);
        }
    }

    // A node as it was, without those that are gone from it now.
    fn redo(&mut self, node: &NodeId) {
        let Some(kept) = self.before.get(node).cloned().or_else(|| self.snapshot.inventory.keep(node)) else { return };
        self.before.insert(node.clone(), kept.clone());
        self.snapshot.inventory.put_back(kept);
        for allocation in self.gone.get(node).into_iter().flatten() {
            self.snapshot.inventory.release(node, allocation, SlotState::Available, None);
        }
        if let Some(slots) = self.snapshot.wiping().get(node).cloned() {
            self.snapshot.inventory.turn(node, &slots, SlotState::Available, None);
        }
    }

    fn places_of(&self, workload: WorkloadIx) -> BTreeMap<NodeId, Vec<AllocationId>> {
        let mut places: BTreeMap<NodeId, Vec<AllocationId>> = BTreeMap::new();
        for allocation in self.tenancy.allocations(workload) {
            if let Some(node) = self.snapshot.node_of(allocation) {
                places.entry(node.clone()).or_default().push(allocation.clone());
            }
        }
        places
    }
}

impl Place for Trial<'_> {
    fn take(&mut self, workload: WorkloadIx, _: Part) {
        self.search();
        for (node, allocations) in self.places_of(workload) {
            self.gone.entry(node.clone()).or_default().extend(allocations);
            self.redo(&node);
        }
    }

    fn put_back(&mut self, workload: WorkloadIx, _: Part) {
        for (node, allocations) in self.places_of(workload) {
            if let Some(gone) = self.gone.get_mut(&node) {
                gone.retain(|allocation| !allocations.contains(allocation));
            }
            self.redo(&node);
        }
    }

    fn is_found(&mut self) -> bool {
        let Some(request) = self.request.clone() else { return false };
        let mut tried: BTreeMap<NodeId, Kept> = BTreeMap::new();
        let mut found = true;
        for number in 1..=self.count {
            let Verdict::Placed(spot) = self.snapshot.inventory.place(&request) else {
                found = false;
                break;
            };
            if number == self.count {
                break;
            }
            let node = spot.chosen.node_id;
            if !tried.contains_key(&node)
                && let Some(kept) = self.snapshot.inventory.keep(&node)
            {
                tried.insert(node.clone(), kept);
            }
            let occupant = stand_in(&request, u32::MAX - number, spot.slot_ids);
            found &= self.snapshot.inventory.claim(&node, request.shape, &occupant).is_ok();
        }
        tried.into_values().for_each(|kept| self.snapshot.inventory.put_back(kept));
        found
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        for kept in std::mem::take(&mut self.before).into_values() {
            self.snapshot.inventory.put_back(kept);
        }
    }
}
