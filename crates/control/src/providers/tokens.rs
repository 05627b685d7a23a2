//! One-time tokens for hosts that come back. They are made when the machine is about to be installed, handed to nobody but
//! its provider, and good for that one host, by name and serial number, while the order that made them is open.

use model::{EnrollmentTokenId, NodeId, TaskId, task::TaskKind, task::TaskState};
use store::{
    Stamp, StoreError, Tx, certificates,
    enrollment::{self, EnrollmentTokenNew, EnrollmentTokenRow},
    nodes::{self, NodeRow},
    tasks::{self, TaskRow},
};

use crate::{authz::token::Secret, leader::Leader};

const PREFIX: &str = "machine:";
/// Calls to install a machine that one order makes at most.
const TOKENS_MAX: usize = 20;

fn creator(order: &TaskId) -> String {
    format!("{PREFIX}{order}")
}

/// A fresh token for the host that an order installs; none when the order has made too many. Whoever was enrolled by an
/// earlier installation of the same order is gone from the machine, and speaks for the node no longer.
pub(super) fn mint(
    leader: &Leader,
    task: &TaskRow,
    node: &NodeRow,
    lifetime_s: i64,
) -> Result<Option<Secret>, StoreError> {
    let (secret, created_by) = (Secret::mint_enrollment(&leader.ports), creator(&task.id));
    let (hash, node) = (secret.hash(), node.clone());
    let made = leader.commit(move |tx, stamp| {
        if enrollment::made_by(tx, &created_by)?.len() >= TOKENS_MAX {
            return Ok(false);
        }
        let id = EnrollmentTokenId::from_parts(stamp.now, stamp.bits());
        let new = EnrollmentTokenNew {
            id: &id,
            pool_id: &node.pool_id,
            node_name: &node.name,
            hardware_serial: node.hardware_serial.as_deref(),
            secret_hash: &hash,
            expires: stamp.now.plus_seconds(lifetime_s),
            created_by: &created_by,
        };
        enrollment::insert(tx, stamp, new)?;
        let node = nodes::get(tx, &node.id)?.ok_or(StoreError::NotFound)?;
        if !node.is_without_identity() {
            certificates::revoke_of_node(tx, &node.id, stamp.now)?;
            nodes::hand_over(tx, stamp, &node)?;
        }
        Ok(true)
    })?;
    Ok(made.then_some(secret))
}

/// Whether a host was enrolled with a token of this order.
pub(super) fn is_spent(tx: &mut Tx<'_>, order: &TaskId, node: &NodeId) -> Result<bool, StoreError> {
    let tokens = enrollment::made_by(tx, &creator(order))?;
    Ok(tokens.iter().any(|token| token.used.is_some() && token.node_id.as_ref() == Some(node)))
}

/// Takes back what was not used.
pub(super) fn revoke_left(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, order: &TaskId) -> Result<(), StoreError> {
    for token in enrollment::made_by(tx, &creator(order))? {
        if token.used.is_none() && token.revoked.is_none() {
            enrollment::revoke(tx, stamp, &token)?;
        }
    }
    Ok(())
}

/// What speaks against enrolling a host with a token, as far as machines go: while a tenant has a node's machine, only the
/// order that takes it back brings its host in, and such a token brings in nothing else.
pub(crate) fn token_fault(
    tx: &mut Tx<'_>,
    token: &EnrollmentTokenRow,
    node: Option<&NodeId>,
    handed_over: bool,
) -> Result<Option<&'static str>, StoreError> {
    let Some(order) = token.created_by.strip_prefix(PREFIX) else {
        let refused = "The machine is a tenant's; its host is enrolled when it is taken back.";
        return Ok(handed_over.then_some(refused));
    };
    let order = match order.parse::<TaskId>() {
        Ok(id) => tasks::get(tx, &id)?,
        Err(_) => None,
    };
    let good = order.is_some_and(|order| {
        order.kind == TaskKind::MachineReclaim
            && order.state == TaskState::Delivered
            && Some(&order.node_id) == node
            && handed_over
    });
    Ok(if good { None } else { Some("The order that this token was made for has ended.") })
}
