//! Orders about whole machines: given here, carried out at the machine's provider. Handing one over is one transaction: the
//! order is written down, the node's certificates and unused enrollment tokens are worth nothing, and nobody speaks for the
//! node any more; or nothing of it has happened. From the first call to the provider on, whoever answers from that host is
//! a stranger.

use lifecycle::allocation::{Machine, View};
use model::{
    AuditId, TaskId, Timestamp,
    guest::LOGIN_USER,
    sku::CapacityShape,
    supply::SlotState,
    task::{Fence, MachineOrder, MachineTenant, Task, TaskInput, TaskKind, TaskSlot},
};
use store::{
    Stamp, StoreError, Tx,
    allocations::{self, AllocationRow},
    audit::{self, AuditRow},
    certificates, enrollment,
    living::{self, Living as Table},
    nodes::{self, NodeRow},
    slots::{self, SlotRow},
    tasks::{self, TaskNew, TaskRow},
};

use super::{
    orders::{Held, held_to_order, host_name, orders_of},
    task::supersedes,
};
use crate::{
    leader::{Leader, unchanged},
    usual_image::usual_image,
};

/// What the decider sees of an allocation's machine: none while it has none, or has nothing to do with it.
pub(super) fn seen(row: &AllocationRow, given: &[TaskRow], node: Option<&NodeRow>) -> Option<Machine> {
    let since = row.life.state_since;
    let of_kind = |kind: TaskKind| orders_of(given.iter().filter(|task| task.kind == kind), since);
    let machine = Machine { deploy: of_kind(TaskKind::MachineDeploy), reclaim: of_kind(TaskKind::MachineReclaim) };
    let provided = row.shape == CapacityShape::Baremetal && node.is_some_and(|node| node.machine.is_some());
    (provided || machine.deploy.newest.is_some()).then_some(machine)
}

/// Orders the machine to be handed to the tenant, and gives up the node's identity.
pub(super) fn order_deploy(leader: &Leader, row: &AllocationRow, attempt: i64) -> Result<(), StoreError> {
    let (row, deadline) = (row.clone(), deadline(leader));
    leader.commit(move |tx, stamp| {
        unchanged(allocations::get(tx, &row.id)?, |found| found.version, row.version)?;
        let (node_id, slots) = held_to_order(tx, &row.id)?;
        let node = nodes::get(tx, &node_id)?.ok_or(StoreError::NotFound)?;
        let tenant = tenant(tx, &row)?;
        let task =
            give(tx, stamp, &Wanted { row: &row, node: &node, attempt, deadline, tenant: Some(tenant) }, &slots)?;
        certificates::revoke_of_node(tx, &node.id, stamp.now)?;
        for token in enrollment::unused_for(tx, &node.name)? {
            enrollment::revoke(tx, stamp, &token)?;
        }
        nodes::hand_over(tx, stamp, &node)?;
        audit::append(tx, &audited(stamp, &row, &node, &task))
    })
}

/// Orders the machine to be taken back.
pub(super) fn order_reclaim(leader: &Leader, row: &AllocationRow, attempt: i64) -> Result<(), StoreError> {
    let (row, deadline) = (row.clone(), deadline(leader));
    leader.commit(move |tx, stamp| {
        unchanged(allocations::get(tx, &row.id)?, |found| found.version, row.version)?;
        let (node_id, slots) = held_to_order(tx, &row.id)?;
        let node = nodes::get(tx, &node_id)?.ok_or(StoreError::NotFound)?;
        give(tx, stamp, &Wanted { row: &row, node: &node, attempt, deadline, tenant: None }, &slots).map(drop)
    })
}

/// Lets an allocation end whose machine is not back: taking it back goes on, by the order that is open or by one more.
pub(super) fn reclaim_goes_on(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    row: &AllocationRow,
    view: &View,
    held: &Held,
) -> Result<(), StoreError> {
    let (Some(machine), Some(node_id)) = (view.machine, &held.node_id) else { return Ok(()) };
    if machine.reclaim.is_open() {
        return Ok(());
    }
    let node = nodes::get(tx, node_id)?.ok_or(StoreError::NotFound)?;
    let (attempt, deadline) = (view.last_attempt + 1, stamp.now.plus_seconds(crate::plane::MACHINE_DEADLINE_S));
    give(tx, stamp, &Wanted { row, node: &node, attempt, deadline, tenant: None }, &held.slots).map(drop)
}

/// Orders once more that a machine be taken back whose allocation has ended without it.
pub(crate) fn reclaim_again(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, node: &NodeRow) -> Result<bool, StoreError> {
    let Some(claim) = store::claims::last_exclusive(tx, &node.id)? else { return Ok(false) };
    let row = allocations::get(tx, &claim.allocation_id)?.ok_or(StoreError::NotFound)?;
    let given = tasks::of_allocation(tx, &row.id)?;
    if given.iter().any(|task| task.kind.is_for_provider() && !task.state.is_terminal()) {
        return Ok(false);
    }
    let attempt = given.iter().map(|task| task.fence.attempt).max().unwrap_or(0) + 1;
    let deadline = stamp.now.plus_seconds(crate::plane::MACHINE_DEADLINE_S);
    let mut left = slots::of_node(tx, &node.id)?;
    left.retain(|slot| slot.state == SlotState::CleanupBlocked);
    give(tx, stamp, &Wanted { row: &row, node, attempt, deadline, tenant: None }, &left)?;
    Ok(true)
}

fn deadline(leader: &Leader) -> Timestamp {
    leader.now.plus_seconds(leader.config.machine_deadline_s)
}

struct Wanted<'a> {
    row: &'a AllocationRow,
    node: &'a NodeRow,
    attempt: i64,
    deadline: Timestamp,
    // What the tenant gets; none when the machine is taken back.
    tenant: Option<MachineTenant>,
}

fn give(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    wanted: &Wanted<'_>,
    touched: &[SlotRow],
) -> Result<TaskId, StoreError> {
    let Wanted { row, node, attempt, deadline, tenant } = wanted;
    let Some(machine) = &node.machine else {
        return Err(StoreError::Other(format!("the node {} is no machine of a provider", node.name)));
    };
    let slot = |slot: &SlotRow| TaskSlot {
        slot_id: slot.id.clone(),
        use_generation: slot.use_generation,
        nonce: None,
        bundle: None,
    };
    let order = MachineOrder {
        allocation_id: row.id.clone(),
        slots: touched.iter().map(slot).collect(),
        provider: machine.provider.clone(),
        machine_id: machine.machine_id.clone(),
        tenant: tenant.clone().map(Box::new),
    };
    let input = if tenant.is_some() { TaskInput::MachineDeploy(order) } else { TaskInput::MachineReclaim(order) };
    let task = Task {
        id: TaskId::from_parts(stamp.now, stamp.bits()),
        node_id: node.id.clone(),
        input,
        fence: Fence {
            incarnation: store::incarnation(tx)?,
            generation: touched.iter().map(|slot| slot.use_generation).max().unwrap_or(0),
            attempt: *attempt,
        },
        deadline: *deadline,
    };
    tasks::insert(tx, stamp, TaskNew { task: &task, owner: Some((&row.tenant_id, &row.project_id)) })?;
    let given = tasks::of_allocation(tx, &row.id)?;
    let Some(newest) = given.iter().find(|other| other.id == task.id) else { return Err(StoreError::NotFound) };
    for older in given.iter().filter(|older| !older.state.is_terminal() && supersedes(newest, older)) {
        living::poke(tx, Table::Tasks, older.id.as_str(), stamp.now)?;
    }
    Ok(task.id)
}

/// What was launched: the keys as they were then and no others of the project, what its owner wrote, and the image it names. The
/// usual image is, on a machine, what its provider usually installs.
fn tenant(tx: &mut Tx<'_>, row: &AllocationRow) -> Result<MachineTenant, StoreError> {
    let usual = usual_image(tx)?.ok().map(|usual| usual.spec.id);
    let image = row.terms.image.as_ref().map(|image| image.id.clone());
    Ok(MachineTenant {
        host_name: host_name(row.name.as_str()),
        user_name: LOGIN_USER.to_owned(),
        ssh_keys: row.terms.ssh_keys.iter().map(|key| key.public_key.clone()).collect(),
        user_data: allocations::user_data(tx, &row.id)?.map(String::from),
        image: image.filter(|named| Some(named) != usual.as_ref()),
    })
}

fn audited(stamp: &mut Stamp<'_>, row: &AllocationRow, node: &NodeRow, task: &TaskId) -> AuditRow {
    let id = AuditId::from_parts(stamp.now, stamp.bits());
    AuditRow {
        request_id: id.to_string(),
        id,
        actor: "system:machines".to_owned(),
        token_id: None,
        action: "node_hand_over".to_owned(),
        subject: node.id.to_string(),
        // Which machine it is concerns operators, not the tenant.
        tenant_id: None,
        body: serde_json::json!({ "allocation": row.id, "order": task, "machine": node.machine.as_ref().map(|m| &m.machine_id) })
            .to_string(),
        at: stamp.now,
    }
}
