//! Decisions about capacity, as pure functions: whether a request may enter, and which slots it gets.
//!
//! Same input, same output: nothing here reads a clock, draws a random number or depends on the order in which rows were
//! read. All arithmetic is in integers and ties are broken by id. A refusal carries the numbers behind it, and
//! [`explain`] turns them into a sentence; SQL guards what was decided here but decides nothing itself.

pub mod admit;
pub mod availability;
pub mod explain;
pub mod fleet;
pub mod place;

pub use admit::{Admission, AdmitInput, admit};
pub use availability::{Availability, availability};
pub use fleet::{Fleet, NodeView, SlotView};
pub use place::{Reason, Request, Verdict, place};
