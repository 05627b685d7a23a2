//! Workloads: members that start together, are asked back together and come again together. Whether one is admitted or told
//! to go is decided elsewhere, over all queues at once; here is what follows from it.

use std::collections::BTreeSet;

use api::{Code, operation::OperationError};
use lifecycle::{
    Next,
    workload::{self, Effect, Members, Notice, State, View},
};
use model::{
    AllocationId, Timestamp,
    allocation::{self, Desired},
    notice::{StopNotice, StopReason},
    supply::NodeState,
    task::{TaskKind, TaskState},
    workload::PreemptionRule,
};
use store::{
    Stamp, StoreError, Tx, allocations,
    living::{Living as Table, Seen},
    nodes, operations,
    preemptions::{self, PreemptionRow},
    tasks::{self, TaskRow},
    workloads::{self, Entering, Member, WorkloadRow},
};

use super::{
    Hands, Living,
    allocation::launch_again,
    id_of,
    orders::{by_attempt, give_notice, held},
    write_json,
};
use crate::{
    leader::{Leader, unchanged},
    plane::PlaneConfig,
    queues,
};

/// Workloads.
pub(crate) struct Workloads;

/// A workload with everything its decider sees.
pub(crate) struct Looked {
    row: WorkloadRow,
    members: Vec<Member>,
    preemption: Option<PreemptionRow>,
    // Members whose guests are to be told that they will be stopped.
    untold: Vec<Member>,
    view: View,
}

impl Living for Workloads {
    const TABLE: Table = Table::Workloads;
    type Looked = Looked;
    type State = State;
    type Effect = Effect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(row) = workloads::get(tx, &id_of(id)?)? else { return Ok(None) };
        let only = BTreeSet::from([row.id.clone()]);
        let members = workloads::members(tx, &only)?;
        let preemption = preemptions::open_of(tx, &only)?.into_iter().next();
        let mut counted = Members::default();
        for member in &members {
            counted.note(member.allocation_state, member.desired, &member.desired_reason);
        }
        let guests = if row.state == State::Preempting { guests(tx, &members)? } else { Guests::default() };
        let notice = |told: &PreemptionRow| Notice {
            stop: told.stop,
            untold: u64::try_from(guests.untold.len()).unwrap_or(u64::MAX),
            saved: guests.saved,
        };
        let view = View {
            state: row.state,
            desired: row.desired,
            members: counted,
            run_ends: row.admitted.zip(row.max_run_s).map(|(since, run_s)| since.plus_seconds(run_s)),
            notice: preemption.as_ref().map(notice),
        };
        Ok(Some(Looked { row, members, preemption, untold: guests.untold, view }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.row.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, _: &PlaneConfig) -> Next<State, Effect> {
        workload::decide(&looked.view, now)
    }

    fn perform(hands: &Hands<'_>, looked: &Looked, effect: Effect) -> Result<(), StoreError> {
        match effect {
            Effect::EndRun => {
                let row = looked.row.clone();
                hands.leader.commit(move |tx, stamp| {
                    workloads::wish(tx, stamp, &row, Desired::Released, Some("run_time_over")).map(drop)
                })
            }
            Effect::TellGuests => tell_guests(hands.leader, looked),
            Effect::ReleaseMembers { reason } => release_members(hands.leader, looked, reason),
        }
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let Looked { row, members, preemption, .. } = looked;
        let now = stamp.now;
        if let Some(told) = preemption {
            match state {
                State::Stopping => {
                    if workload::is_saved(&looked.view) {
                        preemptions::checkpointed(tx, &told.id, now)?;
                    }
                    preemptions::stopped(tx, &told.id, now)?;
                }
                State::Queued | State::Finished | State::Failed => preemptions::gone(tx, &told.id, now)?,
                _ => (),
            }
        }
        if state == State::Queued {
            for member in members {
                let ended = unchanged(allocations::get(tx, &member.allocation_id)?, |it| it.version, member.version)?;
                launch_again(tx, stamp, &ended)?;
            }
            let returning = queues::returning(row, preemption.as_ref(), now, reason(looked, state));
            workloads::requeue(tx, stamp, row, &returning)?;
        } else {
            let reason = Some(reason(looked, state));
            let entering = Entering { state, flavor: None, sku_id: None, borrowed_gpus: 0, reason };
            workloads::enter(tx, stamp, row, entering)?;
        }
        let error = error(state).as_ref().map(write_json).transpose()?;
        operations::finish_for(tx, row.id.as_str(), state.as_str(), error.as_deref(), now)?;
        Ok(())
    }
}

/// Why a state is entered, as a word.
fn reason(looked: &Looked, state: State) -> &'static str {
    match state {
        State::Running => "members_running",
        State::Finished | State::Cancelled | State::Refused | State::Failed => "members_gone",
        _ => workload::release_reason(&looked.view),
    }
}

/// For operations that a state ends badly.
fn error(state: State) -> Option<OperationError> {
    let (code, detail) = match state {
        State::Finished | State::Cancelled => (Code::StateConflict, "It was given back before it ran."),
        State::Refused => (Code::SkuUnavailable, "There was no room for it, and it was not to wait."),
        State::Failed => (Code::ProvisioningFailed, "A member could not be built; all of them were released."),
        _ => return None,
    };
    Some(OperationError { code, detail: detail.to_owned(), refusal: None })
}

/// How the guests of a workload that has to go stand to that.
#[derive(Default)]
struct Guests {
    // Run, can be told, and were not yet.
    untold: Vec<Member>,
    // Said that the work is saved.
    saved: u64,
}

fn guests(tx: &mut Tx<'_>, members: &[Member]) -> Result<Guests, StoreError> {
    let mut guests = Guests::default();
    for member in members {
        if member.allocation_state != allocation::State::Running || member.desired != Desired::Running {
            continue;
        }
        // A member is told to go once in its life, because it does not outlive that. However the order ended, it is not given
        // again.
        match tasks::latest(tx, &member.allocation_id, TaskKind::SliceVmNotice)? {
            Some(order) => guests.saved += u64::from(says_saved(&order)),
            None if can_be_told(tx, &member.allocation_id)? => guests.untold.push(member.clone()),
            None => (),
        }
    }
    Ok(guests)
}

fn says_saved(order: &TaskRow) -> bool {
    let seen = order.result.as_ref().and_then(|result| result.notice);
    order.state == TaskState::Succeeded && seen.is_some_and(|seen| seen.checkpointed)
}

/// A silent host is told nothing, and neither is one that its tenant has: nobody there would hear it.
fn can_be_told(tx: &mut Tx<'_>, id: &AllocationId) -> Result<bool, StoreError> {
    let Some(node_id) = held(tx, id)?.node_id else { return Ok(false) };
    let node = nodes::get(tx, &node_id)?;
    Ok(node.is_some_and(|node| node.state == NodeState::Online && node.handed_over.is_none()))
}

/// Tells all guests at once that can be told. The order to stop them later has a higher attempt, and takes the place of this one.
fn tell_guests(leader: &Leader, looked: &Looked) -> Result<(), StoreError> {
    let Some(told) = looked.preemption.clone() else { return Ok(()) };
    let (row, untold) = (looked.row.clone(), looked.untold.clone());
    let reason = if told.rule == PreemptionRule::Drain { StopReason::Drained } else { StopReason::Preempted };
    leader.commit(move |tx, stamp| {
        unchanged(workloads::get(tx, &row.id)?, |found| found.version, row.version)?;
        for member in &untold {
            let found = allocations::get(tx, &member.allocation_id)?;
            let allocation = unchanged(found, |found| found.version, member.version)?;
            let attempt = by_attempt(tx, &allocation.id)?.last().map_or(0, |last| last.fence.attempt) + 1;
            // Which members of the other get its place is not known before it is gone.
            let notice = StopNotice { stop_at: told.stop, reason, by: None };
            give_notice(tx, stamp, &allocation, notice, attempt)?;
        }
        Ok(())
    })
}

/// Asks all members back that are wanted; whoever changed one in between is read again with the next look.
fn release_members(leader: &Leader, looked: &Looked, reason: &'static str) -> Result<(), StoreError> {
    let row = looked.row.clone();
    let wanted = |member: &&Member| !member.allocation_state.is_terminal() && member.desired == Desired::Running;
    let members: Vec<Member> = looked.members.iter().filter(wanted).cloned().collect();
    leader.commit(move |tx, stamp| {
        unchanged(workloads::get(tx, &row.id)?, |found| found.version, row.version)?;
        for member in &members {
            let found = allocations::get(tx, &member.allocation_id)?;
            let allocation = unchanged(found, |found| found.version, member.version)?;
            allocations::wish(tx, stamp, &allocation, Desired::Released, Some(reason))?;
        }
        Ok(())
    })
}
