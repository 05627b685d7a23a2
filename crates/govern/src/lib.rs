//! Decisions about shares: who may have how much, of what, when, and at whose cost.
//!
//! Same input, same output: nothing here reads a clock, draws a random number or depends on the order in which rows were
//! read. All arithmetic is in whole numbers, sums saturate, and ties are broken by name. Queues, cohorts, flavors and
//! resources are small numbers here; whoever calls keeps their names.

pub mod amount;
pub mod cells;
pub mod cycle;
pub mod division;
pub mod domains;
pub mod explain;
pub mod flavors;
pub mod kai;
pub mod order;
mod places;
pub mod preempt;
pub mod share;
pub mod timetable;
pub mod tree;
pub mod weight;
pub mod workload;
pub mod yarn;
