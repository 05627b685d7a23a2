//! Exit codes that scripts can use. One table: what each number means, and which number every problem code of the API
//! gives. A new problem code does not compile until it has a place here.

use api::Code;

/// How the command ended, as a number for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// It did what was asked.
    Ok,
    /// It failed in a way that has no number of its own.
    Failure,
    /// The command line, or a value on it, is not acceptable.
    Usage,
    /// There is no such thing, or the caller may not see it.
    NotFound,
    /// No valid token, or one that may not do this.
    Denied,
    /// The state or version of the thing does not allow it.
    Conflict,
    /// The project would exceed its cap.
    QuotaExceeded,
    /// Nothing that fits is free.
    NoCapacity,
    /// The wait ended before the work did; the work goes on.
    TimedOut,
    /// The server cannot be reached, is overloaded or failed; try again.
    Server,
    /// Some of several things were done and some were not.
    Partial,
    /// `serve` and `dev` only: whether the last change was made is not known; start it again.
    Restart,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// Every way to end, in order of its number.
    pub const ALL: &'static [Exit] = &[
        Exit::Ok,
        Exit::Failure,
        Exit::Usage,
        Exit::NotFound,
        Exit::Denied,
        Exit::Conflict,
        Exit::QuotaExceeded,
        Exit::NoCapacity,
        Exit::TimedOut,
        Exit::Server,
        Exit::Partial,
        Exit::Restart,
        Exit::Interrupted,
    ];

    /// The number the shell sees.
    pub const fn number(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::NotFound => 3,
            Exit::Denied => 4,
            Exit::Conflict => 5,
            Exit::QuotaExceeded => 6,
            Exit::NoCapacity => 7,
            Exit::TimedOut => 8,
            Exit::Server => 9,
            Exit::Partial => 10,
            Exit::Restart => 75,
            Exit::Interrupted => 130,
        }
    }

    /// What the number means, for the reference page.
    pub const fn meaning(self) -> &'static str {
        match self {
            Exit::Ok => "Done.",
            Exit::Failure => "Failed in a way that has no number of its own.",
            Exit::Usage => "The command line, or a value on it, is not acceptable.",
            Exit::NotFound => "There is no such thing, or you may not see it.",
            Exit::Denied => "No valid token, or one that may not do this.",
            Exit::Conflict => "The state or version of the thing does not allow it.",
            Exit::QuotaExceeded => "The project would exceed its cap.",
            Exit::NoCapacity => "Nothing that fits is free.",
            Exit::TimedOut => "The wait ended before the work did; the work goes on.",
            Exit::Server => "The server cannot be reached, is overloaded or failed; try again.",
            Exit::Partial => "Some of several things were done and some were not.",
            Exit::Restart => "`serve` and `dev` only: whether the last change was made is not known; start it again.",
            Exit::Interrupted => "Interrupted with Ctrl-C.",
        }
    }

    /// How a refusal by the server ends the command.
    pub const fn of(code: Code) -> Exit {
        match code {
            Code::InvalidBody | Code::InvalidParameter | Code::InvalidHeader | Code::InvalidPageToken => Exit::Usage,
            // The command builds these requests itself: a refusal is a fault of the command, not of what was typed.
            Code::MalformedRequest
            | Code::MalformedJson
            | Code::BodyTooDeep
            | Code::IdempotencyKeyMissing
            | Code::MethodNotAllowed
            | Code::RangeRefused
            | Code::BodyTooLarge
            | Code::UriTooLong
            | Code::UnsupportedMediaType
            | Code::HeadersTooLarge
            | Code::UpgradeRequired => Exit::Failure,
            Code::Unauthenticated
            | Code::TokenExpired
            | Code::TokenRevoked
            | Code::Forbidden
            | Code::TokenScopeTooNarrow
            | Code::CsrfRefused
            | Code::SignInRefused
            | Code::EnrollmentRefused
            | Code::NodeIdentityRefused
            | Code::NodeMessageRefused => Exit::Denied,
            Code::NotFound | Code::RouteNotFound | Code::UnknownReference | Code::QueueMissing => Exit::NotFound,
            Code::NameTaken
            | Code::StillInUse
            | Code::StateConflict
            | Code::RequestInFlight
            | Code::LastAdmin
            | Code::StaleVersion
            | Code::VersionRequired
            | Code::IdempotencyKeyReused
            | Code::NotForSale
            | Code::NodeNotReady
            | Code::IngressNotOwned
            | Code::IngressOutOfRange
            | Code::WebhookRefused
            | Code::SlotRefused
            | Code::GovernanceRefused
            | Code::SshKeyRefused
            | Code::LeaseRefused
            | Code::ImageRefused
            | Code::ImageUnavailable
            | Code::ImageUnfit
            | Code::LabOnly
            | Code::AgentSuperseded => Exit::Conflict,
            Code::QuotaExceeded => Exit::QuotaExceeded,
            Code::SkuUnavailable => Exit::NoCapacity,
            Code::ProvisioningFailed => Exit::Failure,
            Code::RequestTimeout
            | Code::RateLimited
            | Code::StreamLimit
            | Code::GuestUnreachable
            | Code::Internal
            | Code::StoreUnavailable
            | Code::SignInUnavailable
            | Code::OutcomeUnknown => Exit::Server,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_scripts_rely_on_and_differ() {
        let numbers: Vec<u8> = Exit::ALL.iter().map(|exit| exit.number()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 75, 130]);
    }

    #[test]
    fn no_refusal_counts_as_success() {
        for code in Code::ALL {
            assert_ne!(Exit::of(*code), Exit::Ok, "{code}");
        }
    }
}
