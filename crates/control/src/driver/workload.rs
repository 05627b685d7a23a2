//! Workloads: members that start together, are asked back together and come again together. Whether one is admitted or told
//! to go is decided elsewhere, over all queues at once; here is what follows from it.

use std::collections::BTreeSet;

use api::{Code, operation::OperationError};
use lifecycle::{
    Next,
    workload::{self, Effect, Members, Notice, State, View, back_off_s},
};
use model::{Timestamp, allocation::Desired};
use store::{
    Stamp, StoreError, Tx, allocations,
    living::{Living as Table, Seen},
    operations,
    preemptions::{self, PreemptionRow},
    workloads::{self, Entering, Member, WorkloadRow},
};

use super::{Hands, Living, allocation::launch_again, id_of, write_json};
use crate::{
    leader::{Leader, unchanged},
    plane::PlaneConfig,
};

/// Workloads.
pub(crate) struct Workloads;

/// A workload with everything its decider sees.
pub(crate) struct Looked {
    row: WorkloadRow,
    members: Vec<Member>,
    preemption: Option<PreemptionRow>,
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
        let told = |told: &PreemptionRow| Notice { stop: told.stop, checkpointed: told.checkpointed.is_some() };
        let view = View {
            state: row.state,
            desired: row.desired,
            members: counted,
            run_ends: row.admitted.zip(row.max_run_s).map(|(since, run_s)| since.plus_seconds(run_s)),
            notice: preemption.as_ref().map(told),
        };
        Ok(Some(Looked { row, members, preemption, view }))
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
            Effect::ReleaseMembers { reason } => release_members(hands.leader, looked, reason),
        }
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let Looked { row, members, preemption, .. } = looked;
        let now = stamp.now;
        if let Some(told) = preemption {
            match state {
                State::Stopping => preemptions::stopped(tx, &told.id, now)?,
                State::Queued | State::Finished | State::Failed => preemptions::gone(tx, &told.id, now)?,
                _ => (),
            }
        }
        if state == State::Queued {
            for member in members {
                let ended = unchanged(allocations::get(tx, &member.allocation_id)?, |it| it.version, member.version)?;
                launch_again(tx, stamp, &ended)?;
            }
            let due = now.plus_seconds(back_off_s(row.stops));
            workloads::requeue(tx, stamp, row, Some(due), Some(reason(looked, state)))?;
        } else {
            let entering = Entering { state, flavor: None, borrowed_gpus: 0, reason: Some(reason(looked, state)) };
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
