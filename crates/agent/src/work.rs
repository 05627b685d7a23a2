//! What an open order about a guest needs next, read from the journal and from what the host lists: one change, or its answer.
//!
//! Nothing is done here. Because the host is asked before every move, an order whose work turns out to be there already (the agent
//! was interrupted right after doing it, or an earlier attempt did it) ends well without doing it again. Evidence that
//! is missing, empty or interrupted too often counts against the wipe, never for it.

use crate::{
    book::Open,
    host::{Guest, HostFault, SlotUse, Step},
    identity::{Challenge, Identity},
    journal::{Outcome, clipped_detail},
};
use model::{
    proof::{StepEvidence, WipeStep},
    runtime::GuestSeen,
    task::{GuestOrder, TaskFailure, TaskInput, TaskResult, TaskSlot},
};
use serde_json::Value;

// A change is begun at most this many times; more interruptions than that are a failure.
const TURNS_MAX: u32 = 5;

/// What an order needs next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// This change.
    Act(Step),
    /// This answer.
    Answer(TaskResult),
}

// What is wrong with an order in itself, before anything is looked at.
fn malformed(open: &Open) -> Option<&'static str> {
    let slots = open.slots();
    if slots.is_empty() {
        Some("The order names no slot.")
    } else if slots.windows(2).any(|pair| pair[0].slot_id == pair[1].slot_id) {
        Some("The order names a slot twice.")
    } else {
        None
    }
}

pub(crate) fn next(open: &Open, guests: &Result<Vec<Guest>, HostFault>, identity: &Identity) -> Move {
    let blind = |fault: &HostFault| format!("The host's guests could not be listed: {fault}");
    match (&open.task.input, guests) {
        (TaskInput::SliceVmProvision(order), Ok(guests)) => provision(open, order, guests),
        (TaskInput::SliceVmProvision(_), Err(fault)) => failed(open, TaskFailure::ProvisionFailed, &blind(fault)),
        (TaskInput::SliceVmRelease(_), Ok(guests)) => release(open, guests, identity),
        (TaskInput::SliceVmRelease(_), Err(fault)) => failed(open, TaskFailure::GuestNotGone, &blind(fault)),
        _ => failed(open, TaskFailure::UnknownKind, "The order is not about a guest."),
    }
}

/// An answer that the order could not be carried out.
pub(crate) fn failure(open: &Open, failure: TaskFailure, detail: &str) -> TaskResult {
    TaskResult::failed(open.task.id.clone(), open.task.fence, failure, clipped_detail(detail))
}

fn failed(open: &Open, why: TaskFailure, detail: &str) -> Move {
    Move::Answer(failure(open, why, detail))
}

// A change did not work: what kind of failure it is the host may know better than the step.
fn faulted(open: &Open, usual: TaskFailure, outcome: &Outcome) -> Move {
    let refusals = outcome.refusals.clone();
    Move::Answer(TaskResult { refusals, ..failure(open, outcome.failure.unwrap_or(usual), &outcome.text) })
}

fn started(open: &Open, seen: &GuestSeen) -> Move {
    Move::Answer(TaskResult { guest: Some(Box::new(seen.clone())), ..TaskResult::done(&open.task) })
}

fn provision(open: &Open, order: &GuestOrder, guests: &[Guest]) -> Move {
    let slots = open.slots();
    if let Some(detail) = malformed(open) {
        return failed(open, TaskFailure::ProvisionFailed, detail);
    }
    let outcome = open.outcomes.get(&Step::Provision);
    if let Some(fault) = outcome.filter(|outcome| !outcome.ok) {
        return faulted(open, TaskFailure::ProvisionFailed, fault);
    }
    let is_ours = |guest: &Guest| guest.allocation_id == order.allocation_id && guest.slots == slots;
    let there = guests.iter().find(|guest| is_ours(guest) && guest.ready);
    // Where neither the journal nor the list has what is seen of the guest, the host is asked once more.
    let seen = outcome.and_then(|outcome| outcome.guest.as_deref()).or(there.and_then(|guest| guest.seen.as_ref()));
    if let (Some(_), Some(seen)) = (there, seen)
        && (outcome.is_some() || !model::planted!(AgentRepeatsWork))
    {
        return started(open, seen);
    }
    if outcome.is_some() {
        return failed(open, TaskFailure::ProvisionFailed, "The guest was started and is not there.");
    }
    // What an attempt for this very use began and did not get to the end is gone on with, also by a later attempt; what
    // another left is for a release to clean up.
    if let Some(stranger) = guests.iter().find(|guest| !is_ours(guest) && sits_on(guest, &slots)) {
        let detail = format!("What is left of {} sits on the slots.", stranger.allocation_id);
        return failed(open, TaskFailure::ProvisionFailed, &detail);
    }
    if turns(open, &Step::Provision) >= TURNS_MAX {
        return failed(open, TaskFailure::ProvisionFailed, INTERRUPTED);
    }
    Move::Act(Step::Provision)
}

fn release(open: &Open, guests: &[Guest], identity: &Identity) -> Move {
    if let Some(detail) = malformed(open) {
        return failed(open, TaskFailure::GuestNotGone, detail);
    }
    let slots = open.slots();
    let mut in_the_way = guests.iter().filter(|guest| sits_on(guest, &slots));
    if let Some(guest) = in_the_way.next().filter(|_| !model::planted!(ReleaseLeavesGuest)) {
        return stop(open, guest);
    }
    let mut proofs = vec![];
    for slot in &slots {
        match wipe(open, slot) {
            Wipe::Step(step) => return Move::Act(step),
            Wipe::Over(steps) => {
                proofs.extend(challenge(open, slot).map(|challenge| identity.prove(slot, challenge, steps)))
            }
        }
    }
    Move::Answer(TaskResult { proofs, ..TaskResult::done(&open.task) })
}

// Whatever sits on the slots goes: the book has already refused every order that is not the newest for all of them. A guest
// with a higher use than the order's is one that a restored backup has forgotten.
fn stop(open: &Open, guest: &Guest) -> Move {
    let step = Step::StopGuest { allocation_id: guest.allocation_id.clone() };
    if let Some(outcome) = open.outcomes.get(&step) {
        if !outcome.ok {
            return faulted(open, TaskFailure::GuestNotGone, outcome);
        }
        return failed(open, TaskFailure::GuestNotGone, "The guest was stopped and is still there.");
    }
    if turns(open, &step) >= TURNS_MAX {
        return failed(open, TaskFailure::GuestNotGone, INTERRUPTED);
    }
    Move::Act(step)
}

enum Wipe {
    Step(Step),
    Over(Vec<StepEvidence>),
}

// Only called while no guest is listed on the slot; that nobody sits there the host says itself, as the first step. The first
// step that fails ends the wipe of this slot: reading back a disk that was not erased proves nothing.
fn wipe(open: &Open, slot: &SlotUse) -> Wipe {
    let mut seen = vec![];
    for wipe in needed(open, slot) {
        let step = Step::Wipe { slot_id: slot.slot_id.clone(), wipe };
        let outcome = match open.outcomes.get(&step) {
            Some(outcome) => outcome.clone(),
            None if wipe == WipeStep::GuestGone && model::planted!(ReleaseLeavesGuest) => {
                Outcome::done("so it is said")
            }
            None if turns(open, &step) < TURNS_MAX => return Wipe::Step(step),
            None => Outcome::failed(&HostFault::new(INTERRUPTED)),
        };
        let ok = outcome.ok && !outcome.text.is_empty();
        let evidence = if ok && wipe == WipeStep::GuestGone { gone(open, &outcome) } else { outcome.text };
        seen.push(StepEvidence { step: wipe, ok, evidence });
        if !ok {
            break;
        }
    }
    Wipe::Over(seen)
}

// That nobody sits on the slot now, and what was seen when this order stopped who did: his machine and his processes gone,
// his partition off, his devices reset.
fn gone(open: &Open, now: &Outcome) -> String {
    let stops = open.outcomes.iter().filter(|(step, _)| matches!(step, Step::StopGuest { .. }));
    let stopped: Vec<&str> = stops.map(|(_, outcome)| outcome.text.as_str()).collect();
    match serde_json::from_str(&now.text) {
        Ok(Value::Object(mut seen)) if !stopped.is_empty() => {
            seen.insert("stopped".to_owned(), clipped_detail(&stopped.join("; ")).into());
            Value::Object(seen).to_string()
        }
        _ => now.text.clone(),
    }
}

const INTERRUPTED: &str = "The agent was interrupted too often to know how it ended.";

fn turns(open: &Open, step: &Step) -> u32 {
    open.turns.get(step).copied().unwrap_or(0)
}

fn given<'a>(open: &'a Open, slot: &SlotUse) -> Option<&'a TaskSlot> {
    open.task.slots().iter().find(|given| given.slot_id == slot.slot_id)
}

// Which steps the slot's devices need; without knowing its devices, all of them.
fn needed(open: &Open, slot: &SlotUse) -> Vec<WipeStep> {
    match given(open, slot).and_then(|given| given.bundle.as_ref()) {
        Some(bundle) => WipeStep::needed(bundle.gpu.is_some(), bundle.fabric.is_some()),
        None => WipeStep::ALL.to_vec(),
    }
}

fn challenge<'a>(open: &'a Open, slot: &SlotUse) -> Option<Challenge<'a>> {
    let given = given(open, slot)?;
    let disk_identity = given.bundle.as_ref().map_or("", |bundle| &bundle.disk_identity);
    Some(Challenge { disk_identity, nonce: given.nonce.as_deref()? })
}

fn sits_on(guest: &Guest, slots: &[SlotUse]) -> bool {
    guest.slots.iter().any(|held| slots.iter().any(|slot| slot.slot_id == held.slot_id))
}
