//! A host as the scheduler sees it: which sets of GPUs its board can be cut into, and whether the devices behind a slot
//! are all known.
//!
//! Nothing here is guessed. Partitions are whatever the node reported, checked for sense once and kept as data; a slot
//! with a missing device says which one. Tables for simulated hosts are in [`simulated`] and nowhere else.

pub mod partitions;
pub mod simulated;
pub mod slot;

pub use partitions::{ModuleId, Partitions, PartitionsFault};
pub use slot::{DeviceField, SlotDevices};
