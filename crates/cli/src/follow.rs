//! Following an operation until it ends, with a step shown for every state its subject goes through, and for an allocation
//! every entry of its timeline.

use api::{
    allocation::{AllocationPath, AllocationShow},
    operation::{OperationPath, OperationShow, OperationState, OperationView},
    states::ProgressView,
    tenancy::{ProjectPath, ProjectShow, TenantPath, TenantShow},
    timeline::{TimelineEntry, TimelineQuery, TimelineShow, TimelineState, TimelineStep},
    workload::{WorkloadPath, WorkloadShow, WorkloadView},
};
use model::{WorkloadId, allocation, event::Noun, number::EventPosition, time::MICROS_PER_SECOND};
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
    let (mut pause, mut position, mut said) = (FIRST_LOOK, 0, Said::default());
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
        if let Some(text) = subject_step(session, &operation).await.and_then(|text| said.subject(text)) {
            progress.step(&text);
        }
        for entry in new_entries(session, &operation, &mut position).await {
            said.entry(&entry).into_iter().for_each(|text| progress.step(&text));
        }
        tokio::time::sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
        pause = (pause * 2).min(LOOK_MAX);
        operation = session.show::<OperationShow>(OperationPath { operation_id: operation.id.clone() }).await?;
    }
    // The last steps, and among them the one that failed.
    for entry in new_entries(session, &operation, &mut position).await {
        said.entry(&entry).into_iter().for_each(|text| progress.step(&text));
    }
    Ok(operation)
}

/// What was said already: the subject and its timeline take turns, and neither repeats itself.
#[derive(Debug, Default)]
struct Said {
    subject: String,
    entry: String,
    under_way: Option<TimelineStep>,
}

impl Said {
    /// A line about the subject, if it is news.
    fn subject(&mut self, line: String) -> Option<String> {
        (line != self.subject).then(|| {
            self.subject.clone_from(&line);
            line
        })
    }

    /// A line about an entry, if it is news. How far a step has come may be known before it was told that it has begun.
    fn entry(&mut self, entry: &TimelineEntry) -> Option<String> {
        if entry.state == TimelineState::Begun && self.under_way == Some(entry.step) {
            return None;
        }
        self.under_way = (entry.state == TimelineState::Progress).then_some(entry.step);
        let line = entry_line(entry);
        (line != self.entry).then(|| {
            self.entry.clone_from(&line);
            line
        })
    }
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
    let rate = entry.bytes_per_s.map(|rate| format!(", {} MB/s", rate / 1_000_000)).unwrap_or_default();
    let left_s = entry.eta.map(|eta| eta.micros_since(entry.at).max(0) / MICROS_PER_SECOND);
    let left = left_s.map(|left_s| format!(", {left_s} s left")).unwrap_or_default();
    format!("{} {}{percent}{rate}{left}: {}", entry.step, entry.state, entry.detail)
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
            let queued = view.workload_id.filter(|_| view.execution == allocation::State::Requested);
            let queued = match queued {
                Some(workload_id) => waiting_step(session, workload_id).await,
                None => None,
            };
            Some(queued.unwrap_or_else(|| line(view.execution.as_str(), &view.projected, &view.progress)))
        }
        Noun::Workload => {
            let view = session.show::<WorkloadShow>(WorkloadPath { workload_id: id.parse().ok()? }).await.ok()?;
            Some(in_queue(&view).unwrap_or_else(|| line(view.execution.as_str(), &view.projected, &view.progress)))
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

/// Where an allocation's workload waits and why, while it does.
async fn waiting_step(session: &Session, workload_id: WorkloadId) -> Option<String> {
    in_queue(&session.show::<WorkloadShow>(WorkloadPath { workload_id }).await.ok()?)
}

/// A workload's place, and why it waits; before somebody has looked at it, only that it does.
fn in_queue(view: &WorkloadView) -> Option<String> {
    let place = view.position?;
    let because = view.wait.as_ref().map_or(&view.projected, |wait| &wait.sentence);
    Some(format!("{} {} in {}, place {place}: {because}", view.id, view.execution, view.cluster_queue))
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    fn entry(step: TimelineStep, state: TimelineState, percent: Option<u8>) -> TimelineEntry {
        TimelineEntry {
            position: 1,
            step,
            state,
            percent,
            bytes_per_s: None,
            eta: None,
            attempt: None,
            detail: "It goes on.".to_owned(),
            at: Timestamp::from_micros(1),
        }
    }

    #[test]
    fn nothing_is_said_twice_although_two_take_turns() {
        let (clone, boot) = (TimelineStep::Clone, TimelineStep::Boot);
        let mut said = Said::default();
        let mut heard = Vec::new();
        for (step, state, percent) in [
            (clone, TimelineState::Progress, Some(2)),
            (clone, TimelineState::Begun, None),
            (clone, TimelineState::Progress, Some(2)),
            (clone, TimelineState::Progress, Some(50)),
            (boot, TimelineState::Begun, None),
            (clone, TimelineState::Begun, None),
        ] {
            heard.extend(said.subject("alc provisioning: The node is starting the guest.".to_owned()));
            heard.extend(said.entry(&entry(step, state, percent)));
        }
        assert_eq!(
            heard,
            [
                "alc provisioning: The node is starting the guest.",
                "clone progress 2 %: It goes on.",
                "clone progress 50 %: It goes on.",
                "boot begun: It goes on.",
                "clone begun: It goes on.",
            ]
        );
    }

    #[test]
    fn a_step_under_way_says_how_far_how_fast_and_how_long() {
        let at = Timestamp::from_micros(1_000_000);
        let mut entry = TimelineEntry {
            position: 7,
            step: TimelineStep::Clone,
            state: TimelineState::Progress,
            percent: Some(40),
            bytes_per_s: Some(1_234_000_000),
            eta: Some(at.plus_seconds(15)),
            attempt: Some(1),
            detail: "The image is copied to its disk.".to_owned(),
            at,
        };
        assert_eq!(entry_line(&entry), "clone progress 40 %, 1234 MB/s, 15 s left: The image is copied to its disk.");
        (entry.percent, entry.bytes_per_s, entry.eta) = (None, None, None);
        assert_eq!(entry_line(&entry), "clone progress: The image is copied to its disk.");
    }
}
