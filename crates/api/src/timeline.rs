//! The timeline of one allocation: what happened to it step by step, in words and with percent, read off what is stored.
//!
//! Positions are those of the event stream, so an entry has the same position for everybody and for ever. How far the step
//! that is under way has come is told with the position of the entry that began it: it does not move a reader on.

use crate::{allocation::AllocationPath, endpoints};
use model::{
    Timestamp,
    number::{EventPosition, PageSize},
    runtime::WorkStep,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

model::text_enum! {
    /// A step on the way of an allocation.
    TimelineStep {
        /// It was asked for and let in.
        Admission = "admission",
        /// A place was looked for.
        Placement = "placement",
        /// An order was written down for the host and fetched by it.
        Order = "order",
        /// The host fetches the image.
        Image = "image",
        /// The host checks every device as it is now.
        Plan = "plan",
        /// The host keeps everybody else away from the devices.
        HostLease = "host_lease",
        /// The image is copied to the disk.
        Clone = "clone",
        /// What was copied is read back.
        Verify = "verify",
        /// What the guest is told is written.
        Seed = "seed",
        /// GPUs, fabric functions and partitions are made ready.
        Devices = "devices",
        /// Addresses are set up.
        Network = "network",
        /// The guest starts.
        Boot = "boot",
        /// The guest has its address.
        LeaseSeen = "lease_seen",
        /// The guest answers to SSH.
        SshReady = "ssh_ready",
        /// It is in the hands of its owner.
        Running = "running",
        /// Its lease was extended, or ends soon.
        Lease = "lease",
        /// The guest is told that it will be stopped, and waited for to be ready.
        Notice = "notice",
        /// It is to be given back.
        ReleaseWanted = "release_wanted",
        /// The guest is stopped.
        Stopping = "stopping",
        /// The whole machine is taken back from whoever had it, and its disks are erased.
        MachineFree = "machine_free",
        /// The whole machine is installed.
        MachineInstall = "machine_install",
        /// The host that was installed is waited for to come back to the platform.
        MachineEnroll = "machine_enroll",
        /// The host that came back is compared with what was approved.
        MachineLook = "machine_look",
        /// Its devices are wiped.
        Wiping = "wiping",
        /// The host answered for the wipe.
        Proof = "proof",
        /// It is given back.
        Released = "released",
    }
}

impl TimelineStep {
    /// The step that a host's work belongs to; none for work that nobody waits for.
    pub const fn of(work: WorkStep) -> Option<Self> {
        Some(match work {
            WorkStep::Image => Self::Image,
            WorkStep::Plan => Self::Plan,
            WorkStep::Lease => Self::HostLease,
            WorkStep::Clone => Self::Clone,
            WorkStep::Verify => Self::Verify,
            WorkStep::Seed => Self::Seed,
            WorkStep::Devices => Self::Devices,
            WorkStep::Network => Self::Network,
            WorkStep::Start => Self::Boot,
            WorkStep::LeaseSeen => Self::LeaseSeen,
            WorkStep::SshReady => Self::SshReady,
            WorkStep::Notice => Self::Notice,
            WorkStep::Stop | WorkStep::Remove => Self::Stopping,
            WorkStep::Erase | WorkStep::ReadBack | WorkStep::Reset => Self::Wiping,
            WorkStep::MachineFree => Self::MachineFree,
            WorkStep::MachineInstall => Self::MachineInstall,
            WorkStep::MachineEnroll => Self::MachineEnroll,
            WorkStep::MachineLook => Self::MachineLook,
            WorkStep::Waiting | WorkStep::Reconcile | WorkStep::Look => return None,
        })
    }
}

model::text_enum! {
    /// Where a step stands.
    TimelineState {
        /// It has begun.
        Begun = "begun",
        /// It is under way.
        Progress = "progress",
        /// It is done.
        Done = "done",
        /// It did not work out.
        Failed = "failed",
    }
}

/// One entry of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    /// Its place; pass it as `after` or `Last-Event-ID` to go on behind it.
    pub position: i64,
    /// Which step.
    pub step: TimelineStep,
    /// Where the step stands.
    pub state: TimelineState,
    /// How far it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// How fast, where bytes are moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// When it will be done if it goes on like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<Timestamp>,
    /// Which try, where an order can be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i64>,
    /// The same in a sentence.
    pub detail: String,
    /// When.
    pub at: Timestamp,
}

impl TimelineEntry {
    /// Whether nothing comes after it.
    pub fn is_last(&self) -> bool {
        match self.step {
            TimelineStep::Released => matches!(self.state, TimelineState::Done | TimelineState::Failed),
            TimelineStep::Placement | TimelineStep::Admission => self.state == TimelineState::Failed,
            _ => false,
        }
    }
}

/// Which entries.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineQuery {
    /// Only entries after this position; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<EventPosition>,
    /// How many at most; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<PageSize>,
}

/// Where a live timeline starts.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineStreamQuery {
    /// Only entries after this position; from the start when absent. `Last-Event-ID` wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<EventPosition>,
}

/// A run of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePage {
    /// The entries, oldest first. The last one may be the step that is under way.
    pub items: Vec<TimelineEntry>,
    /// Pass this as `after` to go on.
    pub next_after: i64,
    /// Whether there is more to read now.
    pub more: bool,
    /// Whether nothing more will come.
    pub ended: bool,
}

endpoints! {
    /// Show what happened to an allocation, step by step.
    TimelineShow = "timeline_show", Get "/api/v1/allocations/{allocation_id}/timeline", "timeline", ProjectRead { path: AllocationPath, query: TimelineQuery, answer: Ok TimelinePage }
    /// Follow what happens to an allocation live, as server-sent events. Ends after the last entry.
    TimelineStream = "timeline_stream", Get "/api/v1/allocations/{allocation_id}/timeline/stream", "timeline", ProjectRead { path: AllocationPath, query: TimelineStreamQuery, answer: EventStream TimelineEntry }
}
