//! Allocations: what users hold. `node_id` is a read-model field for lists; which slots or node an allocation really
//! holds is said by its claims alone. Wishes come from users; states are entered by the driver and the placement
//! applier.

use model::allocation::{AllocationTerms, Desired, Labels, State};
use model::event::{Change as What, Noun};
use model::guest::UserData;
use model::image::ImageSpec;
use model::sku::CapacityShape;
use model::text::DisplayName;
use model::{AllocationId, NodeId, ProjectId, RegionId, SkuId, TenantId, Timestamp, WorkloadId};

use crate::living::{Life, Seen, life_begins_anew, life_columns, look_at_once};
use crate::record::{self, Change, Stamp};
use crate::scope::{Page, Scope, opened_by_membership};
use crate::{Row, StoreError, Tx};

/// One allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocationRow {
    /// Its id.
    pub id: AllocationId,
    /// The workload that it is a member of.
    pub workload_id: Option<WorkloadId>,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// In which project.
    pub project_id: ProjectId,
    /// What its owner calls it.
    pub name: DisplayName,
    /// What was bought.
    pub sku_id: SkuId,
    /// Where.
    pub region_id: RegionId,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs, and so how many slot claims.
    pub gpu_count: i64,
    /// What it was asked for with besides. What its owner wrote for cloud-init is not among it: see [`user_data`].
    pub terms: AllocationTerms,
    /// Whether its owner wrote something for cloud-init.
    pub has_user_data: bool,
    /// When its owner was told that the lease ends soon.
    pub lease_warned: Option<Timestamp>,
    /// It is released because its node is evacuated, and launched again elsewhere once that is done.
    pub evacuating: bool,
    /// The allocation that this one takes the place of.
    pub recreated_from: Option<AllocationId>,
    /// The allocation that took the place of this one.
    pub recreated_as: Option<AllocationId>,
    /// What its owner wants.
    pub desired: Desired,
    /// Why it is wanted released, as a word; empty while it is wanted, and when its owner gave it back.
    pub desired_reason: String,
    /// An operator's reason for not waiting for its host.
    pub force_reason: Option<String>,
    /// What evidence says of it, as JSON.
    pub observed: String,
    /// Where it was placed; for lists, never for decisions.
    pub node_id: Option<NodeId>,
    /// Where its workflow stands.
    pub state: State,
    /// Waits, looks and faults.
    pub life: Life,
    /// Raised by one with every change.
    pub version: i64,
    /// When it was asked for.
    pub created: Timestamp,
}

impl AllocationRow {
    /// What a wait is checked against.
    pub fn seen(&self) -> Seen<'_> {
        Seen { id: self.id.as_str(), version: self.version, look: self.life.look }
    }
    fn change(&self, what: What) -> Change<'_> {
        Change::of(Noun::Allocation, what, self.id.as_str(), self.version + 1)
            .within(Some(&self.tenant_id), Some(&self.project_id))
    }
}

/// An allocation to record.
#[derive(Debug, Clone, Copy)]
pub struct AllocationNew<'a> {
    /// Its id.
    pub id: &'a AllocationId,
    /// Whose it is.
    pub tenant_id: &'a TenantId,
    /// In which project.
    pub project_id: &'a ProjectId,
    /// What its owner calls it.
    pub name: &'a DisplayName,
    /// What is bought.
    pub sku_id: &'a SkuId,
    /// Where.
    pub region_id: &'a RegionId,
    /// In which form.
    pub shape: CapacityShape,
    /// How many GPUs.
    pub gpu_count: i64,
    /// What it is asked for with besides.
    pub terms: &'a AllocationTerms,
    /// The allocation that it takes the place of.
    pub recreated_from: Option<&'a AllocationId>,
    /// The workload that it is a member of.
    pub workload_id: Option<&'a WorkloadId>,
}

/// What its owner may change about an allocation that lives.
#[derive(Debug, Clone, Copy)]
pub struct Description<'a> {
    /// What its owner calls it.
    pub name: &'a DisplayName,
    /// Words to find it by.
    pub labels: &'a Labels,
    /// It may be stopped and launched again elsewhere.
    pub may_recreate: bool,
}

/// A state to enter, with what goes with it.
#[derive(Debug, Clone, Copy)]
pub struct Entering<'a> {
    /// The state.
    pub state: State,
    /// What evidence says now, as JSON.
    pub observed: &'a str,
    /// Where it was placed; `None` leaves what is there.
    pub node_id: Option<&'a NodeId>,
    /// Why.
    pub reason: Option<&'a str>,
}

/// Which allocations to list; every given field must match.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllocationFilter<'a> {
    /// Of one tenant.
    pub tenant_id: Option<&'a TenantId>,
    /// Of one project.
    pub project_id: Option<&'a ProjectId>,
    /// In one state.
    pub state: Option<State>,
}

macro_rules! selected {
    () => {
        concat!(
            "SELECT a.id, a.tenant_id, a.project_id, a.name, a.sku_id, a.region_id, a.shape, a.gpu_count, a.desired, ",
            "a.observed, a.node_id, a.state, a.version, a.created_us, ",
            life_columns!("a"),
            ", a.placement, a.labels, a.ssh_keys, a.lease_ends_us, a.lease_warned_us, a.may_recreate, a.evacuating, ",
            "a.recreated_from, a.desired_reason, a.force_reason, ",
            "(SELECT r.id FROM allocations r WHERE r.recreated_from = a.id) AS recreated_as, a.image, ",
            "CAST(CASE WHEN a.user_data IS NULL THEN 0 ELSE 1 END AS BIGINT), a.workload_id",
            " FROM allocations a"
        )
    };
}
macro_rules! listed {
    () => {
        concat!(
            selected!(),
            " WHERE a.id > $1 AND (CAST($3 AS TEXT) IS NULL OR a.tenant_id = $3) ",
            "AND (CAST($4 AS TEXT) IS NULL OR a.project_id = $4) AND (CAST($5 AS TEXT) IS NULL OR a.state = $5)"
        )
    };
}

const INSERT: &str = "INSERT INTO allocations (id, tenant_id, project_id, name, sku_id, region_id, shape, gpu_count, \
    desired, observed, state, state_since_us, look_us, version, created_us, placement, labels, ssh_keys, lease_ends_us, \
    may_recreate, recreated_from, image, user_data, workload_id) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '{}', $10, $11, $11, 1, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)";
const USER_DATA: &str = "SELECT user_data FROM allocations WHERE id = $1";
const OBSERVE: &str = "UPDATE allocations SET observed = $3, version = version + 1 WHERE id = $1 AND version = $2";
const GET: &str = concat!(selected!(), " WHERE a.id = $1");
const GET_SCOPED: &str =
    concat!(selected!(), " WHERE a.id = $1 AND ", opened_by_membership!("a.tenant_id", "a.project_id", "$2", "$3"));
const LIST: &str = concat!(listed!(), " ORDER BY a.id LIMIT $2");
const LIST_SCOPED: &str = concat!(
    listed!(),
    " AND ",
    opened_by_membership!("a.tenant_id", "a.project_id", "$6", "$7"),
    " ORDER BY a.id LIMIT $2"
);
const UNASKED: &str = concat!(
    selected!(),
    " WHERE a.project_id = $1 AND a.state NOT IN ('released', 'refused', 'failed') AND a.desired <> 'released' ",
    "ORDER BY a.id LIMIT $2"
);
const WISH: &str = concat!(
    "UPDATE allocations SET desired = $3, desired_reason = $5, evacuating = $6, force_reason = COALESCE($7, force_reason), ",
    look_at_once!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const DESCRIBE: &str = "UPDATE allocations SET name = $3, labels = $4, may_recreate = $5, version = version + 1 \
    WHERE id = $1 AND version = $2";
const EXTEND: &str = concat!(
    "UPDATE allocations SET lease_ends_us = $3, lease_warned_us = NULL, ",
    look_at_once!("$4"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
const WARN: &str = "UPDATE allocations SET lease_warned_us = $3, version = version + 1 WHERE id = $1 AND version = $2";
// The anti-join is on the allocation, which the claims are indexed by.
const WITHOUT_CLAIMS: &str = concat!(
    selected!(),
    " WHERE a.id > $1 AND a.state IN ('reserved', 'provisioning', 'running', 'releasing') AND NOT EXISTS ",
    "(SELECT 1 FROM allocation_resource_claims c WHERE c.allocation_id = a.id AND c.active_mode IS NOT NULL) ",
    "ORDER BY a.id LIMIT $2"
);
const BEGIN_ANEW: &str = concat!(
    "UPDATE allocations SET ",
    life_begins_anew!("$3"),
    ", version = version + 1 WHERE id = $1 AND version = $2"
);
macro_rules! enter {
    ($step:literal) => {
        concat!(
            "UPDATE allocations SET state = $3, observed = $4, node_id = COALESCE($5, node_id), ",
            life_begins_anew!("$6"),
            ", version = version + ",
            $step,
            " WHERE id = $1 AND version = $2"
        )
    };
}
const ENTER: &str = enter!("1");
const ENTER_SKIPPING: &str = enter!("2");

fn read(row: &Row) -> Result<AllocationRow, StoreError> {
    Ok(AllocationRow {
        id: row.parse(0)?,
        tenant_id: row.parse(1)?,
        project_id: row.parse(2)?,
        name: row.parse(3)?,
        sku_id: row.parse(4)?,
        region_id: row.parse(5)?,
        shape: row.parse(6)?,
        gpu_count: row.int(7)?,
        desired: row.parse(8)?,
        observed: row.text(9)?.to_owned(),
        node_id: row.opt_parse(10)?,
        state: row.parse(11)?,
        version: row.int(12)?,
        created: row.timestamp(13)?,
        life: Life::read(row, 14)?,
        terms: AllocationTerms {
            placement: json_at(row, 22, "{}")?,
            labels: json_at(row, 23, "[]")?,
            ssh_keys: json_at(row, 24, "[]")?,
            lease_ends: row.opt_timestamp(25)?,
            may_recreate: row.flag(27)?,
            image: image_at(row, 33)?,
            user_data: None,
        },
        has_user_data: row.flag(34)?,
        lease_warned: row.opt_timestamp(26)?,
        evacuating: row.flag(28)?,
        recreated_from: row.opt_parse(29)?,
        desired_reason: row.text(30)?.to_owned(),
        force_reason: row.opt_text(31)?.map(str::to_owned),
        recreated_as: row.opt_parse(32)?,
        workload_id: row.opt_parse(35)?,
    })
}

fn image_at(row: &Row, at: usize) -> Result<Option<ImageSpec>, StoreError> {
    let read = |text| serde_json::from_str(text).map_err(|error| row.corrupt(at, &error.to_string()));
    row.opt_text(at)?.map(read).transpose()
}

// Most rows say nothing here, and lists are long.
fn json_at<T: Default + serde::de::DeserializeOwned>(row: &Row, at: usize, nothing: &str) -> Result<T, StoreError> {
    let text = row.text(at)?;
    if text == nothing {
        return Ok(T::default());
    }
    serde_json::from_str(text).map_err(|error| row.corrupt(at, &error.to_string()))
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))
}

/// Records a wish for capacity: `requested`, wanted `running`, due for a look.
pub fn insert(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, new: AllocationNew<'_>) -> Result<(), StoreError> {
    let state = State::Requested.as_str();
    let params = [
        new.id.into(),
        new.tenant_id.into(),
        new.project_id.into(),
        new.name.as_str().into(),
        new.sku_id.into(),
        new.region_id.into(),
        new.shape.as_str().into(),
        new.gpu_count.into(),
        Desired::Running.as_str().into(),
        state.into(),
        stamp.now.into(),
        json(&new.terms.placement)?.into(),
        json(&new.terms.labels)?.into(),
        json(&new.terms.ssh_keys)?.into(),
        new.terms.lease_ends.into(),
        new.terms.may_recreate.into(),
        new.recreated_from.into(),
        new.terms.image.as_ref().map(json).transpose()?.into(),
        new.terms.user_data.as_ref().map(UserData::reveal).into(),
        new.workload_id.into(),
    ];
    let change = Change::of(Noun::Allocation, What::Created, new.id.as_str(), 1)
        .within(Some(new.tenant_id), Some(new.project_id))
        .states(None, state);
    record::created(tx, stamp, INSERT, &params, change)
}

/// One allocation, whoever asks.
pub fn get(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Option<AllocationRow>, StoreError> {
    tx.query_opt(GET, &[id.into()])?.as_ref().map(read).transpose()
}

/// What its owner wrote for cloud-init.
pub fn user_data(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Option<UserData>, StoreError> {
    let Some(row) = tx.query_opt(USER_DATA, &[id.into()])? else { return Ok(None) };
    let read = |text: &str| UserData::try_from(text.to_owned()).map_err(|error| row.corrupt(0, &error.to_string()));
    row.opt_text(0)?.map(read).transpose()
}

/// Writes down what evidence says of it, without moving it.
pub fn observe(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    observed: &str,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    let params = [(&allocation.id).into(), allocation.version.into(), observed.into()];
    record::changed(tx, stamp, OBSERVE, &params, allocation.change(What::Updated).because(reason))
}

/// One allocation, if this scope may see it.
pub fn get_visible(tx: &mut Tx<'_>, scope: &Scope, id: &AllocationId) -> Result<Option<AllocationRow>, StoreError> {
    let (sql, params) = scope.choose(GET, GET_SCOPED, vec![id.into()]);
    tx.query_opt(sql, &params)?.as_ref().map(read).transpose()
}

/// Allocations in id order.
pub fn list(
    tx: &mut Tx<'_>,
    scope: &Scope,
    filter: AllocationFilter<'_>,
    page: Page<'_>,
) -> Result<Vec<AllocationRow>, StoreError> {
    let params = vec![
        page.after.into(),
        page.rows().into(),
        filter.tenant_id.into(),
        filter.project_id.into(),
        filter.state.map(State::as_str).into(),
    ];
    let (sql, params) = scope.choose(LIST, LIST_SCOPED, params);
    tx.query(sql, &params)?.iter().map(read).collect()
}

/// Allocations of a project that have not ended and that nobody asked back yet.
pub fn unasked(tx: &mut Tx<'_>, project_id: &ProjectId, limit: i64) -> Result<Vec<AllocationRow>, StoreError> {
    tx.query(UNASKED, &[project_id.into(), limit.into()])?.iter().map(read).collect()
}

/// Records what is wanted of it, and why; the driver looks at it at once.
pub fn wish(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    desired: Desired,
    reason: Option<&str>,
) -> Result<i64, StoreError> {
    wished(tx, stamp, allocation, Wished { desired, reason, evacuating: false, force_reason: None })
}

/// Records that it is released because its node is evacuated; once it is, it is launched again elsewhere.
pub fn evacuate(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, allocation: &AllocationRow) -> Result<i64, StoreError> {
    let wish = Wished { desired: Desired::Released, reason: Some("evacuated"), evacuating: true, force_reason: None };
    wished(tx, stamp, allocation, wish)
}

/// Records an operator's word that it is to be released without waiting for its host any longer.
pub fn force_release(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    why: &str,
) -> Result<i64, StoreError> {
    let (desired, reason) = (Desired::Released, Some("force_released"));
    wished(
        tx,
        stamp,
        allocation,
        Wished { desired, reason, evacuating: allocation.evacuating, force_reason: Some(why) },
    )
}

#[derive(Clone, Copy)]
struct Wished<'a> {
    desired: Desired,
    reason: Option<&'a str>,
    evacuating: bool,
    force_reason: Option<&'a str>,
}

fn wished(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    wish: Wished<'_>,
) -> Result<i64, StoreError> {
    let params = [
        (&allocation.id).into(),
        allocation.version.into(),
        wish.desired.as_str().into(),
        stamp.now.into(),
        wish.reason.unwrap_or_default().into(),
        wish.evacuating.into(),
        wish.force_reason.into(),
    ];
    record::changed(tx, stamp, WISH, &params, allocation.change(What::Wished).because(wish.reason))
}

/// Changes what its owner says about it.
pub fn describe(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    new: Description<'_>,
) -> Result<i64, StoreError> {
    let params = [
        (&allocation.id).into(),
        allocation.version.into(),
        new.name.as_str().into(),
        json(new.labels)?.into(),
        new.may_recreate.into(),
    ];
    record::changed(tx, stamp, DESCRIBE, &params, allocation.change(What::Updated))
}

/// Moves the end of its lease; its owner is warned anew.
pub fn extend_lease(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    ends: Timestamp,
) -> Result<i64, StoreError> {
    let params = [(&allocation.id).into(), allocation.version.into(), ends.into(), stamp.now.into()];
    record::changed(tx, stamp, EXTEND, &params, allocation.change(What::Updated).because(Some("lease_extended")))
}

/// Tells its owner that the lease ends soon.
pub fn warn_of_lease_end(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
) -> Result<i64, StoreError> {
    let params = [(&allocation.id).into(), allocation.version.into(), stamp.now.into()];
    record::changed(tx, stamp, WARN, &params, allocation.change(What::Updated).because(Some("lease_ends_soon")))
}

/// Allocations in id order whose state says that they hold capacity, and that hold no claim.
pub fn without_claims(tx: &mut Tx<'_>, page: Page<'_>) -> Result<Vec<AllocationRow>, StoreError> {
    tx.query(WITHOUT_CLAIMS, &[page.after.into(), page.rows().into()])?.iter().map(read).collect()
}

/// Begins the allocation's state anew at an operator's word: orders that were given before do not count any more.
pub fn begin_anew(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, allocation: &AllocationRow) -> Result<i64, StoreError> {
    let params = [(&allocation.id).into(), allocation.version.into(), stamp.now.into()];
    record::changed(tx, stamp, BEGIN_ANEW, &params, allocation.change(What::Wished).because(Some("repair")))
}

/// Moves an allocation to a state.
pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    entering: Entering<'_>,
) -> Result<i64, StoreError> {
    let params = [
        (&allocation.id).into(),
        allocation.version.into(),
        entering.state.as_str().into(),
        entering.observed.into(),
        entering.node_id.into(),
        stamp.now.into(),
    ];
    let change = allocation
        .change(What::StateChanged)
        .states(Some(allocation.state.as_str()), entering.state.as_str())
        .because(entering.reason);
    let sql = if model::planted!(VersionSkips) { ENTER_SKIPPING } else { ENTER };
    record::changed(tx, stamp, sql, &params, change)
}
