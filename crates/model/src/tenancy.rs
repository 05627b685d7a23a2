//! Tenants and projects: who owns, who works, and the states they live through.

text_enum! {
    /// What the owner or operator wants a tenant or project to be.
    #[schemars(rename = "TenancyDesired")]
    Desired {
        /// Usable.
        Active = "active",
        /// Kept, but nothing new starts in it.
        Suspended = "suspended",
        /// Gone, with proof that nothing is left.
        Deleted = "deleted",
    }
}

text_enum! {
    /// Where the workflow of a tenant or project stands.
    #[schemars(rename = "TenancyState")]
    State {
        /// Recorded, not usable yet.
        Creating = "creating",
        /// Usable.
        Active = "active",
        /// Kept, but nothing new starts in it.
        Suspended = "suspended",
        /// What it holds is being removed.
        Deleting = "deleting",
        /// Nothing is left; the row stays as evidence.
        Deleted = "deleted",
    }
}
