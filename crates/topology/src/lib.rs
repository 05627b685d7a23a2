//! A host as the scheduler sees it: which devices it has, which of them belong together, which sets of GPUs its board can be
//! cut into, and whether the devices behind a slot are all known and still there.
//!
//! Nothing here is guessed. A host is captured as a [`tree`] of files by a fixed [`manifest`]; [`discovery`] turns the tree
//! into facts, [`readiness`] says what is missing for slices, [`candidate`] proposes slots with the names of [`suggest`],
//! [`locality`] tells which slots hang together,
//! [`approval`] is the one place where a slot is refused, and [`drift`] tells what changed since. Partitions are whatever
//! the node reported, checked for sense once and kept as data. A laboratory's hosts have their own rules in [`lab`]. Trees of simulated hosts are in [`simulated`] and nowhere
//! else.
//!
//! ```text
//! capture ──> Tree ──discover──> Discovery ──┬─ readiness ──> Readiness
//!                                            ├─ candidates ─> Candidate   (advice)
//!                                            ├─ locality ───> Locality    (for placement)
//!                                            ├─ validate ───> Refusal     (before approval)
//!                                            └─ drift ──────> Drift       (after approval)
//! ```

pub mod approval;
pub mod candidate;
pub mod capture;
pub mod discovery;
pub mod drift;
pub mod lab;
pub mod locality;
pub mod manifest;
pub mod partitions;
pub mod pci;
pub mod probe;
pub mod readiness;
pub mod simulated;
pub mod slot;
pub mod suggest;
pub mod tree;

pub use approval::{ApprovalRule, DiskGrant, DiskGrantKind, Refusal, SlotRequest, TakenSlot, validate};
pub use candidate::{Candidate, candidates};
pub use discovery::{Discovery, discover};
pub use drift::{ApprovedSlot, Drift, DriftKind, drift};
pub use lab::{lab_candidates, lab_partitions, required_by};
pub use locality::{Locality, locality};
pub use partitions::{ModuleId, Partitions, PartitionsFault};
pub use pci::PciAddress;
pub use readiness::{Readiness, ReadinessCheck, ReadinessCheckName, ReadinessState, readiness};
pub use slot::{DeviceField, SlotDevices, SlotField};
pub use suggest::{Cidr, Naming, Suggestion};
pub use tree::{Entry, Tree, TreeFault};
