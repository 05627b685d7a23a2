//! Allocations: from a wish to a running guest and back to nothing. What moves together is moved together: the slots with
//! their allocation, the claims with the end of it, and whoever waits (project, slots, operations) in the same transaction.
//! One that ends because its node is evacuated is asked for again in the transaction that ends it.

use std::collections::BTreeSet;

use api::{Code, allocation::AllocationObserved, operation::OperationError};
use lifecycle::{
    Next,
    allocation::{self, Effect, Lease, State, View},
    workload::PREEMPTED,
};
use model::{
    AllocationId, Timestamp,
    allocation::{AllocationTerms, Desired},
    supply::{NodeState, SlotState},
    task::{TaskKind, TaskResult},
};
use store::{
    Stamp, StoreError, Tx,
    allocations::{self, AllocationNew, AllocationRow, Entering},
    claims, decisions, ingresses,
    living::{self, Living as Table, Seen},
    nodes, operations, preemptions,
    scope::Page,
    slots::{self, SlotRow},
    tasks::{self, TaskRow},
};

use super::{
    Hands, Living, id_of, machine,
    orders::{Held, Order, Purpose, by_attempt, challenge, give, held, held_to_order, orders_of},
    read_json, write_json,
};
use crate::{
    applier::{PlacementDecision, REFUSED},
    host_words,
    leader::{Leader, unchanged},
    plane::PlaneConfig,
};

/// Allocations.
pub(crate) struct Allocations;

/// An allocation with everything its decider sees.
pub(crate) struct Looked {
    row: AllocationRow,
    observed: AllocationObserved,
    refusal: Option<PlacementDecision>,
    // What the host said to the newest order to build it.
    built: Option<TaskResult>,
    view: View,
}

impl Living for Allocations {
    const TABLE: Table = Table::Allocations;
    type Looked = Looked;
    type State = State;
    type Effect = Effect;

    fn load(tx: &mut Tx<'_>, id: &str, _: Timestamp) -> Result<Option<Looked>, StoreError> {
        let Some(row) = allocations::get(tx, &id_of(id)?)? else { return Ok(None) };
        let observed: AllocationObserved = read_json("observed", &row.observed)?;
        let refusal = if row.state == State::Requested { refusal(tx, &row)? } else { None };
        let given = by_attempt(tx, &row.id)?;
        let since = row.life.state_since;
        let of_kind = |kind: TaskKind| orders_of(given.iter().filter(|task| task.kind == kind), since);
        let node = match held(tx, &row.id)?.node_id {
            Some(node_id) => nodes::get(tx, &node_id)?,
            None => None,
        };
        let view = View {
            state: row.state,
            desired: row.desired,
            lease: None,
            forced: row.force_reason.is_some(),
            in_workload: row.workload_id.is_some(),
            placement_refused: refusal.is_some(),
            provision_failed: observed.provision_failed,
            machine: machine::seen(&row, &given, node.as_ref()),
            node_online: node.is_some_and(|node| node.state == NodeState::Online && node.handed_over.is_none()),
            provision: of_kind(TaskKind::SliceVmProvision),
            release: of_kind(TaskKind::SliceVmRelease),
            last_attempt: given.last().map_or(0, |task| task.fence.attempt),
        };
        let newest = given.into_iter().rfind(|task| task.kind == TaskKind::SliceVmProvision);
        let built = newest.and_then(|task| task.result);
        Ok(Some(Looked { row, observed, refusal, built, view }))
    }

    fn seen(looked: &Looked) -> Seen<'_> {
        looked.row.seen()
    }

    fn decide(looked: &Looked, now: Timestamp, config: &PlaneConfig) -> Next<State, Effect> {
        let row = &looked.row;
        let warned = row.lease_warned.is_some();
        let lease = |ends| Lease::new(row.created, ends, warned, config.lease_warning_s);
        allocation::decide(&View { lease: row.terms.lease_ends.map(lease), ..looked.view }, now)
    }

    fn perform(hands: &Hands<'_>, looked: &Looked, effect: Effect) -> Result<(), StoreError> {
        match effect {
            Effect::Place => hands.place(&looked.row),
            Effect::WarnOfLeaseEnd => record(hands.leader, &looked.row, allocations::warn_of_lease_end),
            Effect::EndLease => record(hands.leader, &looked.row, |tx, stamp, row| {
                allocations::wish(tx, stamp, row, Desired::Released, Some("lease_ended"))
            }),
            Effect::OrderProvision { attempt } => order(hands.leader, &looked.row, Purpose::Provision, attempt),
            Effect::OrderRelease { attempt } => order(hands.leader, &looked.row, Purpose::Release, attempt),
            Effect::OrderDeploy { attempt } => machine::order_deploy(hands.leader, &looked.row, attempt),
            Effect::OrderReclaim { attempt } => machine::order_reclaim(hands.leader, &looked.row, attempt),
        }
    }

    fn enter(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked, state: State) -> Result<(), StoreError> {
        let row = &looked.row;
        let mut entry = Entry::new(looked, state);
        let Held { slots, .. } = held(tx, &row.id)?;
        match state {
            State::Provisioning => (),
            State::Running => move_slots(tx, stamp, &slots, &[SlotState::Reserved], SlotState::InUse)?,
            State::Releasing => {
                if entry.observed.provision_failed {
                    move_slots(tx, stamp, &slots, &[SlotState::Reserved, SlotState::InUse], SlotState::CleanupBlocked)?;
                }
                let slots = held(tx, &row.id)?.slots;
                challenge(tx, stamp, &slots)?;
            }
            State::Released | State::Failed => {
                if allocation::ends_by_force(&looked.view, state) {
                    entry.reason = Some("force_released");
                    give_up(tx, stamp, looked)?;
                } else {
                    move_slots(tx, stamp, &slots, &[SlotState::Reserved, SlotState::InUse], SlotState::Wiping)?;
                }
                claims::end_of_allocation(tx, &row.id, stamp.now)?;
                ingresses::delete_of_allocation(tx, stamp, &row.id)?;
            }
            State::Refused => entry.refuse(looked.refusal.as_ref()),
            State::Requested | State::Reserved => {
                return Err(StoreError::Other(format!("the driver does not move allocations to {state}")));
            }
        }
        entry.commit(tx, stamp, row, &slots)?;
        // A workload comes again as a whole, when all of it is gone.
        if state == State::Released && row.evacuating && row.workload_id.is_none() {
            recreate(tx, stamp, row)?;
        }
        Ok(())
    }
}

/// Writes something down about an allocation that nobody changed since it was looked at.
fn record(
    leader: &Leader,
    row: &AllocationRow,
    write: impl Fn(&mut Tx<'_>, &mut Stamp<'_>, &AllocationRow) -> Result<i64, StoreError> + Send + 'static,
) -> Result<(), StoreError> {
    let row = row.clone();
    leader.commit(move |tx, stamp| write(tx, stamp, &row).map(drop))
}

/// Ends the wait for a host. Whatever order is open does not count any more, the slots are blocked until they are proved
/// clean, and the host finds a newer order to stop and wipe when it is back.
fn give_up(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, looked: &Looked) -> Result<(), StoreError> {
    let row = &looked.row;
    let handed_over = looked.view.machine.is_some_and(|machine| machine.is_handed_over());
    // A machine that a tenant has is taken back, whoever waits for that.
    let counts = |task: &TaskRow| handed_over && task.kind == TaskKind::MachineReclaim;
    let given = tasks::of_allocation(tx, &row.id)?;
    for open in given.iter().filter(|task| !task.state.is_terminal() && !counts(task)) {
        tasks::expire(tx, stamp, open, Some("superseded"))?;
    }
    let Held { slots, .. } = held(tx, &row.id)?;
    move_slots(tx, stamp, &slots, &[SlotState::Reserved, SlotState::InUse], SlotState::CleanupBlocked)?;
    let Held { slots, .. } = held(tx, &row.id)?;
    challenge(tx, stamp, &slots)?;
    if handed_over {
        let held = held(tx, &row.id)?;
        return machine::reclaim_goes_on(tx, stamp, row, &looked.view, &held);
    }
    let Held { node_id: Some(node_id), slots } = held(tx, &row.id)? else { return Ok(()) };
    let order = Order {
        node_id: &node_id,
        allocation: row,
        purpose: Purpose::Release,
        attempt: looked.view.last_attempt + 1,
        deadline: stamp.now.plus_seconds(GIVEN_UP_DEADLINE_S),
        grace_s: None,
    };
    give(tx, stamp, &order, &slots)
}

// A host that nobody waits for may be back in an hour; until then its slots have nothing to be told besides.
const GIVEN_UP_DEADLINE_S: i64 = 3600;

/// Asks again for what left an evacuated node, if its owner still wants that.
fn recreate(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &AllocationRow) -> Result<(), StoreError> {
    let lease_over = row.terms.lease_ends.is_some_and(|ends| ends <= stamp.now);
    if !row.terms.may_recreate || lease_over {
        return Ok(());
    }
    launch_again(tx, stamp, row)
}

/// Asks again for the same on the same terms, in the place of one that ended.
pub(super) fn launch_again(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, row: &AllocationRow) -> Result<(), StoreError> {
    let id = AllocationId::from_parts(stamp.now, stamp.bits());
    let terms = AllocationTerms { user_data: allocations::user_data(tx, &row.id)?, ..row.terms.clone() };
    let new = AllocationNew {
        id: &id,
        tenant_id: &row.tenant_id,
        project_id: &row.project_id,
        name: &row.name,
        sku_id: &row.sku_id,
        region_id: &row.region_id,
        shape: row.shape,
        gpu_count: row.gpu_count,
        terms: &terms,
        recreated_from: Some(&row.id),
        workload_id: row.workload_id.as_ref(),
    };
    allocations::insert(tx, stamp, new)
}

fn refusal(tx: &mut Tx<'_>, row: &AllocationRow) -> Result<Option<PlacementDecision>, StoreError> {
    let decided = decisions::of_subject(tx, row.id.as_str(), Page::first(DECISIONS_MAX))?;
    let refused = decided.iter().find(|decision| decision.outcome == REFUSED);
    refused.map(|decision| PlacementDecision::read(&decision.body)).transpose()
}

// An allocation that is still requested has been decided about once or twice.
const DECISIONS_MAX: i64 = 20;

fn order(leader: &Leader, row: &AllocationRow, purpose: Purpose, attempt: i64) -> Result<(), StoreError> {
    let row = row.clone();
    let usual_deadline = leader.now.plus_seconds(leader.config.order_deadline_s);
    leader.commit(move |tx, stamp| {
        unchanged(allocations::get(tx, &row.id)?, |found| found.version, row.version)?;
        let (node_id, slots) = held_to_order(tx, &row.id)?;
        let grace_s = if purpose == Purpose::Release { promised_grace_s(tx, &row)? } else { None };
        // A guest that uses all of its time is not late.
        let deadline = usual_deadline.plus_seconds(grace_s.unwrap_or(0));
        let order = Order { node_id: &node_id, allocation: &row, purpose, attempt, deadline, grace_s };
        give(tx, stamp, &order, &slots)
    })
}

/// How long the guest of a workload that was told to go may take to stop, as its owner was told.
fn promised_grace_s(tx: &mut Tx<'_>, row: &AllocationRow) -> Result<Option<i64>, StoreError> {
    let Some(workload_id) = row.workload_id.clone().filter(|_| row.desired_reason == PREEMPTED) else {
        return Ok(None);
    };
    let told = preemptions::open_of(tx, &BTreeSet::from([workload_id]))?;
    Ok(told.first().map(|told| told.grace_s))
}

fn move_slots(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    held: &[SlotRow],
    from: &[SlotState],
    to: SlotState,
) -> Result<(), StoreError> {
    let moving: Vec<SlotRow> = held.iter().filter(|slot| from.contains(&slot.state)).cloned().collect();
    if moving.is_empty() { Ok(()) } else { slots::enter_all(tx, stamp, &moving, to, None) }
}

/// A state about to be entered, with what goes with it.
struct Entry {
    state: State,
    observed: AllocationObserved,
    reason: Option<&'static str>,
    // For operations that this state ends badly.
    error: Option<OperationError>,
}

impl Entry {
    fn new(looked: &Looked, state: State) -> Self {
        let mut entry = Self { state, observed: looked.observed.clone(), reason: None, error: None };
        match state {
            State::Running => {
                entry.observed.guest_up = true;
                entry.observed.guest = looked.built.as_ref().and_then(|built| built.guest.as_deref().cloned());
            }
            State::Releasing if allocation::records_failure(&looked.view, state) => {
                // What the host said stays with its order, for operators; its owner is told what is theirs to know.
                entry.observed.provision_failed = true;
                entry.observed.reason = Some(not_built(looked.built.as_ref()));
                entry.reason = Some("provision_failed");
            }
            State::Releasing => entry.reason = Some("release_wanted"),
            State::Released | State::Failed => entry.observed.guest_up = false,
            _ => (),
        }
        entry.error = if entry.observed.provision_failed {
            let detail = entry.observed.reason.clone().unwrap_or_else(|| not_built(None));
            Some(OperationError { code: Code::ProvisioningFailed, detail, refusal: None })
        } else if matches!(state, State::Releasing | State::Released) {
            let detail = "It was given back before it ran.".to_owned();
            Some(OperationError { code: Code::StateConflict, detail, refusal: None })
        } else {
            None
        };
        entry
    }

    fn refuse(&mut self, refusal: Option<&PlacementDecision>) {
        let code = refusal.and_then(|decision| decision.code).unwrap_or(Code::SkuUnavailable);
        let because = refusal.map_or_else(|| code.title().to_owned(), |decision| decision.because.clone());
        self.reason = Some(code.as_str());
        let counted = refusal.and_then(PlacementDecision::refusal);
        self.observed.reason = Some(because.clone());
        self.observed.refusal.clone_from(&counted);
        self.error = Some(OperationError { code, detail: because, refusal: counted });
    }

    fn commit(
        self,
        tx: &mut Tx<'_>,
        stamp: &mut Stamp<'_>,
        row: &AllocationRow,
        touched: &[SlotRow],
    ) -> Result<(), StoreError> {
        let observed = write_json(&self.observed)?;
        let entering = Entering { state: self.state, observed: &observed, node_id: None, reason: self.reason };
        allocations::enter(tx, stamp, row, entering)?;
        let error = self.error.as_ref().map(write_json).transpose()?;
        operations::finish_for(tx, row.id.as_str(), self.state.as_str(), error.as_deref(), stamp.now)?;
        if self.state == State::Releasing || self.state.is_terminal() {
            living::poke(tx, Table::Projects, row.project_id.as_str(), stamp.now)?;
        }
        if let Some(workload_id) = &row.workload_id {
            living::poke(tx, Table::Workloads, workload_id.as_str(), stamp.now)?;
        }
        if self.state.is_terminal() {
            for slot in touched {
                living::poke(tx, Table::Slots, slot.id.as_str(), stamp.now)?;
            }
        }
        Ok(())
    }
}

fn not_built(said: Option<&TaskResult>) -> String {
    let nothing = "The host could not start the guest; its slots are being cleaned up.";
    said.map_or_else(|| nothing.to_owned(), host_words::owner_sentence)
}
