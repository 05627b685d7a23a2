//! Operations: long work that a request started, for its caller to follow.

text_enum! {
    /// Where an operation stands.
    OperationState {
        /// Its subject is still on the way.
        Running = "running",
        /// Its subject arrived.
        Succeeded = "succeeded",
        /// Its subject ended elsewhere.
        Failed = "failed",
    }
}
