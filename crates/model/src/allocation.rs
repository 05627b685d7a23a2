//! Allocations: what a user holds, from wish to proof.

text_enum! {
    /// What the owner wants.
    #[schemars(rename = "AllocationDesired")]
    Desired {
        /// Have it running.
        Running = "running",
        /// Give it back.
        Released = "released",
    }
}

text_enum! {
    /// Where the workflow stands. `reserved` to `releasing` hold claims; the last three hold none.
    #[schemars(rename = "AllocationState")]
    State {
        /// Asked for, not placed.
        Requested = "requested",
        /// Claims are committed; the host has not been told.
        Reserved = "reserved",
        /// The host is building it.
        Provisioning = "provisioning",
        /// The guest is up.
        Running = "running",
        /// The host is stopping and wiping it.
        Releasing = "releasing",
        /// Given back.
        Released = "released",
        /// It could not be placed.
        Refused = "refused",
        /// The host could not build it; its slots were cleaned up.
        Failed = "failed",
    }
}

impl State {
    /// Whether an allocation in this state holds exactly the claims it asked for.
    pub const fn holds_claims(self) -> bool {
        matches!(self, Self::Reserved | Self::Provisioning | Self::Running | Self::Releasing)
    }
    /// Whether nothing more will happen.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Released | Self::Refused | Self::Failed)
    }
}
