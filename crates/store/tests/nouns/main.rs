//! Every noun of the store, on both engines: what is written comes back, a stale version changes nothing, every change
//! has its event, a scope hides what is foreign, and the auditor finds what was broken on purpose.
#![allow(clippy::unwrap_used, clippy::too_many_lines, clippy::cloned_ref_to_slice_refs, missing_docs)]

mod chronicle;
mod enrollment;
mod governance;
mod hosts;
mod identity;
mod invariants;
mod launches;
mod living;
mod machines;
mod overrides;
mod placement;
mod planted;
mod streams;
mod supply;
mod tenancy;
mod workloads;
mod world;
