//! Decisions about capacity, as pure functions: whether a request may enter, and which slots it gets.
//!
//! Same input, same output: nothing here reads a clock, draws a random number or depends on the order in which rows were
//! read. All arithmetic is in integers and ties are broken by id. A refusal carries the numbers behind it, and
//! [`explain`] turns them into a sentence; SQL guards what was decided here but decides nothing itself.

pub mod admit;
pub mod availability;
mod board;
pub mod explain;
pub mod fleet;
pub mod inventory;
pub mod place;
pub mod policy;
pub mod record;

pub use admit::{Admission, AdmitInput, admit};
pub use availability::{Availability, availability};
pub use fleet::{Fleet, NodeView, Occupant, SlotView};
pub use inventory::{Inventory, Kept, Spot, Unclaimable};
pub use place::{Candidate, Considered, Placement, Reason, Refusal, Request, SetKind, SlotCounts, Verdict, place};
pub use policy::{Policy, PolicyFault, Score, Weights};
pub use record::DecisionRecord;
