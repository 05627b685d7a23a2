//! Why something asked of the process was not done: what kind of failure, one sentence that names the step, and what stood
//! against it check by check.

use disk::{Fault as DiskFault, Refusal as DiskRefusal};
use guest::plan::PlanRefusal;
use model::{
    runtime::{Refusal, WorkStep},
    task::TaskFailure,
};

/// Something that was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Failed {
    /// What kind of failure; none when nothing was ordered.
    pub failure: Option<TaskFailure>,
    /// One sentence.
    pub detail: String,
    /// What stood against it.
    pub refusals: Vec<Refusal>,
}

impl Failed {
    /// A failure of no kind of its own.
    pub fn plain(detail: impl ToString) -> Self {
        Self { failure: None, detail: detail.to_string(), refusals: vec![] }
    }

    /// A failure of this kind.
    pub fn of(failure: TaskFailure, detail: impl ToString) -> Self {
        Self { failure: Some(failure), ..Self::plain(detail) }
    }

    /// A step of building a guest that failed.
    pub fn at(step: WorkStep, why: impl ToString) -> Self {
        Self::of(TaskFailure::ProvisionFailed, format!("{step}: {}", why.to_string()))
    }

    /// The host is not as it was approved; nothing was made.
    pub fn plan_refused(refusals: Vec<Refusal>) -> Self {
        let all: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        let detail = format!("plan: {}", all.join("; "));
        Self { failure: Some(TaskFailure::PlanRefused), detail, refusals }
    }

    /// What went wrong with an image or its disk: a wrong image has a failure of its own.
    pub fn disk(step: WorkStep, fault: &DiskFault) -> Self {
        match fault {
            DiskFault::Refused { refusal: DiskRefusal::Image(refusal) } => {
                Self::of(TaskFailure::ImageRefused, format!("{step}: {refusal}"))
            }
            DiskFault::NoRoom { .. } => Self::of(TaskFailure::ImageRefused, format!("{step}: {fault}")),
            other => Self::at(step, other),
        }
    }

    /// The caller went away.
    pub fn not_wanted(step: WorkStep) -> Self {
        Self::at(step, "ended because the guest is not wanted any more")
    }
}

/// A refusal of the plan, in the words of the contract.
pub fn refusal(found: PlanRefusal) -> Refusal {
    let PlanRefusal { check, slot_id, expected, found } = found;
    Refusal { check: check.to_string(), slot_id, expected, found }
}
