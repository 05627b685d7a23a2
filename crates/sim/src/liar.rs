//! An agent that lies: it answers for other nodes, repeats what it said long ago, and sends proofs that prove nothing. It
//! speaks under its own node's identity, because that is all a stolen host gives away.
//!
//! It does not claim, with a flawless proof, that it wiped what it did not: no protocol can see through that without
//! attested hardware, and this one does not pretend to.

use crate::{dice::Dice, fleet::HostPlan};
use agent::{Challenge, SlotUse};
use api::node_plane::{Poll, TaskAnswer, ToControl};
use model::{
    NodeId,
    proof::{Proof, StepEvidence, WipeStep},
    task::{TaskKind, TaskResult, TaskState},
};
use store::tasks::TaskRow;

/// A lie, ready to be sent.
#[derive(Debug, Clone)]
pub struct Lie {
    /// What is said.
    pub message: ToControl,
    /// The own order that it answers, if it does.
    pub about_own: Option<TaskRow>,
}

/// Makes up something. `own` and `others` are orders that are in the hands of this node and of others.
pub fn lie(dice: &mut Dice, plan: &HostPlan, own: &[TaskRow], others: &[TaskRow], said: &[ToControl]) -> Option<Lie> {
    let node_id = plan.node_id();
    match dice.below(6) {
        0 => {
            let other = dice.pick(others)?;
            Some(harmless(ToControl::Poll(Poll { node_id: other.node_id.clone(), boot: 1 })))
        }
        1 | 2 => {
            let task = dice.pick(others)?;
            // In its own name, or in the other's.
            let speaker = if dice.chance(500) { node_id } else { task.node_id.clone() };
            let result = claim(task, proofs(dice, plan, task));
            Some(harmless(ToControl::Result(TaskAnswer { node_id: speaker, boot: 1, result, report: None })))
        }
        3 => dice.pick(said).cloned().map(harmless),
        _ => {
            let releases: Vec<&TaskRow> = own.iter().filter(|task| task.kind == TaskKind::SliceVmRelease).collect();
            let task = (*dice.pick(&releases)?).clone();
            let proofs = proofs(dice, plan, &task);
            let message =
                ToControl::Result(TaskAnswer { node_id, boot: 1, result: claim(&task, proofs), report: None });
            Some(Lie { message, about_own: Some(task) })
        }
    }
}

/// Orders that have been handed out and not answered: a node knows of no others.
pub fn handed_out(tasks: Vec<TaskRow>) -> Vec<TaskRow> {
    tasks.into_iter().filter(|task| task.state == TaskState::Delivered).collect()
}

fn harmless(message: ToControl) -> Lie {
    Lie { message, about_own: None }
}

fn claim(task: &TaskRow, proofs: Vec<Proof>) -> TaskResult {
    let proofs = if task.kind == TaskKind::SliceVmRelease { proofs } else { vec![] };
    TaskResult { proofs, ..TaskResult::done(&task.order()) }
}

// One proof for each slot, each with something wrong.
fn proofs(dice: &mut Dice, plan: &HostPlan, task: &TaskRow) -> Vec<Proof> {
    task.slots()
        .iter()
        .map(|slot| {
            let mut used = SlotUse { slot_id: slot.slot_id.clone(), use_generation: slot.use_generation };
            let mut nonce = slot.nonce.clone().unwrap_or_default();
            let disk_identity = slot.bundle.as_ref().map_or("", |bundle| &bundle.disk_identity);
            let mut steps: Vec<StepEvidence> = WipeStep::ALL
                .iter()
                .map(|step| StepEvidence {
                    step: *step,
                    ok: true,
                    evidence: step.simulated_evidence(disk_identity, &nonce),
                })
                .collect();
            let wrong = dice.below(7);
            match wrong {
                0 => nonce.push('0'),
                1 => used.use_generation -= 1,
                2 => drop(steps.pop()),
                3 => steps[1].evidence.clear(),
                6 => "trust me".clone_into(&mut steps[2].evidence),
                _ => (),
            }
            let challenge = Challenge { disk_identity, nonce: &nonce };
            let mut proof = plan.identity().prove(&used, challenge, steps);
            match wrong {
                4 => proof.signature = "00".repeat(64),
                5 => proof.node_id = NodeId::from_parts(model::Timestamp::from_micros(0), [7; 10]),
                _ => (),
            }
            proof
        })
        .collect()
}
