//! Why a request did not end as it wished: a problem for the caller, or the store's own trouble, which becomes a problem
//! here and nowhere else.

use api::{Code, Problem};
use store::StoreError;

/// What ends a request early. Everything it did in the transaction is undone.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// The caller's problem.
    Problem(Problem),
    /// The store's.
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Refusal {
    /// A refusal with a code and a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self::Problem(Problem::new(code, detail))
    }

    /// What is absent, or what the caller may not know of.
    pub fn not_found() -> Self {
        Self::Problem(Problem::not_found())
    }

    /// Whether the same request should simply run again: it lost a race against another that has ended by now.
    pub fn lost_a_race(&self, version_given: bool) -> bool {
        match self {
            Self::Store(StoreError::StaleVersion) => !version_given,
            Self::Store(StoreError::UniqueViolation { .. }) => true,
            Self::Store(_) | Self::Problem(_) => false,
        }
    }

    /// What the caller is told.
    pub fn into_problem(self) -> Problem {
        match self {
            Self::Problem(problem) => problem,
            Self::Store(error) => store_problem(&error),
        }
    }
}

/// Whether an answer is the outcome of the wish itself, and so kept under its Idempotency-Key, rather than a remark about
/// the caller or the form of the request.
pub(crate) const fn is_outcome(code: Code) -> bool {
    matches!(
        code,
        Code::NameTaken
            | Code::StillInUse
            | Code::StateConflict
            | Code::LastAdmin
            | Code::QuotaExceeded
            | Code::SkuUnavailable
            | Code::UnknownReference
            | Code::NotForSale
            | Code::NodeNotReady
            | Code::SlotRefused
    )
}

fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::OutcomeUnknown | StoreError::Crashed => Problem::new(
            Code::OutcomeUnknown,
            "Whether the change was made is not known. Repeat the request with the same Idempotency-Key, or look.",
        )
        .with_retry_after(1),
        StoreError::Unavailable(_) | StoreError::Busy | StoreError::Poisoned | StoreError::LostLeadership => {
            tracing::warn!(%error, "the store could not serve a request");
            Problem::new(Code::StoreUnavailable, "Nothing was changed. Try again shortly.").with_retry_after(1)
        }
        StoreError::StaleVersion => {
            Problem::new(Code::StaleVersion, "The object was changed by somebody else at the same moment.")
        }
        StoreError::UniqueViolation { .. } => {
            Problem::new(Code::StoreUnavailable, "Too many requests for the same thing at once. Nothing was changed.")
                .with_retry_after(1)
        }
        error => {
            tracing::error!(%error, "a request failed inside the platform");
            internal()
        }
    }
}

/// A fault of ours, about which the caller learns nothing but that it happened.
pub(crate) fn internal() -> Problem {
    Problem::new(Code::Internal, "The platform failed. The X-Request-Id header names this request in its logs.")
        .with_retry_after(1)
}
