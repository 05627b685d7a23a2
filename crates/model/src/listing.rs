//! How a list is read: which end comes first.

text_enum! {
    /// What a list begins with.
    ListOrder {
        /// The oldest item.
        Oldest = "oldest",
        /// The newest item.
        Newest = "newest",
    }
}
