//! An allocation: from a wish to a running guest, and from there to proof that the guest is gone.
//!
//! Orders to the node are numbered across both kinds (`last_attempt` + 1), so a release always carries a higher fence than
//! every attempt to start what it ends. Giving back wins over everything: as soon as it is wanted, nothing more is started.
//! An order is repeated a bounded number of times; after that the allocation waits for an operator and says so. A node
//! that is silent gets no orders, and a running guest is never touched because of silence.
//!
//! A lease ends by itself: its owner is warned once before, and then it is given back like at the owner's word. An operator
//! may say that a host is not to be waited for: then an allocation that is being released ends as soon as its host is
//! silent or has failed once, and its slots stay out of sale until they are proved clean.
//!
//! A tenant of a whole node whose machine has a provider gets the machine itself, so nobody on it can be asked or believed
//! from then on. It is taken back first: given back to its provider, installed, enrolled and looked at again. Only then is
//! there an agent that can be told to wipe, and only its proof lets a slot be sold.
//!
//! ```text
//! reserved ─ OrderDeploy ─▶ provisioning ─▶ running ─▶ releasing ─ OrderReclaim ─▶ taken back ─ OrderRelease ─▶ released
//!                                 └── failed, too long ──▶ releasing
//! ```

use crate::{
    diagram,
    order::{Orders, Rule, whole_seconds},
};
pub use model::allocation::{Desired, State};
use model::{
    Timestamp,
    lifecycle::{Next, Wait},
    task::TaskState,
    time::MICROS_PER_SECOND,
};

/// How long an allocation is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When it is given back.
    pub ends: Timestamp,
    /// From when on its owner is to be warned.
    pub warn_from: Timestamp,
    /// Its owner was warned.
    pub warned: bool,
}

impl Lease {
    /// A lease of which the owner is warned `warning_s` before its end, or a tenth of it before when that is shorter.
    pub fn new(begun: Timestamp, ends: Timestamp, warned: bool, warning_s: i64) -> Self {
        let tenth_us = ends.micros_since(begun).max(0) / 10;
        let before_us = warning_s.max(0).saturating_mul(MICROS_PER_SECOND).min(tenth_us);
        Self { ends, warn_from: ends.plus_micros(-before_us), warned }
    }

    fn next_look_s(&self, now: Timestamp) -> i64 {
        let next = if self.warned { self.ends } else { self.warn_from };
        whole_seconds(next.micros_since(now)).max(1)
    }
}

/// Orders to the provider of the node's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Machine {
    /// Orders to hand it to the tenant.
    pub deploy: Orders,
    /// Orders to take it back.
    pub reclaim: Orders,
}

impl Machine {
    /// Whether the tenant may have it, or have had it: since the first order to hand it over, until it is taken back.
    pub fn is_handed_over(&self) -> bool {
        self.deploy.newest.is_some() && !self.reclaim.ended(TaskState::Succeeded)
    }
}

/// What the decider sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Where the workflow stands.
    pub state: State,
    /// What the owner wants.
    pub desired: Desired,
    /// How long it is wanted; none for as long as its owner likes.
    pub lease: Option<Lease>,
    /// An operator said that its host is not to be waited for.
    pub forced: bool,
    /// It is a member of a workload: it is placed when that is admitted.
    pub in_workload: bool,
    /// Placement found nothing for it.
    pub placement_refused: bool,
    /// It could not be built: it ends as `failed`, however long its release takes.
    pub provision_failed: bool,
    /// Its node has been heard of lately, and its host is the platform's. Of no meaning before placement.
    pub node_online: bool,
    /// Its whole node is a machine of a provider, or was when it was handed over.
    pub machine: Option<Machine>,
    /// Orders to start the guest.
    pub provision: Orders,
    /// Orders to stop it and wipe its slots.
    pub release: Orders,
    /// The highest attempt number of any order given for this allocation; 0 before the first.
    pub last_attempt: i64,
}

/// What an allocation may ask of the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Find slots and claim them, or record that there are none.
    Place,
    /// Tell its owner that the lease ends soon.
    WarnOfLeaseEnd,
    /// The lease has ended: give it back.
    EndLease,
    /// Order the node to start the guest.
    OrderProvision {
        /// The number of this order.
        attempt: i64,
    },
    /// Order the node to stop the guest and wipe its slots.
    OrderRelease {
        /// The number of this order.
        attempt: i64,
    },
    /// Give up the node's identity, and have its provider hand the whole machine to the tenant.
    OrderDeploy {
        /// The number of this order.
        attempt: i64,
    },
    /// Have the provider take the whole machine back.
    OrderReclaim {
        /// The number of this order.
        attempt: i64,
    },
}

/// The published graph. `requested → reserved` is the placement applier's; all others are the driver's.
pub const EDGES: &[(State, State)] = &[
    (State::Requested, State::Reserved),
    (State::Requested, State::Refused),
    (State::Requested, State::Released),
    (State::Reserved, State::Provisioning),
    (State::Reserved, State::Releasing),
    (State::Provisioning, State::Running),
    (State::Provisioning, State::Releasing),
    (State::Running, State::Releasing),
    (State::Releasing, State::Released),
    (State::Releasing, State::Failed),
];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Requested, EDGES)
}

/// No more orders of one kind than this; then an operator is waited for.
pub const ORDERS_MAX: i64 = 5;

const PROVISION: Rule<'static> =
    Rule { purpose: "start the guest", given_max: ORDERS_MAX, exhausted_code: "provision_needs_operator" };
const RELEASE: Rule<'static> =
    Rule { purpose: "stop the guest", given_max: ORDERS_MAX, exhausted_code: "release_needs_operator" };

// A machine that could not be handed over is taken back, not tried again: whoever looks at it next should be a person.
const DEPLOY: Rule<'static> =
    Rule { purpose: "hand the machine over", given_max: 1, exhausted_code: "provision_needs_operator" };
const RECLAIM: Rule<'static> =
    Rule { purpose: "take the machine back", given_max: ORDERS_MAX, exhausted_code: "reclaim_needs_operator" };
// Installing a large server takes long, and erasing all its disks longer.
const DEPLOY_BUDGET_S: i64 = 2 * 3600;
const RECLAIM_BUDGET_S: i64 = 30 * 3600;
const MACHINE_LOOK_S: i64 = 60;

// Orders have deadlines of their own, and answers poke; these are for the alert and for a lost poke.
const ORDER_BUDGET_S: i64 = 600;
const ORDER_LOOK_S: i64 = 15;

/// What should happen next.
pub fn decide(view: &View, now: Timestamp) -> Next<State, Effect> {
    let release_wanted = view.desired == Desired::Released;
    let lease = view.lease.filter(|_| !release_wanted && !view.state.is_terminal());
    match view.state {
        State::Released | State::Refused | State::Failed => Next::Forget,
        _ if lease.is_some_and(|lease| now >= lease.ends) => Next::Do(Effect::EndLease),
        _ if lease.is_some_and(|lease| !lease.warned && now >= lease.warn_from) => Next::Do(Effect::WarnOfLeaseEnd),
        State::Requested if release_wanted => Next::Enter(State::Released),
        State::Requested if view.placement_refused => Next::Enter(State::Refused),
        State::Requested if view.in_workload => at_rest(lease, now),
        State::Requested => Next::Do(Effect::Place),
        State::Reserved | State::Provisioning | State::Running if release_wanted => Next::Enter(State::Releasing),
        State::Reserved if view.provision.newest.is_some() => Next::Enter(State::Provisioning),
        State::Reserved if view.machine.is_some_and(|machine| machine.deploy.newest.is_some()) => {
            Next::Enter(State::Provisioning)
        }
        State::Reserved => start(view, now),
        State::Provisioning => provisioning(view, now),
        State::Running => at_rest(lease, now),
        State::Releasing => releasing(view, now),
    }
}

fn at_rest(lease: Option<Lease>, now: Timestamp) -> Next<State, Effect> {
    match lease {
        Some(lease) => Next::LookAgain { after_s: lease.next_look_s(now) },
        None => Next::Forget,
    }
}

/// Whether entering `to` from this view records that the allocation could not be built.
pub fn records_failure(view: &View, to: State) -> bool {
    let deploy_failed = view
        .machine
        .is_some_and(|machine| machine.deploy.ended(TaskState::Failed) || machine.deploy.ended(TaskState::Expired));
    view.state == State::Provisioning
        && to == State::Releasing
        && (view.provision.ended(TaskState::Failed) || deploy_failed)
}

/// Whether entering `to` from this view ends the allocation without its host's word.
pub fn ends_by_force(view: &View, to: State) -> bool {
    view.state == State::Releasing && to.is_terminal() && !view.release.ended(TaskState::Succeeded)
}

fn provisioning(view: &View, now: Timestamp) -> Next<State, Effect> {
    if let Some(machine) = view.machine.filter(|machine| machine.deploy.newest.is_some()) {
        return deploying(&machine);
    }
    if view.provision.ended(TaskState::Succeeded) {
        Next::Enter(State::Running)
    } else if view.provision.ended(TaskState::Failed) {
        Next::Enter(State::Releasing)
    } else if view.provision.is_open() {
        Next::Wait(Wait::new("node_building", "The node is starting the guest.", ORDER_BUDGET_S, ORDER_LOOK_S))
    } else {
        start(view, now)
    }
}

fn deploying(machine: &Machine) -> Next<State, Effect> {
    if machine.deploy.ended(TaskState::Succeeded) {
        Next::Enter(State::Running)
    } else if machine.deploy.is_open() {
        let because = "The provider of the machine is installing it.";
        Next::Wait(Wait::new("machine_deploying", because, DEPLOY_BUDGET_S, MACHINE_LOOK_S))
    } else {
        Next::Enter(State::Releasing)
    }
}

/// What comes before anybody can be told to wipe: the machine is a tenant's until it is taken back.
fn reclaiming(view: &View, machine: &Machine, now: Timestamp) -> Next<State, Effect> {
    let ended = if view.provision_failed { State::Failed } else { State::Released };
    if view.forced && machine.reclaim.newest.is_some() {
        // Taking it back goes on without the allocation.
        Next::Enter(ended)
    } else if machine.reclaim.is_open() {
        let because = "The machine is being taken back: its provider erases and installs it, its host is enrolled and \
                       looked at again.";
        Next::Wait(Wait::new("machine_reclaiming", because, RECLAIM_BUDGET_S, MACHINE_LOOK_S))
    } else {
        match machine.reclaim.next_allowed(&RECLAIM, true, now) {
            Ok(()) => Next::Do(Effect::OrderReclaim { attempt: view.last_attempt + 1 }),
            Err(wait) => Next::Wait(wait),
        }
    }
}

fn releasing(view: &View, now: Timestamp) -> Next<State, Effect> {
    if let Some(machine) = view.machine.filter(Machine::is_handed_over) {
        return reclaiming(view, &machine, now);
    }
    // A host that is heard of gets one chance to end it properly.
    let failed_once = view.release.ended(TaskState::Failed) || view.release.ended(TaskState::Expired);
    let given_up = view.forced && (!view.node_online || failed_once);
    if view.release.ended(TaskState::Succeeded) || given_up {
        Next::Enter(if view.provision_failed { State::Failed } else { State::Released })
    } else if view.release.is_open() {
        let because = "The node is stopping the guest and wiping its slots.";
        Next::Wait(Wait::new("node_releasing", because, ORDER_BUDGET_S, ORDER_LOOK_S))
    } else {
        match view.release.next_allowed(&RELEASE, view.node_online, now) {
            Ok(()) => Next::Do(Effect::OrderRelease { attempt: view.last_attempt + 1 }),
            Err(wait) => Next::Wait(wait),
        }
    }
}

fn start(view: &View, now: Timestamp) -> Next<State, Effect> {
    // What an agent was told to start is its matter to the end.
    if let Some(machine) = view.machine.filter(|_| view.provision.newest.is_none()) {
        // The provider does it; whether the agent that will be gone is heard of does not matter.
        return match machine.deploy.next_allowed(&DEPLOY, true, now) {
            Ok(()) => Next::Do(Effect::OrderDeploy { attempt: view.last_attempt + 1 }),
            Err(wait) => Next::Wait(wait),
        };
    }
    match view.provision.next_allowed(&PROVISION, view.node_online, now) {
        Ok(()) => Next::Do(Effect::OrderProvision { attempt: view.last_attempt + 1 }),
        Err(wait) => Next::Wait(wait),
    }
}
