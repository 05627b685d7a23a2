//! Repeating a request safely: what makes two requests the same, and which keys are being worked on in this process.
//!
//! The record of an answer is written in the transaction of the effect, so a retry after any crash either finds the answer
//! or finds that nothing happened. Two requests with one key at the same moment: within a process the second is told to
//! wait; across processes the primary key of the record decides, and the loser runs again and finds the winner's answer.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use api::{Code, Operation, Problem};
use model::PrincipalId;
use sha2::{Digest, Sha256};

use crate::authz::token::hex;

/// What two requests must have in common to be the same wish.
pub(crate) struct Wish<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) path: &'a str,
    pub(crate) principal: &'a PrincipalId,
    /// The token, for operations whose answer only its bearer can read again.
    pub(crate) token: Option<&'a str>,
    /// The body as its type writes it, so that spacing and order do not count.
    pub(crate) body: &'a [u8],
    pub(crate) if_match: Option<i64>,
}

impl Wish<'_> {
    /// SHA-256 over the parts, each with its length.
    pub(crate) fn fingerprint(&self) -> String {
        let version = self.if_match.map(|version| version.to_string()).unwrap_or_default();
        let parts: [&[u8]; 6] = [
            self.operation.method.as_str().as_bytes(),
            self.path.as_bytes(),
            self.principal.as_str().as_bytes(),
            self.token.unwrap_or_default().as_bytes(),
            self.body,
            version.as_bytes(),
        ];
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(format!("{}:", part.len()));
            hash.update(part);
        }
        hex(&hash.finalize())
    }
}

/// The key was used for another request.
pub(crate) fn reused() -> Problem {
    Problem::new(Code::IdempotencyKeyReused, "The Idempotency-Key was used for another request.")
        .with_field("Idempotency-Key", "a key that was not used before, or the very same request again")
}

/// A request with the same key is still running.
pub(crate) fn in_flight() -> Problem {
    Problem::new(Code::RequestInFlight, "A request with this Idempotency-Key is still running.").with_retry_after(1)
}

/// The keys that this process is working on.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<HashSet<(String, String)>>>);

/// One key being worked on; dropping it lets the next request in.
#[derive(Debug)]
pub(crate) struct Busy {
    all: InFlight,
    entry: (String, String),
}

impl InFlight {
    /// Takes a caller's key; `None` when it is taken.
    pub(crate) fn take(&self, caller: &str, key: &str) -> Option<Busy> {
        let entry = (caller.to_owned(), key.to_owned());
        let fresh = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(entry.clone());
        fresh.then(|| Busy { all: self.clone(), entry })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.entry);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_until_it_is_given_back() {
        let all = InFlight::default();
        let busy = all.take("hash", "k").unwrap();
        assert!(all.take("hash", "k").is_none());
        assert!(all.take("other", "k").is_some());
        drop(busy);
        assert!(all.take("hash", "k").is_some());
    }
}
