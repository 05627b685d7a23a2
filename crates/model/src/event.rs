//! Events: one append-only record per committed transition of a versioned object. Timeline, stream and audit are views of it.

text_enum! {
    /// The nouns whose changes are recorded.
    Noun {
        /// A tenant.
        Tenant = "tenant",
        /// A project.
        Project = "project",
        /// A person or service account.
        Principal = "principal",
        /// A membership.
        Member = "member",
        /// An API token.
        Token = "token",
        /// A region.
        Region = "region",
        /// A pool.
        Pool = "pool",
        /// A SKU.
        Sku = "sku",
        /// What one slot of a kind is made of.
        SlotProfile = "slot_profile",
        /// An image.
        Image = "image",
        /// A key that signs images.
        ImageKey = "image_key",
        /// A public key of a project.
        SshKey = "ssh_key",
        /// A one-time token that brings a host in.
        EnrollmentToken = "enrollment_token",
        /// A node.
        Node = "node",
        /// A slot.
        Slot = "slot",
        /// Two operators' word that a slot goes on without a proof.
        WipeOverride = "wipe_override",
        /// A way in from outside to a guest.
        Ingress = "ingress",
        /// What waits in a queue and is admitted as a whole.
        Workload = "workload",
        /// An allocation.
        Allocation = "allocation",
        /// A task.
        Task = "task",
        /// Levels of places, such as rack and host.
        Topology = "topology",
        /// A kind of GPU that quota is given in.
        Flavor = "flavor",
        /// Queues that lend to each other.
        Cohort = "cohort",
        /// A queue with quota.
        ClusterQueue = "cluster_queue",
        /// A project's way into a queue with quota.
        LocalQueue = "local_queue",
        /// A priority by name.
        PriorityClass = "priority_class",
        /// What people choose hardware by.
        HardwareProfile = "hardware_profile",
        /// Where events are sent.
        Webhook = "webhook",
    }
}

text_enum! {
    /// What happened to the object.
    Change {
        /// It came to be.
        Created = "created",
        /// Its description changed.
        Updated = "updated",
        /// Somebody wants something else of it.
        Wished = "wished",
        /// Its workflow moved.
        StateChanged = "state_changed",
        /// It was told to go, for others.
        Preempted = "preempted",
        /// Somebody tries it out.
        Tested = "tested",
        /// It ended.
        Deleted = "deleted",
    }
}
