//! An operation as the API shows it. How far it has come is not stored: it is read off the state its subject is in, so the two
//! cannot disagree.

use api::{
    Code,
    operation::{OperationError, OperationProgress, OperationState, OperationView},
};
use store::operations::OperationRow;

/// One kind of work, step by step: what is being done, and the states of the subject in which that is done.
type Steps = &'static [(&'static str, &'static [&'static str])];

const LAUNCH: Steps = &[
    ("It is waiting to be placed.", &["requested"]),
    ("Its GPUs are reserved; the node is about to be told.", &["reserved"]),
    ("The node is building it.", &["provisioning"]),
];
const RELEASE: Steps = &[
    ("It is about to be stopped.", &["requested", "reserved", "provisioning", "running"]),
    ("The node is stopping and wiping it.", &["releasing"]),
];
const DELETE: Steps = &[
    ("It is about to be emptied.", &["creating", "active", "suspended"]),
    ("What is in it is being ended.", &["deleting"]),
];
const SUSPEND: Steps = &[("It is about to be suspended.", &["creating", "active"])];
const RESUME: Steps = &[("It is about to be resumed.", &["creating", "suspended"])];
const LOOK: Steps = &[
    ("The agent has not fetched the order yet.", &["pending"]),
    ("The agent is looking at its host.", &["delivered"]),
];

const COMPARE: Steps = &[
    ("The agent has not fetched the order yet.", &["pending"]),
    ("The agent is comparing its host with what is claimed there.", &["delivered"]),
];
const FETCH: Steps =
    &[("The agent has not fetched the order yet.", &["pending"]), ("The agent is fetching the image.", &["delivered"])];

const SUBMIT: Steps = &[
    ("It waits in its queue.", &["queued", "preempting", "stopping"]),
    ("Its members are being built.", &["admitted"]),
];
const CANCEL: Steps = &[
    ("Its members are asked back.", &["queued", "admitted", "running", "preempting"]),
    ("Its members are being released.", &["stopping"]),
];

fn steps(kind: &str) -> Option<Steps> {
    match kind {
        "allocation_launch" => Some(LAUNCH),
        "allocation_release" | "allocation_force_release" => Some(RELEASE),
        "workload_submit" => Some(SUBMIT),
        "workload_cancel" => Some(CANCEL),
        "tenant_delete" | "project_delete" => Some(DELETE),
        "tenant_suspend" | "project_suspend" => Some(SUSPEND),
        "tenant_resume" | "project_resume" => Some(RESUME),
        "node_discover" | "readiness_order" | "node_plan" => Some(LOOK),
        "node_reconcile" => Some(COMPARE),
        "node_prefetch" => Some(FETCH),
        _ => None,
    }
}

fn progress(row: &OperationRow) -> Option<OperationProgress> {
    let steps = steps(&row.kind)?;
    let (done, description) = match row.state {
        model::operation::OperationState::Failed => return None,
        model::operation::OperationState::Succeeded => (steps.len(), "It is done."),
        model::operation::OperationState::Running => {
            let state = row.subject_state.as_deref()?;
            let done = steps.iter().position(|(_, states)| states.contains(&state))?;
            (done, steps[done].0)
        }
    };
    let count = |steps: usize| u32::try_from(steps).unwrap_or(u32::MAX);
    Some(OperationProgress {
        description: description.to_owned(),
        done_steps: count(done),
        total_steps: count(steps.len()),
    })
}

/// An operation.
pub fn operation(row: OperationRow) -> OperationView {
    let failed = row.state == model::operation::OperationState::Failed;
    let error = failed.then(|| {
        let told = row.result.as_deref().and_then(|text| serde_json::from_str(text).ok());
        told.unwrap_or_else(|| OperationError {
            code: Code::StateConflict,
            detail: format!("The {} did not get where it was wanted.", row.noun),
            refusal: None,
        })
    });
    let progress = progress(&row);
    OperationView {
        id: row.id,
        kind: row.kind,
        noun: row.noun,
        subject_id: row.subject_id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        created_by: row.created_by,
        state: match row.state {
            model::operation::OperationState::Running => OperationState::Running,
            model::operation::OperationState::Succeeded => OperationState::Succeeded,
            model::operation::OperationState::Failed => OperationState::Failed,
        },
        progress,
        error,
        created_at: row.created,
        finished_at: row.finished,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use model::{allocation, event::Noun, operation::OperationState as Stored, task, tenancy};

    use super::*;

    fn row(kind: &str, state: Stored, subject_state: Option<&str>) -> OperationRow {
        OperationRow {
            id: "opn_01jh2n6f4zw8q9r0s1t2v3x4y5".parse().unwrap(),
            kind: kind.to_owned(),
            noun: Noun::Allocation,
            subject_id: "x".to_owned(),
            tenant_id: None,
            project_id: None,
            created_by: "prn_01jh2n6f4zw8q9r0s1t2v3x4y5".parse().unwrap(),
            state,
            succeeds_in: Vec::new(),
            fails_in: Vec::new(),
            result: None,
            created: model::Timestamp::from_micros(0),
            finished: None,
            subject_state: subject_state.map(str::to_owned),
        }
    }

    #[test]
    fn every_operation_that_starts_work_has_steps_of_states_that_exist() {
        let started = api::operations().into_iter().filter(|d| d.operation.success == api::endpoint::Success::Accepted);
        let mut seen = 0;
        for described in started {
            let id = described.operation.id;
            let steps = steps(id).unwrap_or_else(|| panic!("{id} has no steps"));
            for state in steps.iter().flat_map(|(_, states)| states.iter()) {
                let known = match id.split_once('_').map(|(noun, _)| noun) {
                    Some("allocation") => state.parse::<allocation::State>().is_ok(),
                    Some("workload") => state.parse::<model::workload::State>().is_ok(),
                    Some("tenant" | "project") => state.parse::<tenancy::State>().is_ok(),
                    _ => state.parse::<task::TaskState>().is_ok(),
                };
                assert!(known, "{id}: {state}");
            }
            seen += 1;
        }
        assert!(seen >= 10, "{seen}");
    }

    #[test]
    fn steps_are_read_off_the_state_of_the_subject() {
        let at = |state| {
            let progress = operation(row("allocation_launch", Stored::Running, Some(state))).progress.unwrap();
            (progress.done_steps, progress.total_steps)
        };
        assert_eq!([at("requested"), at("reserved"), at("provisioning")], [(0, 3), (1, 3), (2, 3)]);
        let done = operation(row("allocation_launch", Stored::Succeeded, None)).progress.unwrap();
        assert_eq!((done.done_steps, done.total_steps), (3, 3));
        assert_eq!(operation(row("allocation_launch", Stored::Failed, None)).progress, None);
    }
}
