//! Orders about the host itself: look at it, plan, compare it with its claims, fetch an image.
//!
//! Each may be done twice without harm, so nothing is written down before it: interrupted, it is simply done again. Looking
//! and planning change nothing. A comparison does, and therefore is told what it has to leave alone: guests that another order
//! is about, and slots for which the agent knows of something newer than the comparison does.

use crate::{
    book::{Book, Mark},
    host::{Host, HostFault, Watch},
    journal::Outcome,
};
use api::node_plane::{REPORT_BYTES_MAX, TaskReport};
use model::{
    AllocationId, SlotId,
    task::{PlanSlot, ReconcileClaim, ReconcileOrder, Task, TaskFailure, TaskInput, TaskResult, TaskSlot},
};
use std::collections::BTreeSet;

/// Carries one out. `busy` matters to comparisons alone.
pub(crate) fn look(
    task: &Task,
    busy: &[AllocationId],
    host: &impl Host,
    watch: &dyn Watch,
) -> (TaskResult, Option<TaskReport>) {
    let discovered = || host.capture().map(|tree| topology::discover(&tree));
    let report = match &task.input {
        TaskInput::SliceTopologyDiscover {} => {
            discovered().map(|discovery| Some(TaskReport::SliceTopologyDiscover(Box::new(discovery))))
        }
        TaskInput::NodeReadiness {} => {
            discovered().map(|seen| Some(TaskReport::NodeReadiness(Box::new(topology::readiness(&seen)))))
        }
        TaskInput::SlicePlan(order) => host.plan(order).map(|plan| Some(TaskReport::SlicePlan(Box::new(plan)))),
        TaskInput::SliceReconcile(order) => {
            let compared = host.reconcile(order, busy, watch);
            compared.map(|report| Some(TaskReport::SliceReconcile(Box::new(report))))
        }
        TaskInput::ImagePrefetch { image } => host.prefetch(image, watch).map(|()| None),
        TaskInput::SliceVmProvision(_)
        | TaskInput::SliceVmRelease(_)
        | TaskInput::SliceVmNotice(_)
        | TaskInput::MachineDeploy(_)
        | TaskInput::MachineReclaim(_) => Err(HostFault::of(TaskFailure::UnknownKind, "The order is about a guest.")),
    };
    match report.and_then(fitting) {
        Ok(report) => (TaskResult::done(task), report),
        Err(fault) => (failed(task, &fault), None),
    }
}

/// The answer that it did not work.
pub(crate) fn failed(task: &Task, fault: &HostFault) -> TaskResult {
    let usual = match &task.input {
        TaskInput::SliceReconcile(_) => TaskFailure::ReconcileFailed,
        TaskInput::ImagePrefetch { .. } => TaskFailure::ImageRefused,
        TaskInput::SliceVmNotice(_) => TaskFailure::NoticeFailed,
        _ => TaskFailure::NotReadable,
    };
    let Outcome { failure, text, refusals, .. } = Outcome::failed(fault);
    TaskResult { refusals, ..TaskResult::failed(task.id.clone(), task.fence, failure.unwrap_or(usual), text) }
}

// A report that would be refused is worse than none: it would be held against the node, and sent for ever.
fn fitting(report: Option<TaskReport>) -> Result<Option<TaskReport>, HostFault> {
    match serde_json::to_vec(&report).map(|json| json.len()) {
        Ok(bytes) if bytes <= REPORT_BYTES_MAX => Ok(report),
        Ok(bytes) => Err(HostFault::new(format!("What was seen takes {bytes} bytes, more than a report may."))),
        Err(error) => Err(HostFault::new(format!("What was seen cannot be written: {error}."))),
    }
}

/// What a comparison may act on, and the allocations that it has to leave alone.
///
/// The order tells who held what when it was given. Since then the agent may have taken orders that the control plane gave
/// later: their guests are nobody's concern here, and neither are their slots. Ids are ordered by time, and within one
/// incarnation of the store an order with a later id was given later.
pub(crate) fn reconcile_scope(book: &Book, task: &Task, order: &ReconcileOrder) -> (ReconcileOrder, Vec<AllocationId>) {
    let given_later = |mark: &Mark| mark.rank.incarnation >= task.fence.incarnation && mark.task_id > task.id;
    let open = || book.open().values().filter_map(|open| open.task.input.guest_held());
    let later = || book.marks().iter().filter(|(_, mark)| given_later(mark));
    let outdated = |slot: &TaskSlot| book.marks().get(&slot.slot_id).is_some_and(|mark| is_past(mark, task, slot));
    let mut busy: BTreeSet<AllocationId> = open().map(|(id, _)| id.clone()).collect();
    busy.extend(later().filter_map(|(_, mark)| mark.allocation_id.clone()));
    let past = order.claims.iter().filter(|claim| claim.slots.iter().any(outdated));
    busy.extend(past.map(|claim| claim.allocation_id.clone()));
    let mut taken: BTreeSet<&SlotId> = open().flat_map(|(_, slots)| slots).map(|slot| &slot.slot_id).collect();
    taken.extend(later().map(|(slot_id, _)| slot_id));
    let should_run = |claim: &ReconcileClaim| claim.should_run && !busy.contains(&claim.allocation_id);
    let claims = order.claims.iter().map(|claim| ReconcileClaim { should_run: should_run(claim), ..claim.clone() });
    let free = |slot: &&PlanSlot| !taken.contains(&slot.slot_id);
    let scope = ReconcileOrder { claims: claims.collect(), slots: order.slots.iter().filter(free).cloned().collect() };
    (scope, busy.into_iter().collect())
}

// Whether the use that a claim tells of has ended, or begun to, as far as the agent knows.
fn is_past(mark: &Mark, task: &Task, slot: &TaskSlot) -> bool {
    let told = (task.fence.incarnation, slot.use_generation);
    let known = (mark.rank.incarnation, mark.rank.generation);
    known > told || (known == told && mark.rank.ends_use)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Record;
    use model::{
        NodeId, TaskId, Timestamp,
        guest::{SlotBundle, SlotShare},
        task::{Fence, GuestOrder},
    };
    use std::net::Ipv4Addr;

    const AT: Timestamp = Timestamp::from_micros(0);

    fn allocation(n: u8) -> AllocationId {
        AllocationId::from_parts(AT, [n; 10])
    }

    fn slot(n: u8, use_generation: i64) -> TaskSlot {
        TaskSlot { slot_id: SlotId::from_parts(AT, [n; 10]), use_generation, nonce: None, bundle: None }
    }

    // The order of this second; ids are ordered by it.
    fn task(second: i64, incarnation: i64, input: TaskInput) -> Task {
        Task {
            id: TaskId::from_parts(AT.plus_seconds(second), [1; 10]),
            node_id: NodeId::from_parts(AT, [1; 10]),
            input,
            fence: Fence { incarnation, generation: 0, attempt: second },
            deadline: AT,
        }
    }

    fn guest(n: u8, use_generation: i64) -> GuestOrder {
        GuestOrder { allocation_id: allocation(n), slots: vec![slot(n, use_generation)], guest: None, grace_s: None }
    }

    fn claim(n: u8, use_generation: i64) -> ReconcileClaim {
        ReconcileClaim { allocation_id: allocation(n), slots: vec![slot(n, use_generation)], should_run: true }
    }

    fn approved(n: u8) -> PlanSlot {
        let share = SlotShare { vcpus: 1, memory_mib: 1, hugepage_kib: None, disk_bytes_min: 1 };
        let bundle = SlotBundle {
            profile: "lab-vm".to_owned(),
            gpu: None,
            gpu_module_id: None,
            fabric: None,
            disk_identity: String::new(),
            mac: String::new(),
            ip: Ipv4Addr::LOCALHOST,
            numa_node: 0,
            share,
        };
        PlanSlot { slot_id: slot(n, 0).slot_id, bundle }
    }

    fn book(tasks: &[(Task, bool)]) -> Book {
        let mut book = Book::default();
        for (task, ended) in tasks {
            book.apply(&Record::Accepted { task: task.clone() });
            if *ended {
                book.apply(&Record::Finished { result: TaskResult::done(task), report: None });
            }
        }
        book
    }

    // Which allocations are left alone, which claims should run, and which slots are looked after.
    fn scope(tasks: &[(Task, bool)], claims: Vec<ReconcileClaim>) -> (Vec<AllocationId>, Vec<bool>, usize) {
        let order = ReconcileOrder { claims, slots: vec![approved(1), approved(2)] };
        let compare = task(10, 1, TaskInput::SliceReconcile(order.clone()));
        let (scope, busy) = reconcile_scope(&book(tasks), &compare, &order);
        (busy, scope.claims.iter().map(|claim| claim.should_run).collect(), scope.slots.len())
    }

    #[test]
    fn what_nobody_ordered_since_is_compared_as_it_was_told() {
        let up = task(5, 1, TaskInput::SliceVmProvision(guest(1, 3)));
        assert_eq!(scope(&[(up, true)], vec![claim(1, 3)]), (vec![], vec![true], 2));
        assert_eq!(scope(&[], vec![]), (vec![], vec![], 2));
    }

    #[test]
    fn an_open_order_keeps_its_guest_and_its_slots_out() {
        for input in [TaskInput::SliceVmProvision(guest(1, 3)), TaskInput::SliceVmRelease(guest(1, 3))] {
            let open = task(5, 1, input);
            assert_eq!(scope(&[(open, false)], vec![claim(1, 3)]), (vec![allocation(1)], vec![false], 1));
        }
    }

    #[test]
    fn a_guest_that_was_ordered_after_the_comparison_is_no_stray() {
        let later = task(11, 1, TaskInput::SliceVmProvision(guest(1, 3)));
        assert_eq!(scope(&[(later, true)], vec![]), (vec![allocation(1)], vec![], 1));
        let earlier = task(9, 1, TaskInput::SliceVmProvision(guest(1, 3)));
        assert_eq!(scope(&[(earlier, true)], vec![]), (vec![], vec![], 2), "nobody holds it any more");
        let before_a_restore = task(11, 0, TaskInput::SliceVmProvision(guest(1, 3)));
        assert_eq!(scope(&[(before_a_restore, true)], vec![]), (vec![], vec![], 2), "the store has forgotten it");
    }

    #[test]
    fn a_claim_on_a_use_that_has_ended_here_is_not_missed() {
        let ended = task(9, 1, TaskInput::SliceVmRelease(guest(1, 3)));
        assert_eq!(scope(&[(ended.clone(), true)], vec![claim(1, 3)]), (vec![allocation(1)], vec![false], 2));
        assert_eq!(scope(&[(ended, true)], vec![claim(1, 4)]), (vec![], vec![true], 2), "the next use is not over");
    }

    #[test]
    fn what_is_known_of_a_slot_survives_a_rewrite() {
        let later = task(11, 1, TaskInput::SliceVmProvision(guest(1, 3)));
        let before = book(&[(later, true)]);
        let mut again = Book::default();
        before.records(&NodeId::from_parts(AT, [1; 10])).iter().for_each(|record| again.apply(record));
        assert_eq!(again, before);
        let order = ReconcileOrder { claims: vec![], slots: vec![] };
        let compare = task(10, 1, TaskInput::SliceReconcile(order.clone()));
        assert_eq!(reconcile_scope(&again, &compare, &order).1, [allocation(1)]);
    }
}
