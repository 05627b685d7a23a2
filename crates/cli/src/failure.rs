//! Everything that can end a command early, how it is told to a person, and its exit code.

use api::{
    Problem,
    operation::{OperationState, OperationView},
};

use crate::{exit::Exit, safe};

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The command line, or a value on it, is not acceptable.
    Usage(String),
    /// The server refused.
    Refused {
        /// Why.
        problem: Box<Problem>,
        /// Names the request in the server's logs.
        request_id: Option<String>,
    },
    /// There is no token to send.
    NotSignedIn,
    /// The server took the wish and could not make it come true.
    OperationFailed(Box<OperationView>),
    /// A name that nothing has.
    NotFound(String),
    /// The state of things does not allow it.
    Conflict(String),
    /// The server could not be reached, or what answered is not our server.
    Server(String),
    /// The wait ended before the work did.
    TimedOut(String),
    /// Some of several things were done and some were not; each was reported when it happened.
    Partial {
        /// How many were done.
        done: usize,
        /// How many were not.
        failed: usize,
    },
    /// Something on this machine.
    Local(String),
    /// A program that was run in our place ended with this number, and told why itself.
    Ended(u8),
    /// A person said no.
    Declined,
    /// Whoever read our output went away: nothing is wrong.
    ReaderGone,
}

impl Failure {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Usage(_) => Exit::Usage,
            Failure::Refused { problem, .. } => Exit::of(problem.code),
            Failure::NotSignedIn => Exit::Denied,
            Failure::OperationFailed(operation) => {
                operation.error.as_ref().map_or(Exit::Failure, |error| Exit::of(error.code))
            }
            Failure::NotFound(_) => Exit::NotFound,
            Failure::Conflict(_) => Exit::Conflict,
            Failure::Server(_) => Exit::Server,
            Failure::TimedOut(_) => Exit::TimedOut,
            Failure::Partial { .. } => Exit::Partial,
            Failure::Local(_) | Failure::Declined | Failure::Ended(_) => Exit::Failure,
            Failure::ReaderGone => Exit::Ok,
        }
    }

    /// The number the shell sees.
    pub fn number(&self) -> u8 {
        match self {
            Failure::Ended(number) => *number,
            other => other.exit().number(),
        }
    }

    /// What a person is told; nothing when there is nothing to tell. `\u{1b}` sequences in it are ours alone.
    pub fn told(&self) -> Option<String> {
        let text = match self {
            Failure::Usage(text)
            | Failure::NotFound(text)
            | Failure::Conflict(text)
            | Failure::Server(text)
            | Failure::TimedOut(text)
            | Failure::Local(text) => error(text),
            Failure::Refused { problem, request_id } => told_problem(problem, request_id.as_deref()),
            Failure::NotSignedIn => error("there is no token to send; run `gpuaas login`, or set GPUAAS_TOKEN"),
            Failure::OperationFailed(operation) => told_operation(operation),
            Failure::Partial { done, failed } => error(&format!("{done} done, {failed} not")),
            Failure::Declined => "nothing was changed".to_owned(),
            Failure::ReaderGone | Failure::Ended(_) => return None,
        };
        Some(text)
    }
}

fn error(text: &str) -> String {
    format!("\u{1b}[1;31merror:\u{1b}[0m {}", safe::lines(text))
}

fn hint(code: api::Code) -> String {
    format!("  \u{1b}[2mmore: gpuaas explain {code}\u{1b}[0m")
}

fn told_problem(problem: &Problem, request_id: Option<&str>) -> String {
    let mut lines = vec![error(&format!("{}: {}", problem.code, problem.detail))];
    for field in &problem.errors {
        let pointer = if field.pointer.is_empty() { "(the whole body)" } else { &field.pointer };
        lines.push(format!("  {}: {}", safe::line(pointer), safe::line(&field.detail)));
    }
    if let Some(seconds) = problem.retry_after_s {
        lines.push(format!("  try again in {seconds} s"));
    } else if problem.retryable {
        lines.push("  the same request may succeed later".to_owned());
    }
    lines.extend(request_id.map(|id| format!("  request id: {}", safe::line(id))));
    lines.push(hint(problem.code));
    lines.join("\n")
}

fn told_operation(operation: &OperationView) -> String {
    debug_assert_eq!(operation.state, OperationState::Failed);
    match &operation.error {
        Some(reason) => {
            let first = error(&format!(
                "{} of {} failed: {}: {}",
                operation.kind, operation.subject_id, reason.code, reason.detail
            ));
            format!("{first}\n{}", hint(reason.code))
        }
        None => error(&format!("{} of {} failed", operation.kind, operation.subject_id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Code;

    #[test]
    fn a_refusal_tells_code_sentence_fields_and_where_to_read_on() {
        let problem = Problem::new(Code::InvalidBody, "The body is \u{1b}[2Jnot right.")
            .with_field("/name", "1 to 80 letters")
            .with_field("", "expected an object");
        let refused = Failure::Refused { problem: Box::new(problem), request_id: Some("req-\u{9b}7".to_owned()) };
        let told = refused.told().unwrap();
        assert!(told.contains("  request id: req-\\u{9b}7"), "{told}");
        assert!(told.contains("invalid_body: The body is \\u{1b}[2Jnot right."), "{told}");
        assert!(told.contains("  /name: 1 to 80 letters"), "{told}");
        assert!(told.contains("  (the whole body): expected an object"), "{told}");
        assert!(told.contains("gpuaas explain invalid_body"), "{told}");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        assert_eq!(Failure::ReaderGone.exit(), Exit::Ok);
        assert_eq!(Failure::ReaderGone.told(), None);
    }
}
