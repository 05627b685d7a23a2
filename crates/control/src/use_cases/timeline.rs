//! The timeline of an allocation, read off its events and those of its orders: what is shown is what is stored, in words.
//!
//! One entry comes of one event, and an entry's position is that event's number, so that whoever goes on behind a position
//! misses nothing and sees nothing twice. Events that say nothing to an owner make no entry. How far the step under way
//! has come is the last word of the host about its open order; it is shown behind the entries and moves nobody on.
//!
//! Events of one moment are numbered in no order that means anything. They share their numbers out again in the order of
//! cause, always over the whole moment, so that everybody sees the same, wherever a page began.

use api::{
    page::DEFAULT_PAGE_SIZE,
    timeline::{TimelineEntry, TimelinePage, TimelineShow, TimelineState, TimelineStep, TimelineStream},
};
use model::{
    AllocationId, Timestamp,
    event::{Change, Noun},
    number::{EventPosition, PageSize},
    runtime::WorkProgress,
    task::{TaskFailure, TaskKind, TaskState},
};
use serde::{Deserialize, Serialize};
use store::{
    StoreError, Tx, events,
    tasks::{self, TaskRow},
    timeline::{self, TimelineRow},
};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, StreamOf, StreamStart, route},
    host_words,
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<TimelineShow>(timeline_show), route::<TimelineStream>(timeline_stream)]
}

fn timeline_show(ctx: &mut Ctx<'_, '_>, input: Input<TimelineShow>) -> Result<Answer<TimelinePage>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    let after = input.query.after.map_or(0, EventPosition::get);
    let limit = input.query.page_size.map_or(DEFAULT_PAGE_SIZE, PageSize::get);
    Ok(Answer::new(page(ctx.tx, &row.id, (after, limit), ctx.stamp.now)?))
}

fn timeline_stream(ctx: &mut Ctx<'_, '_>, input: Input<TimelineStream>) -> Result<Answer<TimelineEntry>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    let after = input.last_event_id.or(input.query.after.map(EventPosition::get)).unwrap_or(0);
    Ok(Answer::stream(StreamStart { after, of: StreamOf::Timeline(row.id) }))
}

/// Some of a timeline.
pub(crate) fn page(
    tx: &mut Tx<'_>,
    id: &AllocationId,
    (after, limit): (i64, i64),
    now: Timestamp,
) -> Result<TimelinePage, StoreError> {
    let (head, end) = (events::head(tx)?, timeline::end_of(tx, id)?);
    // Slots that are wiped once more after the end are the platform's business.
    let through = end.unwrap_or(head);
    let mut rows = timeline::of_allocation(tx, id, (after, through), limit.saturating_add(2 * MOMENT_MAX))?;
    by_cause(&mut rows);
    rows.retain(|row| row.seq > after);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let full = limit < rows.len();
    rows.truncate(limit);
    let next_after = match rows.last() {
        Some(last) if full => last.seq,
        _ => through.max(after),
    };
    let more = full && next_after < through;
    // Orders are looked at only where one failed: what their host said is told in its place.
    let failed = rows.iter().any(|row| row.noun == Noun::Task && row.state_to.as_deref() == Some("failed"));
    let orders = if failed { tasks::of_allocation(tx, id)? } else { vec![] };
    let order = |row: &TimelineRow| orders.iter().find(|task| task.id.as_str() == row.subject_id);
    let mut items: Vec<TimelineEntry> = rows.iter().filter_map(|row| entry(row, order(row))).collect();
    if !more && end.is_none() {
        items.extend(under_way(tx, id, now)?);
    }
    Ok(TimelinePage { items, next_after, more, ended: end.is_some() && !more })
}

/// No moment has more events of one allocation than this.
const MOMENT_MAX: i64 = 32;

/// Puts what happened in one moment into the order of cause: the allocation moves, then its orders do, then it ends.
fn by_cause(rows: &mut [TimelineRow]) {
    for moment in rows.chunk_by_mut(|one, other| one.at == other.at) {
        let places: Vec<i64> = moment.iter().map(|row| row.seq).collect();
        moment.sort_by_key(|row| match (row.noun, row.state_to.as_deref()) {
            (Noun::Allocation, Some("released" | "refused" | "failed")) => (2, 0),
            (Noun::Task, _) => (1, row.attempt.unwrap_or(0)),
            _ => (0, 0),
        });
        for (row, seq) in moment.iter_mut().zip(places) {
            row.seq = seq;
        }
    }
}

fn entry(row: &TimelineRow, order: Option<&TaskRow>) -> Option<TimelineEntry> {
    let (step, state, detail) = match row.noun {
        Noun::Allocation => of_allocation(row)?,
        Noun::Task => of_order(row)?,
        _ => return None,
    };
    let failed = order.filter(|_| state == TimelineState::Failed && row.state_to.as_deref() == Some("failed"));
    let (step, detail) = match failed.and_then(|order| failure(order, step)) {
        Some((step, why)) => (step, why),
        None => (step, detail.to_owned()),
    };
    Some(TimelineEntry {
        position: row.seq,
        step,
        state,
        percent: None,
        bytes_per_s: None,
        eta: None,
        attempt: row.attempt,
        detail,
        at: row.at,
    })
}

/// Where a host gave up on building something, and why, in words that are the owner's to read.
fn failure(order: &TaskRow, usual: TimelineStep) -> Option<(TimelineStep, String)> {
    let result = order.result.as_ref().filter(|_| order.kind == TaskKind::SliceVmProvision)?;
    let at = Said::of(order).and_then(|said| TimelineStep::of(said.progress.step));
    let step = match result.failure? {
        TaskFailure::PlanRefused => TimelineStep::Plan,
        TaskFailure::ImageRefused => TimelineStep::Image,
        _ => at.unwrap_or(usual),
    };
    Some((step, host_words::owner_sentence(result)))
}

type Told = (TimelineStep, TimelineState, &'static str);

fn of_allocation(row: &TimelineRow) -> Option<Told> {
    use TimelineState::{Begun, Done, Failed};
    let reason = row.reason.as_deref();
    Some(match (row.change, row.state_to.as_deref()) {
        (Change::Created, _) => (TimelineStep::Admission, Done, "It was asked for and let in."),
        (Change::StateChanged, Some("reserved")) => {
            (TimelineStep::Placement, Done, "It has a place; its GPUs are reserved.")
        }
        (Change::StateChanged, Some("refused")) if reason == Some("sku_unavailable") => {
            (TimelineStep::Placement, Failed, "There is no place for it now.")
        }
        (Change::StateChanged, Some("refused")) => (TimelineStep::Admission, Failed, "It was not let in after all."),
        (Change::StateChanged, Some("running")) => (TimelineStep::Running, Done, "It is running."),
        (Change::StateChanged, Some("releasing")) if reason == Some("provision_failed") => {
            (TimelineStep::Stopping, Begun, "It could not be built; what is left of it is cleaned up.")
        }
        (Change::StateChanged, Some("releasing")) => (TimelineStep::Stopping, Begun, "It is being stopped."),
        (Change::StateChanged, Some("released")) if reason == Some("force_released") => (
            TimelineStep::Released,
            Done,
            "It was given back without word from its host; its GPUs stay out of sale until they are proved clean.",
        ),
        (Change::StateChanged, Some("released")) => (TimelineStep::Released, Done, "It was given back."),
        (Change::StateChanged, Some("failed")) => {
            (TimelineStep::Released, Failed, "It could not be built; its GPUs were given back.")
        }
        (Change::Wished, _) => (TimelineStep::ReleaseWanted, Done, wished(reason)?),
        (Change::Updated, _) => match reason? {
            "lease_ends_soon" => (TimelineStep::Lease, Begun, "Its lease ends soon."),
            "lease_extended" => (TimelineStep::Lease, Done, "Its lease was extended."),
            _ => return None,
        },
        _ => return None,
    })
}

fn wished(reason: Option<&str>) -> Option<&'static str> {
    Some(match reason {
        None => "Its owner gives it back.",
        Some("lease_ended") => "Its lease has ended.",
        Some("evacuated") => "Its node is evacuated; it will be launched again elsewhere.",
        Some("force_released") => "An operator releases it without waiting for its host.",
        Some("project_deleted") => "Its project is being deleted.",
        // Begun anew at an operator's word: nothing is wanted that was not wanted before.
        Some("repair") => return None,
        Some(_) => "It is to be given back.",
    })
}

fn of_order(row: &TimelineRow) -> Option<Told> {
    use TimelineState::{Begun, Done, Failed};
    let kind = row.kind?;
    if kind.is_for_provider() {
        return of_machine(row, kind);
    }
    if kind == TaskKind::SliceVmNotice {
        return of_notice(row);
    }
    let provision = kind == TaskKind::SliceVmProvision;
    Some(match (row.change, row.state_to.as_deref()) {
        (Change::Created, _) if provision => (TimelineStep::Order, Begun, "The host is told to build it."),
        (Change::Created, _) => (TimelineStep::Order, Begun, "The host is told to stop it and wipe its devices."),
        (Change::StateChanged, Some("delivered")) => (TimelineStep::Order, Done, "The host has fetched the order."),
        (Change::Updated, _) => begun(row.reason.as_deref()?.parse().ok()?)?,
        (Change::StateChanged, Some("succeeded")) if provision => {
            (TimelineStep::SshReady, Done, "The guest is up and answers.")
        }
        (Change::StateChanged, Some("succeeded")) => {
            (TimelineStep::Proof, Done, "The host says that the guest is gone, and answered for the wipe.")
        }
        (Change::StateChanged, Some("failed")) if provision => {
            (TimelineStep::Boot, Failed, "The host could not build it.")
        }
        (Change::StateChanged, Some("failed")) => {
            (TimelineStep::Stopping, Failed, "The host could not stop it; it is told again.")
        }
        (Change::StateChanged, Some("expired")) => {
            (TimelineStep::Order, Failed, "No answer came in time, or a newer order took its place.")
        }
        _ => return None,
    })
}

fn of_notice(row: &TimelineRow) -> Option<Told> {
    use TimelineState::{Begun, Done, Failed};
    let (state, words) = match (row.change, row.state_to.as_deref()) {
        (Change::Created, _) => (Begun, "The guest is to be told that it will be stopped."),
        (Change::Updated, _) => return begun(row.reason.as_deref()?.parse().ok()?),
        (Change::StateChanged, Some("succeeded")) => (Done, "The guest is ready to be stopped, or its notice is over."),
        (Change::StateChanged, Some("failed")) => (Failed, "The guest could not be told."),
        (Change::StateChanged, Some("expired")) => (Done, "No answer came in time, or a newer order took its place."),
        _ => return None,
    };
    Some((TimelineStep::Notice, state, words))
}

fn of_machine(row: &TimelineRow, kind: TaskKind) -> Option<Told> {
    use TimelineState::{Begun, Done, Failed};
    let deploy = kind == TaskKind::MachineDeploy;
    Some(match (row.change, row.state_to.as_deref()) {
        (Change::Created, _) if deploy => (
            TimelineStep::Order,
            Begun,
            "The whole machine is handed over; the platform's own identity on it is revoked.",
        ),
        (Change::Created, _) => (TimelineStep::Order, Begun, "The machine is to be taken back."),
        (Change::StateChanged, Some("delivered")) => (TimelineStep::Order, Done, "The machine's provider is asked."),
        (Change::Updated, _) => begun(row.reason.as_deref()?.parse().ok()?)?,
        (Change::StateChanged, Some("succeeded")) if deploy => {
            (TimelineStep::MachineInstall, Done, "The machine is installed and in the hands of its owner.")
        }
        (Change::StateChanged, Some("succeeded")) => (
            TimelineStep::MachineLook,
            Done,
            "The machine is back, enrolled again and as it was approved; its devices are wiped next.",
        ),
        (Change::StateChanged, Some("failed")) if deploy => {
            (TimelineStep::MachineInstall, Failed, "The machine could not be installed.")
        }
        (Change::StateChanged, Some("failed")) => {
            (TimelineStep::MachineFree, Failed, "The machine could not be taken back; it is tried again.")
        }
        (Change::StateChanged, Some("expired")) => {
            (TimelineStep::Order, Failed, "It took too long, or a newer order took its place.")
        }
        _ => return None,
    })
}

fn begun(step: TimelineStep) -> Option<Told> {
    let words = words(step)?;
    Some((step, TimelineState::Begun, words))
}

// The steps that a host reports, in words.
fn words(step: TimelineStep) -> Option<&'static str> {
    Some(match step {
        TimelineStep::Image => "The host fetches the image.",
        TimelineStep::Plan => "The host checks every device.",
        TimelineStep::HostLease => "The host keeps everybody else away from its devices.",
        TimelineStep::Clone => "The image is copied to its disk.",
        TimelineStep::Verify => "What was copied is read back.",
        TimelineStep::Seed => "What it is told is written down.",
        TimelineStep::Devices => "Its GPUs and its fabric are made ready.",
        TimelineStep::Network => "Its addresses are set up.",
        TimelineStep::LeaseSeen => "The guest is waited for to take its address.",
        TimelineStep::Boot => "The guest starts.",
        TimelineStep::SshReady => "The guest is waited for to answer to SSH.",
        TimelineStep::Notice => "The guest is waited for to say that it is ready to be stopped.",
        TimelineStep::Stopping => "The guest is stopped.",
        TimelineStep::MachineFree => "The machine is taken back from whoever had it, and its disks are erased.",
        TimelineStep::MachineInstall => "The machine is installed.",
        TimelineStep::MachineEnroll => "The platform's own host on the machine is waited for to call.",
        TimelineStep::MachineLook => "The host that came back is compared with what was approved.",
        TimelineStep::Wiping => "Its devices are wiped.",
        _ => return None,
    })
}

/// What an agent last said about an order it works on, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    /// The agent's words.
    pub(crate) progress: WorkProgress,
    /// Since when it is at this step.
    pub(crate) since: Timestamp,
}

impl Said {
    /// What is stored of an order's progress, if anything can be made of it.
    pub(crate) fn of(task: &TaskRow) -> Option<Self> {
        serde_json::from_str(task.progress.as_deref()?).ok()
    }

    /// The place of its step among those that hosts report; none for words that mean nothing here.
    pub(crate) fn rank(&self) -> Option<usize> {
        let step = TimelineStep::of(self.progress.step)?;
        TimelineStep::ALL.iter().position(|known| *known == step)
    }
}

/// The step under way, as the host last told it.
fn under_way(tx: &mut Tx<'_>, id: &AllocationId, now: Timestamp) -> Result<Option<TimelineEntry>, StoreError> {
    let open = tasks::of_allocation(tx, id)?.into_iter().filter(|task| task.state == TaskState::Delivered);
    let Some(task) = open.max_by_key(|task| task.fence.attempt) else { return Ok(None) };
    let told = Said::of(&task).and_then(|said| Some((TimelineStep::of(said.progress.step)?, said)));
    let Some((step, said)) = told else { return Ok(None) };
    let Some(detail) = words(step) else { return Ok(None) };
    let position = events::of_subject(tx, task.id.as_str(), 0, 200)?.last().map_or(0, |event| event.seq);
    Ok(Some(TimelineEntry {
        position,
        step,
        state: TimelineState::Progress,
        percent: said.progress.percent.map(|percent| percent.min(100)),
        bytes_per_s: said.progress.bytes_per_s,
        eta: eta(&said, now),
        attempt: Some(task.fence.attempt),
        detail: detail.to_owned(),
        at: now,
    }))
}

/// When a step will be done: as the host says, or if it goes on as it did so far. Nothing is said before the first percent.
fn eta(said: &Said, now: Timestamp) -> Option<Timestamp> {
    if let Some(remaining_s) = said.progress.remaining_s {
        return Some(now.plus_seconds(i64::try_from(remaining_s).unwrap_or(i64::MAX)));
    }
    let percent = i64::from(said.progress.percent?.min(100));
    let passed_us = now.micros_since(said.since);
    if percent == 0 || passed_us <= 0 || said.since == Timestamp::default() {
        return None;
    }
    Some(now.plus_micros(passed_us.saturating_mul(100 - percent) / percent))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::runtime::WorkStep;

    #[test]
    fn a_step_is_expected_to_go_on_as_it_did() {
        let at = |seconds: i64| Timestamp::from_micros(1_000_000).plus_seconds(seconds);
        let said = |percent: u8| Said {
            progress: WorkProgress { percent: Some(percent), ..WorkProgress::at(WorkStep::Clone) },
            since: at(0),
        };
        assert_eq!(eta(&said(25), at(10)), Some(at(40)));
        assert_eq!(eta(&said(100), at(10)), Some(at(10)));
        assert_eq!(eta(&said(0), at(10)), None);
        assert_eq!(eta(&said(50), at(0)), None);
        let mut told = said(50);
        told.progress.remaining_s = Some(7);
        assert_eq!(eta(&told, at(10)), Some(at(17)), "the host knows better");
    }

    fn row(seq: i64, at: i64, noun: Noun, state_to: &str) -> TimelineRow {
        TimelineRow {
            seq,
            noun,
            change: Change::StateChanged,
            subject_id: String::new(),
            state_to: Some(state_to.to_owned()),
            reason: None,
            at: Timestamp::from_micros(at),
            kind: None,
            attempt: None,
        }
    }

    #[test]
    fn what_happened_in_one_moment_is_told_by_cause() {
        let mut rows = vec![
            row(1, 10, Noun::Allocation, "requested"),
            row(2, 20, Noun::Task, "pending"),
            row(3, 20, Noun::Allocation, "reserved"),
            row(4, 30, Noun::Allocation, "released"),
            row(5, 30, Noun::Task, "expired"),
        ];
        by_cause(&mut rows);
        let told: Vec<(i64, &str)> = rows.iter().map(|row| (row.seq, row.state_to.as_deref().unwrap())).collect();
        assert_eq!(told, [(1, "requested"), (2, "reserved"), (3, "pending"), (4, "expired"), (5, "released")]);
    }

    #[test]
    fn steps_that_hosts_report_are_in_order_and_others_mean_nothing() {
        let rank = |step: WorkStep| Said { progress: WorkProgress::at(step), since: Timestamp::default() }.rank();
        let building = [
            WorkStep::Image,
            WorkStep::Plan,
            WorkStep::Lease,
            WorkStep::Clone,
            WorkStep::Verify,
            WorkStep::Seed,
            WorkStep::Devices,
            WorkStep::Network,
            WorkStep::Start,
            WorkStep::LeaseSeen,
            WorkStep::SshReady,
        ];
        assert!(building.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
        assert!(rank(WorkStep::Stop) < rank(WorkStep::Erase));
        assert_eq!([rank(WorkStep::Waiting), rank(WorkStep::Reconcile), rank(WorkStep::Look)], [None; 3]);
    }
}
