//! What a host says about guests: what it is doing for one, what stands against one, how one is doing, what it would get, and
//! what was found when the host was compared with its claims.

use crate::{AllocationId, SlotId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

text_enum! {
    /// What a host is doing for an order, in the order in which it does it.
    WorkStep {
        /// Waits for its turn.
        Waiting = "waiting",
        /// Fetches the image.
        Image = "image",
        /// Checks every device as it is now.
        Plan = "plan",
        /// Takes the host's leases.
        Lease = "lease",
        /// Writes the image to the disk.
        Clone = "clone",
        /// Reads back what was written.
        Verify = "verify",
        /// Prepares GPUs, fabric functions and partitions.
        Devices = "devices",
        /// Writes what the guest is told.
        Seed = "seed",
        /// Opens its place in the network.
        Network = "network",
        /// Starts the machine.
        Start = "start",
        /// Waits for its address to be leased.
        LeaseSeen = "lease_seen",
        /// Waits for its SSH server to show the right key.
        SshReady = "ssh_ready",
        /// Waits for the guest to say that it is ready to be stopped.
        Notice = "notice",
        /// Stops the machine.
        Stop = "stop",
        /// Takes its network, seed and leases away.
        Remove = "remove",
        /// Erases the disk.
        Erase = "erase",
        /// Reads the disk back.
        ReadBack = "read_back",
        /// Resets a device.
        Reset = "reset",
        /// Compares the host with its claims.
        Reconcile = "reconcile",
        /// Looks at the host.
        Look = "look",
        /// The machine's provider takes it back from whoever had it, and erases its disks.
        MachineFree = "machine_free",
        /// The machine's provider installs it.
        MachineInstall = "machine_install",
        /// The installed host is waited for to enroll and to call.
        MachineEnroll = "machine_enroll",
        /// The host that came back is compared with what was approved.
        MachineLook = "machine_look",
    }
}

/// How far a host has come with an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkProgress {
    /// What it is doing.
    pub step: WorkStep,
    /// How much of the step is done, from 0 to 100, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// How fast, where bytes are moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// How long the step will still take, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_s: Option<u64>,
}

impl WorkProgress {
    /// A step of which nothing more is known.
    pub const fn at(step: WorkStep) -> Self {
        Self { step, percent: None, bytes_per_s: None, remaining_s: None }
    }
}

impl std::fmt::Display for WorkProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.step)?;
        if let Some(percent) = self.percent {
            write!(f, " {percent} %")?;
        }
        if let Some(rate) = self.bytes_per_s {
            write!(f, ", {} MB/s", rate / 1_000_000)?;
        }
        match self.remaining_s {
            Some(remaining) => write!(f, ", {remaining} s left"),
            None => Ok(()),
        }
    }
}

/// Something on a host that is not as it was approved or needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HostRefusal")]
pub struct Refusal {
    /// What was looked at, as a word.
    pub check: String,
    /// Of which slot; none when it is about the order as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_id: Option<SlotId>,
    /// What was approved or needed.
    pub expected: String,
    /// What there is.
    pub found: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: expected {}, found {}", self.check, self.expected, self.found)
    }
}

text_enum! {
    /// How a guest's lease stands.
    GuestLeaseState {
        /// It has the address that was reserved for it.
        Leased = "leased",
        /// It has not asked yet.
        Waiting = "waiting",
        /// It had one, and let it run out.
        Expired = "expired",
        /// It has another address than the one that was reserved.
        WrongAddress = "wrong_address",
    }
}

/// A guest as its host sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestSeen {
    /// The address of its network card.
    pub mac: String,
    /// The address that was reserved for it.
    pub expected_ip: String,
    /// The address it has leased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual_ip: Option<String>,
    /// How the lease stands.
    pub lease_state: GuestLeaseState,
    /// The host key it shows on SSH, on one line. Made on its host; the private half never leaves it.
    pub host_key: String,
    /// What executes its instructions: `kvm` or `tcg`.
    pub accelerator: String,
}

/// What a guest on some slots would get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReport {
    /// What stands against it; the rest is empty unless this is.
    pub refusals: Vec<Refusal>,
    /// CPUs and memory by memory node.
    pub cells: Vec<PlanCell>,
    /// The size of the pages its memory is made of; ordinary ones when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hugepage_kib: Option<u64>,
    /// PCI functions that it gets whole.
    pub pci_addresses: Vec<String>,
    /// Block devices that it gets whole.
    pub disks: Vec<String>,
    /// The address of its network card.
    pub mac: String,
    /// Its private address.
    pub ip: String,
}

/// CPUs and memory of one memory node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanCell {
    /// The memory node.
    pub numa_node: u32,
    /// The host's CPUs; each carries one virtual CPU.
    pub cpus: Vec<u32>,
    /// Memory.
    pub memory_mib: u64,
}

text_enum! {
    /// What on a host was not as its claims say.
    FindingKind {
        /// A machine runs or is defined for which nothing is claimed.
        GuestWithoutClaim = "guest_without_claim",
        /// Something is claimed and should run, and no machine is there.
        ClaimWithoutGuest = "claim_without_guest",
        /// A machine runs with other devices than were claimed for it.
        GuestDiffers = "guest_differs",
        /// A machine's process is there and the hypervisor does not know it.
        OrphanProcess = "orphan_process",
        /// A port, flow, address, firewall rule or tap that belongs to no guest.
        StrayNetwork = "stray_network",
        /// What a guest needs in the network was not there.
        MissingNetwork = "missing_network",
        /// A lease of this host whose holder is gone.
        StrayLease = "stray_lease",
        /// A seed whose guest is gone.
        StraySeed = "stray_seed",
        /// Another file of a guest that is gone: its console, what was said there, its firmware's variables.
        StrayFile = "stray_file",
        /// The disk of a slot is gone, is another one, is too small, or is used by the host.
        SlotDisk = "slot_disk",
        /// An approved device is not on the driver that guests need.
        WrongDriver = "wrong_driver",
        /// The image cache is over its limit or has what does not belong there.
        ImageCache = "image_cache",
        /// A partition of the fabric is active and nobody's, or not active and somebody's.
        Partition = "partition",
        /// A guest is up and does not have its address.
        GuestAddress = "guest_address",
    }
}

text_enum! {
    /// What was done about it.
    FindingAction {
        /// It is as it should be now.
        Repaired = "repaired",
        /// Nothing was touched; somebody has to decide.
        Reported = "reported",
        /// Nothing was touched, and its slots are not to be used until an operator or a release has dealt with it.
        Quarantined = "quarantined",
        /// It was to be repaired, and that failed.
        Failed = "failed",
    }
}

/// One thing that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// What was done.
    pub action: FindingAction,
    /// Which thing: a name on the host.
    pub thing: String,
    /// Whose, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
    /// The slot it is about, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_id: Option<SlotId>,
    /// One sentence.
    pub detail: String,
}

/// What a comparison of a host with its claims found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReconcileReport {
    /// What was not as it should be, in a fixed order; empty is good.
    pub findings: Vec<Finding>,
    /// The guests that are there.
    pub guests: Vec<GuestStanding>,
}

/// A guest of the host and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestStanding {
    /// Whose it is.
    pub allocation_id: AllocationId,
    /// Whether its machine runs.
    pub running: bool,
    /// What is seen of it.
    pub seen: GuestSeen,
}
