//! Streams: connections of people to guests, through the gateway. What they carry, where they stand, and how they end.

text_enum! {
    /// What a stream to a guest carries.
    StreamKind {
        /// Bytes to and from the guest's SSH server.
        Ssh = "ssh",
        /// The guest's serial console.
        Console = "console",
    }
}

text_enum! {
    /// Where a stream stands.
    StreamState {
        /// The host was asked to open it.
        Wanted = "wanted",
        /// The host took it; bytes go both ways.
        Open = "open",
        /// It is over.
        Ended = "ended",
    }
}

text_enum! {
    /// How a stream ended.
    StreamEnding {
        /// One of both ends closed it.
        Closed = "closed",
        /// A connection broke.
        Broken = "broken",
        /// The host did not open it in time.
        NotOpened = "not_opened",
        /// The host said that it cannot open it.
        HostRefused = "host_refused",
        /// Whoever asked for it went away before it was open.
        ClientGone = "client_gone",
        /// One side was closed, and nothing came from the other for too long.
        HalfOpen = "half_open",
        /// The allocation is not running any more.
        AllocationEnded = "allocation_ended",
        /// The token was revoked or has expired.
        TokenEnded = "token_ended",
        /// Whoever opened it may not use the project any more.
        RoleLost = "role_lost",
        /// The tenant or the project was suspended or is being deleted.
        TenantSuspended = "tenant_suspended",
        /// The identity of the node was revoked.
        NodeRevoked = "node_revoked",
        /// The store could not be asked whether it may go on.
        Unconfirmed = "unconfirmed",
        /// What the guest printed could not be recorded.
        RecordingFailed = "recording_failed",
        /// The replica that carried it was stopped.
        ReplicaStopped = "replica_stopped",
        /// The replica that carried it was not heard of any more.
        ReplicaLost = "replica_lost",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn words_read_back() {
        for ending in StreamEnding::ALL {
            assert_eq!(ending.as_str().parse::<StreamEnding>().unwrap(), *ending);
        }
        assert!("vnc".parse::<StreamKind>().is_err());
    }
}
