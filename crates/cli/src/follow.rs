//! Following an operation until it ends, with a step shown for every state its subject goes through, and for an allocation
//! every entry of its timeline.

use api::{
    allocation::{AllocationPath, AllocationShow},
    operation::{OperationPath, OperationShow, OperationState, OperationView},
    states::ProgressView,
    tenancy::{ProjectPath, ProjectShow, TenantPath, TenantShow},
    timeline::{TimelineEntry, TimelineQuery, TimelineShow},
};
use model::{event::Noun, number::EventPosition};
use std::time::{Duration, Instant};

use crate::{failure::Failure, interrupt, progress::Progress, session::Session};

/// The first looks come quickly, since most work is short; later ones spare the server.
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LOOK_MAX: Duration = Duration::from_secs(1);

/// When a wait that starts now ends.
pub fn deadline(timeout: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(timeout).unwrap_or(now)
}

/// Follows an operation for so long.
pub async fn to_the_end(
    session: &Session,
    operation: OperationView,
    timeout: Duration,
) -> Result<OperationView, Failure> {
    until(session, operation, deadline(timeout)).await
}

/// Follows an operation until it has ended, or until the deadline.
pub async fn until(
    session: &Session,
    mut operation: OperationView,
    deadline: Instant,
) -> Result<OperationView, Failure> {
    let mut progress = Progress::start(session.quiet);
    let (mut pause, mut position) = (FIRST_LOOK, 0);
    let _word =
        interrupt::leave_word(format!("the work goes on; wait again with: gpuaas operation wait {}", operation.id));
    progress.step(&format!("{} {} started; operation {}", operation.kind, operation.subject_id, operation.id));
    while operation.state == OperationState::Running {
        if Instant::now() >= deadline {
            drop(progress);
            return Err(Failure::TimedOut(format!(
                "{} of {} has not ended yet; it goes on. Wait again with: gpuaas operation wait {}",
                operation.kind, operation.subject_id, operation.id
            )));
        }
        if let Some(text) = subject_step(session, &operation).await {
            progress.step(&text);
        }
        for entry in new_entries(session, &operation, &mut position).await {
            progress.step(&entry_line(&entry));
        }
        tokio::time::sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
        pause = (pause * 2).min(LOOK_MAX);
        operation = session.show::<OperationShow>(OperationPath { operation_id: operation.id.clone() }).await?;
    }
    Ok(operation)
}

/// What is new in the timeline of an allocation. One that cannot be read is no reason to stop waiting.
async fn new_entries(session: &Session, operation: &OperationView, position: &mut i64) -> Vec<TimelineEntry> {
    let Ok(allocation_id) = operation.subject_id.parse() else { return Vec::new() };
    let query = TimelineQuery { after: EventPosition::try_from(*position).ok(), page_size: None };
    match session.query::<TimelineShow>(AllocationPath { allocation_id }, query).await {
        Ok(page) => {
            *position = page.next_after;
            page.items
        }
        Err(_) => Vec::new(),
    }
}

fn entry_line(entry: &TimelineEntry) -> String {
    let percent = entry.percent.map(|percent| format!(" {percent} %")).unwrap_or_default();
    format!("{} {}{percent}: {}", entry.step, entry.state, entry.detail)
}

/// What the subject is doing. A subject that cannot be read is no reason to stop waiting.
async fn subject_step(session: &Session, operation: &OperationView) -> Option<String> {
    let line = |state: &str, projected: &str, progress: &ProgressView| {
        let reason = progress.wait.as_ref().map_or(projected, |wait| &wait.because);
        format!("{} {state}: {reason}", operation.subject_id)
    };
    let id = &operation.subject_id;
    match operation.noun {
        Noun::Allocation => {
            let view = session.show::<AllocationShow>(AllocationPath { allocation_id: id.parse().ok()? }).await.ok()?;
            Some(line(view.execution.as_str(), &view.projected, &view.progress))
        }
        Noun::Tenant => {
            let view = session.show::<TenantShow>(TenantPath { tenant_id: id.parse().ok()? }).await.ok()?;
            Some(line(view.execution.as_str(), &view.projected, &view.progress))
        }
        Noun::Project => {
            let view = session.show::<ProjectShow>(ProjectPath { project_id: id.parse().ok()? }).await.ok()?;
            Some(line(view.execution.as_str(), &view.projected, &view.progress))
        }
        _ => None,
    }
}

/// Turns an ended operation into success or the failure it stands for.
pub fn succeeded(operation: OperationView) -> Result<OperationView, Failure> {
    match operation.state {
        OperationState::Failed => Err(Failure::OperationFailed(Box::new(operation))),
        OperationState::Running | OperationState::Succeeded => Ok(operation),
    }
}

/// Prints an operation that has ended; a failed one is printed too, and then is the failure.
pub fn print_ended(session: &Session, operation: OperationView) -> Result<(), Failure> {
    session.print(&operation)?;
    succeeded(operation).map(|_| ())
}
