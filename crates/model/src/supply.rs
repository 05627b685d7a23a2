//! Supply: regions, pools, nodes and slots, and the states of the latter two.

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
