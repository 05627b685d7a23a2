//! What a tenant may ask of a placement besides its size: beside whom it may run, and how far from its own kind.

text_enum! {
    /// How the allocations of one group of a project lie to each other. One scale, from far apart to together.
    Spread {
        /// Never two of the group on one node.
        Require = "require",
        /// On different nodes while there is another node that would do.
        Prefer = "prefer",
        /// Wherever it fits best.
        None = "none",
        /// On a node that holds one of the group, if there is room.
        Near = "near",
        /// Only on a node that holds one of the group; the first of a group goes anywhere.
        SameNode = "same_node",
    }
}

text_enum! {
    /// Whose slices may be on the same node.
    CoTenancy {
        /// Anybody's.
        Any = "any",
        /// Only those of the same tenant, now and as long as the allocation lives.
        SameTenant = "same_tenant",
    }
}
