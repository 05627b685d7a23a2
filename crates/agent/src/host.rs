//! The host as the agent reaches it: a few changes that can be made, and a few questions that can be asked.
//!
//! Every change to a guest or its slots comes with an [`Effect`] that says under which order and fence it is made. A host may
//! log it (the simulated one does, and checks that no effect comes twice and no fence ever goes down); it need not remember
//! it. A host that cannot tell whether something worked must answer with a fault: silence is never success.
//!
//! Several calls come at once, from several threads. Never two that change the same slot or the same guest.

use model::{
    AllocationId, SlotId, TaskId, Timestamp,
    image::ImageSpec,
    notice::NoticeSeen,
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport, Refusal, WorkProgress},
    task::{Fence, GuestOrder, NoticeOrder, PlanOrder, ReconcileOrder, TaskFailure, TaskSlot},
};
use serde::{Deserialize, Serialize};
use topology::Tree;

/// One use of one slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SlotUse {
    /// The slot.
    pub slot_id: SlotId,
    /// Which use of it; the next tenant's is higher.
    pub use_generation: i64,
}

/// A guest, or what is left of one: listed from the moment anything of it exists until nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// The allocation it was started for.
    pub allocation_id: AllocationId,
    /// The slots it sits on, by slot id.
    pub slots: Vec<SlotUse>,
    /// Whether it was built to the end.
    pub ready: bool,
    /// What is seen of it, where the host can say so at no cost. An order that finds its guest there without it asks the
    /// host to build it once more, which then has nothing to do but to answer.
    pub seen: Option<GuestSeen>,
}

/// A change to the host that is journaled on its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Build and start the guest.
    Provision,
    /// Stop a guest that sits on the order's slots and remove what is left of it.
    StopGuest {
        /// Whose guest.
        allocation_id: AllocationId,
    },
    /// One step of wiping one slot.
    Wipe {
        /// The slot.
        slot_id: SlotId,
        /// The step.
        wipe: WipeStep,
    },
}

/// Why a change is made. `(task_id, step, turn)` never comes twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The order.
    pub task_id: TaskId,
    /// The allocation it serves.
    pub allocation_id: AllocationId,
    /// The order's fence; for each slot its generation is that slot's `use_generation`.
    pub fence: Fence,
    /// The slots the change touches, by slot id.
    pub slots: Vec<SlotUse>,
    /// The same slots as the order gives them, with what was approved for each.
    pub given: Vec<TaskSlot>,
    /// How many seconds the allocation's guest may take to stop in order; the host's own time when absent.
    pub grace_s: Option<i64>,
    /// The change.
    pub step: Step,
    /// 1, or higher when the agent was interrupted and cannot know whether the turn before had its effect.
    pub turn: u32,
}

impl Effect {
    /// The fence that guards one slot under this order.
    pub fn slot_fence(&self, slot: &SlotUse) -> Fence {
        Fence { generation: slot.use_generation, ..self.fence }
    }
}

/// Something on the host did not work, or could not be seen to work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct HostFault {
    /// What kind of failure it is; the usual one of what was asked when absent.
    pub failure: Option<TaskFailure>,
    /// One sentence for people.
    pub detail: String,
    /// What stood against it, check by check, when nothing was made.
    pub refusals: Vec<Refusal>,
}

impl HostFault {
    /// A fault with its sentence.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { failure: None, detail: detail.into(), refusals: vec![] }
    }

    /// A fault of this kind.
    pub fn of(failure: TaskFailure, detail: impl Into<String>) -> Self {
        Self { failure: Some(failure), ..Self::new(detail) }
    }

    /// A refusal before anything was made: what stood against it is the sentence.
    pub fn refused(failure: TaskFailure, refusals: Vec<Refusal>) -> Self {
        let sentences: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        Self { failure: Some(failure), detail: sentences.join("; "), refusals }
    }
}

/// Who waits for a piece of work.
pub trait Watch: Sync {
    /// Hears how far it is. May be told as often as the host likes.
    fn tell(&self, progress: WorkProgress);

    /// Whether the work is still wanted. When not, a newer order took over: the host stops at the next point where it is
    /// safe to, and answers with a fault. What is left is for that order to clean up.
    fn is_wanted(&self) -> bool;
}

/// What both the real and the simulated host can do.
pub trait Host: Send + Sync {
    /// Builds and starts a guest for `effect.allocation_id` on `effect.slots`. After `Ok` it is listed and ready; after a fault
    /// anything may be left of it, and a release cleans that up. A guest that is there and ready is only looked at.
    fn provision(&self, effect: &Effect, order: &GuestOrder, watch: &dyn Watch) -> Result<GuestSeen, HostFault>;

    /// Tells a guest that it will be stopped, unless it was told, and looks whether it has answered. Waits for nobody: it is
    /// asked again until the guest has answered or its time is up. `now` is the time by the agent's clock.
    fn notice(&self, order: &NoticeOrder, now: Timestamp) -> Result<NoticeSeen, HostFault>;

    /// Stops this guest and removes what is left of it; what was seen of that. After `Ok` it is not listed any more.
    fn stop_guest(&self, effect: &Effect, guest: &Guest, watch: &dyn Watch) -> Result<String, HostFault>;

    /// Makes one step of wiping one slot and returns what was seen. An empty text is no evidence. For
    /// [`WipeStep::GuestGone`] nothing is done: the host looks once more whether anybody sits there.
    fn wipe_step(
        &self,
        effect: &Effect,
        slot: &TaskSlot,
        step: WipeStep,
        watch: &dyn Watch,
    ) -> Result<String, HostFault>;

    /// What the host shows of itself: read, never changed.
    fn capture(&self) -> Result<Tree, HostFault>;

    /// Every guest on the host.
    fn guests(&self) -> Result<Vec<Guest>, HostFault>;

    /// What a guest on these slots would get, or what stands against it. Changes nothing.
    fn plan(&self, order: &PlanOrder) -> Result<PlanReport, HostFault>;

    /// Compares the host with its claims, and puts right what may be put right. `busy` are allocations that other orders are
    /// about: whatever is there or missing of them is as it should be, and is neither touched nor reported.
    fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        watch: &dyn Watch,
    ) -> Result<ReconcileReport, HostFault>;

    /// Fetches an image, unless it is there.
    fn prefetch(&self, image: &ImageSpec, watch: &dyn Watch) -> Result<(), HostFault>;
}
