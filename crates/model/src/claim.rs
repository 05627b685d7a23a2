//! Claims: the durable exclusive right of an allocation to a slot or node; the truth of placement.

text_enum! {
    /// What a claim covers.
    ClaimKind {
        /// The whole node.
        NodeExclusive = "node_exclusive",
        /// One slot.
        Slot = "slot",
    }
}
