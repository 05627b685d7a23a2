//! Who changes the host for the agent: a process of its own with the rights for it and no network, reached through this trait.
//!
//! The verbs are those of [`Host`](crate::Host) but for looking, which needs no rights. What is said there of each holds here.
//! It must put up with being asked again for what it is still at: an agent that was killed in the middle of a change asks
//! for it once more when it is back.

use crate::host::{Effect, Guest, HostFault, Watch};
use model::{
    AllocationId,
    image::ImageSpec,
    notice::NoticeSeen,
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport},
    task::{GuestOrder, NoticeOrder, PlanOrder, ReconcileOrder, TaskSlot},
};
use std::fmt::Debug;

/// Somebody who may change the host.
pub trait RootHands: Debug + Send + Sync {
    /// Builds and starts a guest.
    fn provision(&self, effect: &Effect, order: &GuestOrder, watch: &dyn Watch) -> Result<GuestSeen, HostFault>;

    /// Tells a guest that it will be stopped, unless it was told, and looks whether it has answered.
    fn notice(&self, order: &NoticeOrder) -> Result<NoticeSeen, HostFault>;

    /// Stops a guest and removes what is left of it; what was seen of that.
    fn stop_guest(&self, effect: &Effect, guest: &Guest, watch: &dyn Watch) -> Result<String, HostFault>;

    /// Makes one step of wiping one slot and returns what was seen.
    fn wipe_step(
        &self,
        effect: &Effect,
        slot: &TaskSlot,
        step: WipeStep,
        watch: &dyn Watch,
    ) -> Result<String, HostFault>;

    /// Every guest on the host.
    fn guests(&self) -> Result<Vec<Guest>, HostFault>;

    /// What a guest on these slots would get.
    fn plan(&self, order: &PlanOrder) -> Result<PlanReport, HostFault>;

    /// Compares the host with its claims, but for the allocations that are busy.
    fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        watch: &dyn Watch,
    ) -> Result<ReconcileReport, HostFault>;

    /// Fetches an image, unless it is there.
    fn prefetch(&self, image: &ImageSpec, watch: &dyn Watch) -> Result<(), HostFault>;
}
