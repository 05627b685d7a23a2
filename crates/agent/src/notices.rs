//! Guests that were told that they will be stopped, and are waited for.
//!
//! The host answers at once what it knows, so an order to tell a guest is looked at again every second: until the guest says that
//! it is ready, until the time at which it is stopped has come, or until nobody waits for the answer any more. Nothing of this
//! is written down but the answer. An agent that was interrupted asks the host once more, which tells the guest once more if
//! it has to.

use crate::{host::HostFault, looks};
use model::{
    TaskId, Timestamp,
    notice::NoticeSeen,
    task::{Task, TaskInput, TaskResult},
};
use std::collections::BTreeMap;

// Seconds between two looks.
const LOOK_S: i64 = 1;
// A host that cannot say anything this many times in a row will not.
const FAULTS_MAX: u32 = 5;

/// The orders that wait for a guest.
#[derive(Debug, Default)]
pub(crate) struct Notices(BTreeMap<TaskId, Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: Timestamp,
    seen: NoticeSeen,
    faults: u32,
}

/// What follows from a look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Noticed {
    /// The order waits on.
    LookAgain,
    /// This is its answer.
    Over(Box<TaskResult>),
}

impl Notices {
    /// Whether nobody is waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an order may be looked at now; any that waits for nobody may. A clock that went back is not waited for.
    pub(crate) fn is_due(&self, task_id: &TaskId, now: Timestamp) -> bool {
        self.0.get(task_id).is_none_or(|waiting| now >= waiting.next || now.plus_seconds(LOOK_S) < waiting.next)
    }

    /// A guest was told, or looked at again.
    pub(crate) fn looked(&mut self, task: &Task, seen: Result<NoticeSeen, HostFault>, now: Timestamp) -> Noticed {
        let waiting = self.0.entry(task.id.clone()).or_default();
        waiting.next = now.plus_seconds(LOOK_S);
        match seen {
            Ok(seen) => (waiting.seen, waiting.faults) = (waiting.seen.and(seen), 0),
            Err(fault) => {
                waiting.faults += 1;
                // What was seen before counts more than that nothing can be seen now.
                if waiting.seen == NoticeSeen::default() && (waiting.faults >= FAULTS_MAX || is_over(task, now)) {
                    return Noticed::Over(Box::new(looks::failed(task, &fault)));
                }
            }
        }
        if waiting.seen.checkpointed || is_over(task, now) {
            return Noticed::Over(Box::new(TaskResult { notice: Some(waiting.seen), ..TaskResult::done(task) }));
        }
        Noticed::LookAgain
    }

    /// The order has its answer.
    pub(crate) fn forget(&mut self, task_id: &TaskId) {
        self.0.remove(task_id);
    }
}

fn is_over(task: &Task, now: Timestamp) -> bool {
    let stops = match &task.input {
        TaskInput::SliceVmNotice(order) => order.notice.stop_at,
        _ => task.deadline,
    };
    now >= stops.min(task.deadline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        AllocationId, NodeId,
        notice::{StopNotice, StopReason},
        task::{Fence, NoticeOrder, TaskFailure},
    };

    const AT: Timestamp = Timestamp::from_micros(0);
    const NOBODY: NoticeSeen = NoticeSeen { delivered: false, checkpointed: false };
    const LISTENS: NoticeSeen = NoticeSeen { delivered: true, checkpointed: false };
    const READY: NoticeSeen = NoticeSeen { delivered: true, checkpointed: true };

    fn task(stop_s: i64, deadline_s: i64) -> Task {
        let notice = StopNotice { stop_at: AT.plus_seconds(stop_s), reason: StopReason::Preempted, by: None };
        let order = NoticeOrder { allocation_id: AllocationId::from_parts(AT, [1; 10]), slots: vec![], notice };
        Task {
            id: TaskId::from_parts(AT, [1; 10]),
            node_id: NodeId::from_parts(AT, [1; 10]),
            input: TaskInput::SliceVmNotice(order),
            fence: Fence { incarnation: 1, generation: 1, attempt: 2 },
            deadline: AT.plus_seconds(deadline_s),
        }
    }

    // Looks once a second from the first second on; the answer, and the second in which it was there.
    fn answered(task: &Task, looks: &[Result<NoticeSeen, HostFault>]) -> (TaskResult, i64) {
        let mut notices = Notices::default();
        for (second, look) in (1..).zip(looks) {
            let now = AT.plus_seconds(second);
            assert!(notices.is_due(&task.id, now));
            if let Noticed::Over(result) = notices.looked(task, look.clone(), now) {
                return (*result, second);
            }
            assert!(!notices.is_due(&task.id, now), "not twice in one second");
        }
        panic!("no answer after {looks:?}");
    }

    fn fault() -> Result<NoticeSeen, HostFault> {
        Err(HostFault::new("libvirt does not answer"))
    }

    #[test]
    fn a_guest_that_is_ready_is_not_waited_for_any_longer() {
        let (result, second) = answered(&task(100, 200), &[Ok(NOBODY), Ok(LISTENS), Ok(READY)]);
        assert_eq!((result.notice, result.failure, second), (Some(READY), None, 3));
    }

    #[test]
    fn one_that_does_not_answer_is_waited_for_until_it_is_stopped_and_no_longer() {
        for seen in [NOBODY, LISTENS] {
            let (result, second) = answered(&task(10, 200), &vec![Ok(seen); 50]);
            assert_eq!((result.notice, result.failure, second), (Some(seen), None, 10));
        }
        let (_, second) = answered(&task(1000, 7), &vec![Ok(NOBODY); 50]);
        assert_eq!(second, 7, "nobody waits for the answer any more");
        let (result, second) = answered(&task(0, 200), &[Ok(NOBODY)]);
        assert_eq!((result.notice, second), (Some(NOBODY), 1), "it is told also when it is late");
    }

    #[test]
    fn what_was_seen_once_stays_seen() {
        let looks = [Ok(LISTENS), Ok(NOBODY), fault(), fault(), fault(), fault(), fault(), fault(), Ok(NOBODY)];
        let (result, _) = answered(&task(9, 200), &looks);
        assert_eq!((result.notice, result.failure), (Some(LISTENS), None));
    }

    #[test]
    fn a_host_that_says_nothing_is_asked_a_few_times() {
        let (result, second) = answered(&task(100, 200), &vec![fault(); 50]);
        assert_eq!((result.failure, second), (Some(TaskFailure::NoticeFailed), 5));
        assert!(result.detail.contains("libvirt"), "{}", result.detail);
        let mut looks = vec![fault(); 4];
        looks.extend([Ok(NOBODY), Ok(READY)]);
        assert_eq!(answered(&task(100, 200), &looks).0.notice, Some(READY), "one that comes back is heard");
        let (result, second) = answered(&task(2, 200), &vec![fault(); 50]);
        assert_eq!((result.failure, second), (Some(TaskFailure::NoticeFailed), 2), "there is no time left");
    }

    #[test]
    fn a_clock_that_went_back_is_not_waited_for() {
        let mut notices = Notices::default();
        let task = task(10_000, 20_000);
        notices.looked(&task, Ok(NOBODY), AT.plus_seconds(5000));
        assert!(notices.is_due(&task.id, AT.plus_seconds(10)));
        notices.forget(&task.id);
        assert!(notices.is_empty() && notices.is_due(&task.id, AT));
    }
}
