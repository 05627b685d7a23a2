//! The policy lab: what would this policy have done with that work?
//!
//! ```text
//!   trace      text of a trace ──▶ jobs: when, how long, how many GPUs, whose
//!   stage      so many GPUs, divided among the teams of the trace
//!   policy     an estate and a profile of the engine for each policy
//!   replay     jobs come and end in virtual time; the engine decides who runs
//!   measure    whole-number sums over that time: waits, use, fairness, stops
//!   questions  what people ask about schedulers, answered with those figures
//!   report     one page with plots, and the same as JSON
//! ```
//!
//! Nothing here reads a file or a clock: the caller brings the text of a trace and takes the text of a report. The same trace
//! and setup give the same report, byte for byte.

mod desk;
mod kai;
pub mod measure;
mod plot;
pub mod policy;
pub mod questions;
pub mod replay;
pub mod report;
pub mod run;
pub mod stage;
pub mod trace;
mod words;
