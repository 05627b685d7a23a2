//! Ways in from outside: one public address and port that would lead to one guest. Each address and port is had once. A way
//! in never changes; it is accepted, and goes with its allocation or before.

use std::net::Ipv4Addr;

use model::event::{Change as What, Noun};
use model::supply::{IngressProtocol, IngressState};
use model::{AllocationId, IngressId, ProjectId, RegionId, TenantId, Timestamp};

use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressRow {
    /// Its id.
    pub id: IngressId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// To whose guest.
    pub allocation_id: AllocationId,
    /// Into which region.
    pub region_id: RegionId,
    /// What travels.
    pub protocol: IngressProtocol,
    /// The public address.
    pub address: Ipv4Addr,
    /// The public port.
    pub public_port: i64,
    /// The guest's port.
    pub guest_port: i64,
    /// Where it stands.
    pub state: IngressState,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was recorded.
    pub created: Timestamp,
}

impl IngressRow {
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Ingress, what, self.id.as_str(), self.version + 1)
            .within(Some(&self.tenant_id), Some(&self.project_id))
    }
}

/// A way in to record.
#[derive(Debug, Clone, Copy)]
pub struct IngressNew<'a> {
    /// Its id.
    pub id: &'a IngressId,
    /// Whose it is.
    pub tenant_id: &'a TenantId,
    /// In which project.
    pub project_id: &'a ProjectId,
    /// To whose guest.
    pub allocation_id: &'a AllocationId,
    /// Into which region.
    pub region_id: &'a RegionId,
    /// What travels.
    pub protocol: IngressProtocol,
    /// The public address.
    pub address: Ipv4Addr,
    /// The public port.
    pub public_port: u16,
    /// The guest's port.
    pub guest_port: i64,
}

macro_rules! selected {
    () => {
        "SELECT i.id, i.tenant_id, i.project_id, i.allocation_id, i.region_id, i.protocol, i.address, i.public_port, \
         i.guest_port, i.state, i.version, i.created_us FROM ingresses i"
    };
}

const INSERT: &str = "INSERT INTO ingresses (id, tenant_id, project_id, allocation_id, region_id, protocol, address, \
    public_port, guest_port, state, version, created_us) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'accepted', 1, $10)";
const GET: &str = concat!(selected!(), " WHERE i.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE i.id = $1 AND ", opened_by_membership!("i.tenant_id", "i.project_id", "$2", "$3"));
const OF_PROJECT: &str = concat!(selected!(), " WHERE i.project_id = $3 AND i.id > $1 ORDER BY i.id LIMIT $2");
const OF_ALLOCATION: &str = concat!(selected!(), " WHERE i.allocation_id = $1 ORDER BY i.id");
const TAKEN: &str = "SELECT address, public_port FROM ingresses WHERE region_id = $1";
const COUNT: &str = "SELECT COUNT(*) FROM ingresses WHERE project_id = $1";
const DELETE: &str = "DELETE FROM ingresses WHERE id = $1 AND version = $2";

fn read(row: &Row) -> Result<IngressRow, StoreError> {
    Ok(IngressRow {
        id: row.parse(0)?,
        tenant_id: row.parse(1)?,
        project_id: row.parse(2)?,
        allocation_id: row.parse(3)?,
        region_id: row.parse(4)?,
        protocol: row.parse(5)?,
        address: row.parse(6)?,
        public_port: row.int(7)?,
        guest_port: row.int(8)?,
        state: row.parse(9)?,
        version: row.int(10)?,
        created: row.timestamp(11)?,
    })
}

/// Records a way in. An address and port that somebody has is a `UniqueViolation`.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: IngressNew<'_>) -> Result<(), StoreError> {
    let params = [
        new.id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.allocation_id.into(),
        new.region_id.into(),
        new.protocol.as_str().into(),
        new.address.to_string().into(),
        new.public_port.into(),
        new.guest_port.into(),
        stamp.now.into(),
    ];
    let change =
        Change::of(Noun::Ingress, What::Created, new.id.as_str(), 1).within(Some(new.tenant_id), Some(new.project_id));
    record::created(tx, stamp, INSERT, &params, change)
}

/// One way in, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &IngressId) -> Result<Option<IngressRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// One way in, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &IngressId) -> Result<Option<IngressRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// The ways in of a project in id order.
pub fn of_project(tx: &mut Tx<'_>, project_id: &ProjectId, page: Page<'_>) -> Result<Vec<IngressRow>, StoreError> {
    tx.query(OF_PROJECT, &[page.after.into(), page.rows().into(), project_id.into()])?.iter().map(read).collect()
}

/// How many ways in a project has.
pub fn count(tx: &mut Tx<'_>, project_id: &ProjectId) -> Result<i64, StoreError> {
    tx.query_one(COUNT, &[project_id.into()])?.int(0)
}

/// Every address and port that is had in a region.
pub fn taken(tx: &mut Tx<'_>, region_id: &RegionId) -> Result<Vec<(Ipv4Addr, i64)>, StoreError> {
    tx.query(TAKEN, &[region_id.into()])?.iter().map(|row| Ok((row.parse(0)?, row.int(1)?))).collect()
}

/// Gives a way in back.
pub fn delete(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, ingress: &IngressRow) -> Result<(), StoreError> {
    let params = [(&ingress.id).into(), ingress.version.into()];
    record::changed(tx, stamp, DELETE, &params, ingress.change(What::Deleted)).map(drop)
}

/// Gives back every way in to an allocation that has ended. Says how many there were.
pub fn delete_of_allocation(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, id: &AllocationId) -> Result<usize, StoreError> {
    let rows: Vec<IngressRow> = tx.query(OF_ALLOCATION, &[id.into()])?.iter().map(read).collect::<Result<_, _>>()?;
    rows.iter().try_for_each(|row| delete(tx, stamp, row))?;
    Ok(rows.len())
}
