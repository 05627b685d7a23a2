//! Supply: regions, pools, nodes and slots, the states of the latter two, what operators want of a node, and ways in.

text_enum! {
    /// Whether a node's agent has been heard of lately. Expiry changes scheduling only: running tenants are not touched.
    NodeState {
        /// Known, never heard of.
        Enrolled = "enrolled",
        /// Heard of within the lease.
        Online = "online",
        /// Not heard of within the lease: nothing new is placed here.
        Silent = "silent",
    }
}

text_enum! {
    /// Where a slot stands between being sold and being sold again.
    SlotState {
        /// Not approved, incomplete, or taken out by an operator.
        Disabled = "disabled",
        /// Proved clean and free.
        Available = "available",
        /// Claimed; nothing runs on it yet.
        Reserved = "reserved",
        /// A tenant's guest may be running on it.
        InUse = "in_use",
        /// The guest is gone; the proof is being checked.
        Wiping = "wiping",
        /// No valid proof: not for sale until there is one.
        CleanupBlocked = "cleanup_blocked",
    }
}

text_enum! {
    /// What kind of claim a node may carry right now; the mode cannot change while an active claim refers to it.
    OccupancyMode {
        /// No active claim.
        Free = "free",
        /// Slices.
        Sliced = "sliced",
        /// One bare-metal tenant.
        Exclusive = "exclusive",
    }
}

text_enum! {
    /// GPU model families the platform knows how to sell.
    GpuModel {
        /// NVIDIA H200 SXM, 141 GB.
        H200Sxm = "h200-sxm",
        /// NVIDIA A100 SXM, 80 GB.
        A100Sxm = "a100-sxm",
        /// No GPU at all: a laboratory's slots, which are never for sale.
        Lab = "lab",
    }
}

/// The profile of a laboratory's slots: a disk and addresses, and nothing else.
pub const LAB_PROFILE: &str = "lab-vm";

impl GpuModel {
    /// Whether it stands for a laboratory, of which nothing is ever sold.
    pub const fn is_lab(self) -> bool {
        matches!(self, Self::Lab)
    }
    /// The short name of the profile that slots of this GPU have.
    pub fn slot_profile(self) -> String {
        if self.is_lab() { LAB_PROFILE.to_owned() } else { format!("{self}-slice") }
    }
}

text_enum! {
    /// How a slot takes part in the fabric.
    FabricClaimMode {
        /// The slot has a virtual function of its own.
        PerSlotVf = "per_slot_vf",
        /// The slot has no fabric of its own, so it cannot be sold as a slice.
        None = "none",
    }
}

text_enum! {
    /// What operators want of a node.
    NodeDesired {
        /// Anything that fits may be placed on it.
        InService = "in_service",
        /// Nothing new is placed on it; what runs goes on until it is released.
        Drained = "drained",
        /// Out of use: nothing is placed on it and it is not counted as capacity.
        Disabled = "disabled",
    }
}

text_enum! {
    /// What a node is meant for. Intent alone sells nothing: a promotion needs evidence too.
    NodeProfile {
        /// To be cut into slices.
        SliceVm = "gpuaas-profile-slice-vm",
        /// To be sold whole.
        Baremetal = "gpuaas-profile-baremetal",
    }
}

text_enum! {
    /// How much of a node can be had. Always derived, never stored.
    Posture {
        /// Every slot is free and clean.
        FullyAvailable = "fully_available",
        /// Some slots are taken, some are free.
        PartiallyAllocated = "partially_allocated",
        /// Slices hold every slot.
        FullyAllocatedBySlices = "fully_allocated_by_slices",
        /// One tenant holds the whole node.
        ExclusivelyAllocatedByBaremetal = "exclusively_allocated_by_baremetal",
        /// Nothing new is placed; what runs goes on.
        Draining = "draining",
        /// A slot waits for proof that it is clean, and nothing else is free.
        CleanupBlocked = "cleanup_blocked",
        /// Nothing can be placed on it.
        Unavailable = "unavailable",
    }
}

text_enum! {
    /// Where the wish stands that a slot goes on without a proof of its wipe.
    OverrideState {
        /// One operator asked for it; another has to agree.
        Requested = "requested",
        /// Another agreed. Only ever seen inside the transaction that makes the slot available.
        Approved = "approved",
        /// Another did not agree.
        Rejected = "rejected",
        /// Nobody decided in time.
        Expired = "expired",
        /// It made the slot available, once.
        Used = "used",
    }
}

text_enum! {
    /// What travels through a way in.
    IngressProtocol {
        /// TCP.
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
    }
}

text_enum! {
    /// Where a way in stands.
    IngressState {
        /// It is inside what its owner set aside, and nobody else has the address and port. Nothing is opened by that alone.
        Accepted = "accepted",
    }
}

text_enum! {
    /// Whose word it is that a slot is not as it was approved.
    SaidBy {
        /// What a discovery found.
        Discovery = "discovery",
        /// What a host refused a guest for.
        Plan = "plan",
        /// What a host left alone when it was compared with its claims.
        Reconcile = "reconcile",
    }
}

text_enum! {
    /// What an agent did that an honest one does not.
    IncidentKind {
        /// It spoke or answered for another node.
        ActedForAnother = "acted_for_another",
        /// It reported a device that belongs to another node.
        ClaimedForeignDevice = "claimed_foreign_device",
        /// It gave an order another answer than before.
        ReplayedResult = "replayed_result",
        /// It sent more than it may.
        OversizedOutput = "oversized_output",
        /// Its clock is far off.
        ClockFarOff = "clock_far_off",
        /// Two agents use its identity.
        IdentityShared = "identity_shared",
        /// It used a certificate that was revoked.
        RevokedIdentity = "revoked_identity",
    }
}
