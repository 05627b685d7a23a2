//! The host's clock. The loop is given the time; only the program and what talks to the network ask for it, here.

use model::Timestamp;

/// Now, by the host's clock.
#[expect(clippy::disallowed_methods, reason = "this is the clock that is handed to the loop")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
