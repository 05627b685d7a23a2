//! What an open order needs next, read from the journal and from the host: one change, or its answer.
//!
//! Nothing is done here. Because the host is asked every time, an order whose work turns out to be there already (the agent
//! was interrupted right after doing it, or an earlier attempt did it) ends well without doing it again. Evidence that
//! is missing, empty or interrupted too often counts against the wipe, never for it.

use crate::{
    book::Open,
    host::{Guest, Host, HostFault, SlotUse, Step},
    identity::Identity,
    journal::Outcome,
};
use api::node_plane::{REPORT_BYTES_MAX, TaskReport};
use model::{
    proof::{Proof, StepEvidence, WipeStep},
    task::{GuestOrder, TaskFailure, TaskInput, TaskResult},
};
use topology::Discovery;

/// A change is begun at most this many times; more interruptions than that are a failure.
pub(crate) const TURNS_MAX: u32 = 5;

/// What an order needs next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// This change.
    Act(Step),
    /// This answer, with what was seen where the order was to look.
    Answer(TaskResult, Option<TaskReport>),
}

/// What is wrong with an order in itself, before anything is looked at.
pub(crate) fn malformed(open: &Open) -> Option<&'static str> {
    let slots = open.slots();
    if slots.is_empty() {
        Some("The order names no slot.")
    } else if slots.windows(2).any(|pair| pair[0].slot_id == pair[1].slot_id) {
        Some("The order names a slot twice.")
    } else {
        None
    }
}

pub(crate) fn next(open: &Open, host: &impl Host, identity: &Identity) -> Move {
    let guests = host.guests();
    let blind = |fault: HostFault| format!("The host's guests could not be listed: {fault}");
    match &open.task.input {
        TaskInput::SliceVmProvision(order) => match guests.map_err(blind) {
            Ok(guests) => provision(open, order, &guests),
            Err(detail) => failed(open, TaskFailure::ProvisionFailed, &detail),
        },
        TaskInput::SliceVmRelease(_) => match guests.map_err(blind) {
            Ok(guests) => release(open, &guests, identity),
            Err(detail) => failed(open, TaskFailure::GuestNotGone, &detail),
        },
        TaskInput::SliceTopologyDiscover {} => {
            look(open, host, |discovery| TaskReport::SliceTopologyDiscover(Box::new(discovery)))
        }
        TaskInput::NodeReadiness {} => {
            look(open, host, |discovery| TaskReport::NodeReadiness(Box::new(topology::readiness(&discovery))))
        }
    }
}

// Looking changes nothing, so there is nothing to journal before it: interrupted, it is simply done again.
fn look(open: &Open, host: &impl Host, report: impl FnOnce(Discovery) -> TaskReport) -> Move {
    let report = match host.capture() {
        Ok(tree) => report(topology::discover(&tree)),
        Err(fault) => return failed(open, TaskFailure::NotReadable, &fault.detail),
    };
    // A report that would be refused is worse than none: it would be held against the node, and sent for ever.
    match serde_json::to_vec(&report).map(|json| json.len()) {
        Ok(bytes) if bytes <= REPORT_BYTES_MAX => Move::Answer(done(open, vec![]), Some(report)),
        Ok(bytes) => failed(
            open,
            TaskFailure::NotReadable,
            &format!("What was seen takes {bytes} bytes, more than a report may."),
        ),
        Err(error) => failed(open, TaskFailure::NotReadable, &format!("What was seen cannot be written: {error}.")),
    }
}

/// An answer that the order could not be carried out.
pub(crate) fn failure(open: &Open, failure: TaskFailure, detail: &str) -> TaskResult {
    TaskResult {
        task_id: open.task.id.clone(),
        fence: open.task.fence,
        failure: Some(failure),
        detail: clipped(detail),
        proofs: vec![],
    }
}

fn failed(open: &Open, why: TaskFailure, detail: &str) -> Move {
    Move::Answer(failure(open, why, detail), None)
}

fn done(open: &Open, proofs: Vec<Proof>) -> TaskResult {
    let task = &open.task;
    TaskResult { task_id: task.id.clone(), fence: task.fence, failure: None, detail: String::new(), proofs }
}

fn provision(open: &Open, order: &GuestOrder, guests: &[Guest]) -> Move {
    let slots = open.slots();
    if let Some(detail) = malformed(open) {
        return failed(open, TaskFailure::ProvisionFailed, detail);
    }
    let outcome = open.outcomes.get(&Step::Provision);
    if let Some(fault) = outcome.filter(|outcome| !outcome.ok) {
        return failed(open, TaskFailure::ProvisionFailed, &fault.text);
    }
    let is_ours = |guest: &Guest| guest.allocation_id == order.allocation_id && guest.slots == slots && guest.ready;
    let there = guests.iter().any(is_ours);
    if there && (outcome.is_some() || !model::planted!(AgentRepeatsWork)) {
        return Move::Answer(done(open, vec![]), None);
    }
    if outcome.is_some() {
        return failed(open, TaskFailure::ProvisionFailed, "The guest was started and is not there.");
    }
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
            Wipe::Over(steps) => proofs.extend(nonce(open, slot).map(|nonce| identity.prove(slot, nonce, steps))),
        }
    }
    Move::Answer(done(open, proofs), None)
}

// Whatever sits on the slots goes: the book has already refused every order that is not the newest for all of them. A guest
// with a higher use than the order's is one that a restored backup has forgotten.
fn stop(open: &Open, guest: &Guest) -> Move {
    let step = Step::StopGuest { allocation_id: guest.allocation_id.clone() };
    if let Some(outcome) = open.outcomes.get(&step) {
        let detail = if outcome.ok { "The guest was stopped and is still there." } else { &outcome.text };
        return failed(open, TaskFailure::GuestNotGone, detail);
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

// Only called while no guest sits on the slot, which is the first step's evidence. The first step that fails ends the wipe
// of this slot: reading back a disk that was not erased proves nothing.
fn wipe(open: &Open, slot: &SlotUse) -> Wipe {
    let mut seen = vec![];
    for wipe in WipeStep::ALL {
        let outcome = if *wipe == WipeStep::GuestGone {
            Outcome { ok: true, text: "the host lists no guest on the slot".to_owned() }
        } else {
            let step = Step::Wipe { slot_id: slot.slot_id.clone(), wipe: *wipe };
            match open.outcomes.get(&step) {
                Some(outcome) => outcome.clone(),
                None if turns(open, &step) < TURNS_MAX => return Wipe::Step(step),
                None => Outcome { ok: false, text: INTERRUPTED.to_owned() },
            }
        };
        let ok = outcome.ok && !outcome.text.is_empty();
        seen.push(StepEvidence { step: *wipe, ok, evidence: outcome.text });
        if !ok {
            break;
        }
    }
    Wipe::Over(seen)
}

const INTERRUPTED: &str = "The agent was interrupted too often to know how it ended.";

fn turns(open: &Open, step: &Step) -> u32 {
    open.turns.get(step).copied().unwrap_or(0)
}

fn nonce<'a>(open: &'a Open, slot: &SlotUse) -> Option<&'a str> {
    open.task.slots().iter().find(|given| given.slot_id == slot.slot_id).and_then(|given| given.nonce.as_deref())
}

fn sits_on(guest: &Guest, slots: &[SlotUse]) -> bool {
    guest.slots.iter().any(|held| slots.iter().any(|slot| slot.slot_id == held.slot_id))
}

/// Text from the host, cut to what an answer may carry.
pub(crate) fn clipped(text: &str) -> String {
    const CHARACTERS_MAX: usize = 400;
    text.chars().filter(|c| !c.is_control()).take(CHARACTERS_MAX).collect()
}
