//! Whether a stream may be, and may go on: decided inside a transaction from what the store holds at that moment, by the same
//! rules when it opens and every time it is looked at again.

use api::{Code, Problem, Right};
use model::{
    AllocationId, NodeId, StreamId, TenantId, Timestamp,
    allocation::{Desired, State},
    sku::CapacityShape,
    stream::{StreamEnding, StreamKind},
    tenancy,
};
use store::{
    StoreError, Tx, allocations, allocations::AllocationRow, certificates, claims, projects, streams, tenants,
};

use super::GatewayConfig;
use crate::authz::{Policies, Resource, authenticate, token::Secret};

/// A stream that was written down and waits for its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Which.
    pub id: StreamId,
    /// To whose guest.
    pub allocation_id: AllocationId,
    /// Whose that is.
    pub tenant_id: TenantId,
    /// The node that holds it.
    pub node_id: NodeId,
    /// What it carries.
    pub kind: StreamKind,
}

/// What a stream rests on.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) id: StreamId,
    pub(crate) allocation_id: AllocationId,
    pub(crate) node_id: NodeId,
    pub(crate) secret: Secret,
    /// The certificate that the node took it with.
    pub(crate) serial: Option<String>,
}

/// Why an allocation has no way in; none when it has one, which leads to this node.
pub(crate) fn way_in(tx: &mut Tx<'_>, row: &AllocationRow) -> Result<Result<NodeId, &'static str>, StoreError> {
    if row.shape == CapacityShape::Baremetal {
        return Ok(Err("A whole node is reached at its own address, not through the platform."));
    }
    if row.state != State::Running || row.desired != Desired::Running {
        return Ok(Err("Only an allocation that is running, and is to stay so, can be reached."));
    }
    let held = claims::of_allocation(tx, &row.id)?.into_iter().find(|claim| claim.released.is_none());
    Ok(held.map(|claim| claim.node_id).ok_or("The allocation holds nothing that could be reached."))
}

/// Why nothing may be used in a tenant or project.
pub(crate) fn closed(tx: &mut Tx<'_>, row: &AllocationRow) -> Result<Option<&'static str>, StoreError> {
    let shut = |state, desired| state != tenancy::State::Active || desired != tenancy::Desired::Active;
    let tenant = tenants::get(tx, &row.tenant_id)?;
    if tenant.is_none_or(|tenant| shut(tenant.state, tenant.desired)) {
        return Ok(Some("The tenant is suspended or on its way out; its guests cannot be reached."));
    }
    let project = projects::get(tx, &row.project_id)?;
    if project.is_none_or(|project| shut(project.state, project.desired)) {
        return Ok(Some("The project is suspended or on its way out; its guests cannot be reached."));
    }
    Ok(None)
}

/// Why a stream must end now, if it must.
pub(crate) fn ending(
    tx: &mut Tx<'_>,
    policies: &Policies,
    watched: &Watched,
    now: Timestamp,
) -> Result<Option<StreamEnding>, StoreError> {
    let Ok(caller) = authenticate(tx, &watched.secret, now)? else {
        return Ok(Some(StreamEnding::TokenEnded));
    };
    let Some(row) = allocations::get(tx, &watched.allocation_id)? else {
        return Ok(Some(StreamEnding::AllocationEnded));
    };
    if way_in(tx, &row)? != Ok(watched.node_id.clone()) {
        return Ok(Some(StreamEnding::AllocationEnded));
    }
    if !policies.allow(&caller, Right::ProjectUse, Resource::Project(&row.tenant_id, &row.project_id)) {
        return Ok(Some(StreamEnding::RoleLost));
    }
    if closed(tx, &row)?.is_some() {
        return Ok(Some(StreamEnding::TenantSuspended));
    }
    if let Some(serial) = &watched.serial
        && certificates::get(tx, serial)?.is_none_or(|known| known.revoked.is_some())
    {
        return Ok(Some(StreamEnding::NodeRevoked));
    }
    Ok(None)
}

/// Refuses one stream too many.
pub(crate) fn check_room(live: &streams::Live, config: &GatewayConfig) -> Result<(), Problem> {
    let over = [
        ("allocation", live.of_allocation, config.per_allocation_max),
        ("tenant", live.of_tenant, config.per_tenant_max),
        ("node", live.of_node, config.per_node_max),
    ];
    match over.iter().find(|(_, now, most)| now >= most) {
        None => Ok(()),
        Some((what, now, most)) => {
            let detail = format!("The {what} has {now} open streams; {most} are allowed.");
            Err(Problem::new(Code::StreamLimit, detail).with_retry_after(5))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_limit_is_told_by_name() {
        let config =
            GatewayConfig { per_allocation_max: 2, per_tenant_max: 3, per_node_max: 4, ..GatewayConfig::default() };
        let room = |of_allocation, of_tenant, of_node| {
            check_room(&streams::Live { of_allocation, of_tenant, of_node }, &config).map_err(|problem| problem.detail)
        };
        assert_eq!(room(1, 2, 3), Ok(()));
        assert_eq!(room(2, 2, 2), Err("The allocation has 2 open streams; 2 are allowed.".to_owned()));
        assert_eq!(room(0, 3, 3), Err("The tenant has 3 open streams; 3 are allowed.".to_owned()));
        assert_eq!(room(0, 0, 9), Err("The node has 9 open streams; 4 are allowed.".to_owned()));
    }
}
