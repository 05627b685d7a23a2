//! Whole machines for bare metal: who provides them, how one is deployed and given back, and where the provider and the
//! platform disagree.
//!
//! A provider is anything behind [`MachineProvider`]: a MAAS server ([`maas::Maas`]) or a fleet in memory
//! ([`simulated::SimulatedMachines`]). Every call can be repeated. What makes that safe is the order's mark: it is written on
//! the machine before anything is deployed, so a caller whose answer was lost looks again and recognises its own work.
//!
//! ```text
//!   next_step ── Allocate ─▶ machine is taken and carries the mark
//!       ▲     ── Deploy ───▶ Deploying ... Deployed          Wait, with a budget
//!       │     ── Release ──▶ Disk erasing, Releasing ... Ready
//!       └──── look again ◀─ whatever came of it              MarkBroken, GiveUp
//! ```
//!
//! Decisions are pure: [`next_step`] says what to do with one machine, [`drift`] compares all of them with what the platform
//! knows. This room refuses to touch a machine that carries another mark, and to send a key over plain HTTP to another host.

mod drift;
mod fault;
pub mod maas;
mod machine;
pub mod plan;
mod provider;
pub mod simulated;
mod step;

pub use drift::{Drift, Hold, KnownMachine, Mend, drift};
pub use fault::Fault;
pub use machine::{BadName, Machine, MachineStatus, OrderMark, PowerState, ProviderId, TagName, shown};
pub use provider::{Answer, BadOrder, BreakOrder, DeployOrder, Erase, MachineProvider, ReleaseOrder, UserData};
pub use step::{Budgets, Elapsed, Step, Trouble, Wanted, next_step};
