//! A slot: between being sold and being sold again.
//!
//! Only a valid proof of its latest use makes a slot available. Anything else (no proof, a step missing, a wrong
//! challenge, a bad signature) blocks it. A blocked slot is wiped again a bounded number of times, then rests blocked until
//! an operator has it begun anew, or two operators let it go on without a proof ([`crate::wipe_override`]). While a claim is active the slot belongs to its allocation and nothing is decided here.

use crate::{
    diagram,
    order::{Orders, Rule},
};
pub use model::supply::SlotState as State;
use model::{
    Timestamp,
    lifecycle::{Next, Wait},
    proof::ProofFault,
};

/// What is known about the proof of a slot's latest use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofView {
    /// None has come.
    Missing,
    /// One has come and proves nothing.
    Faulty(ProofFault),
    /// One has come and holds.
    Valid,
}

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// An allocation holds it, or its whole node.
    pub claim_active: bool,
    /// The proof of its latest use.
    pub proof: ProofView,
    /// Its node has been heard of lately.
    pub node_online: bool,
    /// Orders to wipe it again, after its latest use.
    pub rewipe: Orders,
}

/// What a slot may ask of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Order the node to wipe the slot again. All slots of one use ask for this at once, so the order gets its number among
    /// those of the allocation only when it is written down.
    OrderRewipe,
}

/// The published graph. The driver moves a slot out of `wiping` and `cleanup_blocked`; its allocation's transactions make
/// the moves into `reserved`, `in_use`, `wiping`, and into `cleanup_blocked` when building failed; an operator makes
/// those to and from `disabled`, two of them together the one from `cleanup_blocked` without a proof; one that was taken out
/// before it was proved clean comes back as `cleanup_blocked`, and so does one on which its host finds a guest that should
/// be gone.
pub const EDGES: &[(State, State)] = &[
    (State::Disabled, State::Available),
    (State::Disabled, State::CleanupBlocked),
    (State::Available, State::Disabled),
    (State::Available, State::Reserved),
    (State::Available, State::CleanupBlocked),
    (State::Reserved, State::InUse),
    (State::Reserved, State::Wiping),
    (State::Reserved, State::CleanupBlocked),
    (State::InUse, State::Wiping),
    (State::InUse, State::CleanupBlocked),
    (State::Wiping, State::Available),
    (State::Wiping, State::CleanupBlocked),
    (State::CleanupBlocked, State::Wiping),
    (State::CleanupBlocked, State::Available),
    (State::CleanupBlocked, State::Disabled),
];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Disabled, EDGES)
}

/// A slot is wiped again this many times before it rests blocked.
pub const REWIPES_MAX: i64 = 3;

const REWIPE: Rule<'static> =
    Rule { purpose: "wipe the slot", given_max: REWIPES_MAX, exhausted_code: "cleanup_needs_operator" };
const ORDER_BUDGET_S: i64 = 600;
const ORDER_LOOK_S: i64 = 15;
const CLAIM_BUDGET_S: i64 = 1800;
const CLAIM_LOOK_S: i64 = 30;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, Effect> {
    match view.state {
        State::Disabled | State::Available | State::Reserved | State::InUse => Next::Forget,
        State::Wiping | State::CleanupBlocked if view.claim_active => {
            let because = "An allocation still holds the slot; it is cleaned up when the guest is proved gone.";
            Next::Wait(Wait::new("claim_active", because, CLAIM_BUDGET_S, CLAIM_LOOK_S))
        }
        State::Wiping | State::CleanupBlocked if view.proof == ProofView::Valid => Next::Enter(State::Available),
        State::Wiping => Next::Enter(State::CleanupBlocked),
        State::CleanupBlocked if view.rewipe.is_open() => {
            let because = format!("The node is wiping the slot again: {}.", proof_words(view.proof));
            Next::Wait(Wait::new("node_rewiping", because, ORDER_BUDGET_S, ORDER_LOOK_S))
        }
        State::CleanupBlocked => match view.rewipe.next_allowed(&REWIPE, view.node_online, now) {
            Ok(()) => Next::Do(Effect::OrderRewipe),
            Err(mut wait) => {
                wait.because = format!("{} The slot is not for sale: {}.", wait.because, proof_words(view.proof));
                Next::Wait(wait)
            }
        },
    }
}

fn proof_words(proof: ProofView) -> &'static str {
    match proof {
        ProofView::Missing => "no proof has come",
        ProofView::Faulty(ProofFault::WrongSubject) => "the proof is about another slot",
        ProofView::Faulty(ProofFault::WrongGeneration) => "the proof is about another use",
        ProofView::Faulty(ProofFault::WrongDisk) => "the proof is about another disk",
        ProofView::Faulty(ProofFault::WrongNonce) => "the proof does not answer the challenge",
        ProofView::Faulty(ProofFault::StepFailed) => "a step of the wipe failed",
        ProofView::Faulty(ProofFault::StepMissing) => {
            "a step is missing from the proof, or its evidence does not show it"
        }
        ProofView::Faulty(ProofFault::BadSignature) => "the proof is not signed by the node",
        ProofView::Valid => "the proof holds",
    }
}
