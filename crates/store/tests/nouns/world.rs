//! A small world to test in: ids and moments that never repeat, and the shortest way to a tenant, a node, an
//! allocation.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use model::allocation::{AllocationTerms, State};
use model::identity::{MemberRole, PrincipalKind};
use model::proof::{Proof, StepEvidence, WipeStep};
use model::sku::CapacityShape;
use model::supply::{FabricClaimMode, GpuModel, SlotState};
use model::task::{Fence, GuestOrder, Task, TaskInput, TaskKind, TaskResult, TaskSlot};
use model::{
    AllocationId, IdBits, MemberId, NodeId, PoolId, PrincipalId, ProjectId, RegionId, SkuId, SlotId, TenantId,
    Timestamp,
};
use store::allocations::{AllocationNew, AllocationRow, Entering};
use store::claims::SlotClaim;
use store::slots::{SlotNew, SlotParts, SlotRow};
use store::tasks::{TaskNew, TaskRow};
use store::{Db, Scope, Stamp, StoreError, Tx};
use store::{
    allocations, claims, decisions, members, nodes, pools, principals, projects, regions, skus, slots, tasks, tenants,
};

static NEXT: AtomicU64 = AtomicU64::new(1);
static CLOCK: AtomicI64 = AtomicI64::new(1_769_860_800_000_000);

pub fn bits() -> IdBits {
    let mut bits = [0; 10];
    bits[2..].copy_from_slice(&NEXT.fetch_add(1, Ordering::SeqCst).to_be_bytes());
    bits
}

/// A moment one millisecond after the last one.
pub fn tick() -> Timestamp {
    Timestamp::from_micros(CLOCK.fetch_add(1000, Ordering::SeqCst))
}

pub fn word(prefix: &str) -> String {
    format!("{prefix}{}", NEXT.fetch_add(1, Ordering::SeqCst))
}

macro_rules! fresh {
    ($id:ident) => {
        model::$id::from_parts($crate::world::tick(), $crate::world::bits())
    };
}
pub(crate) use fresh;

/// A write at the next moment.
pub fn write<T: Send + 'static>(
    db: &Db,
    mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let now = tick();
    db.write(move |tx| run(tx, &mut Stamp::new(now, &mut bits)))
}

pub fn read<T: Send + 'static>(db: &Db, run: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static) -> T {
    db.read(run).unwrap()
}

/// One number that a query answers.
pub fn count(db: &Db, sql: &'static str) -> i64 {
    read(db, move |tx| tx.query_one(sql, &[])?.int(0))
}

/// The events of one object: (version, change, from, to), in the order of versions.
pub fn story(db: &Db, subject_id: &str) -> Vec<(i64, String, Option<String>, Option<String>)> {
    let subject_id = subject_id.to_owned();
    read(db, move |tx| {
        let rows = tx.query(
            "SELECT object_version, change, state_from, state_to FROM events WHERE subject_id = $1 ORDER BY object_version",
            &[subject_id.as_str().into()],
        )?;
        let text = |value: Option<&str>| value.map(str::to_owned);
        rows.iter()
            .map(|row| Ok((row.int(0)?, row.text(1)?.into(), text(row.opt_text(2)?), text(row.opt_text(3)?))))
            .collect()
    })
}

/// The changes of one object, as words.
pub fn changes(db: &Db, subject_id: &str) -> Vec<String> {
    let story = story(db, subject_id);
    let versions: Vec<i64> = story.iter().map(|told| told.0).collect();
    assert_eq!(versions, (1..).take(versions.len()).collect::<Vec<i64>>(), "versions of {subject_id}");
    story.into_iter().map(|told| told.1).collect()
}

pub fn tenant(db: &Db) -> TenantId {
    let (id, slug) = (fresh!(TenantId), word("t").parse().unwrap());
    let made = id.clone();
    write(db, move |tx, stamp| tenants::insert(tx, stamp, &made, &slug, &"A tenant".parse().unwrap())).unwrap();
    id
}

pub fn project(db: &Db, tenant_id: &TenantId) -> ProjectId {
    let (id, tenant_id, slug) = (fresh!(ProjectId), tenant_id.clone(), word("p").parse().unwrap());
    let made = id.clone();
    write(db, move |tx, stamp| {
        let name = "A project".parse().unwrap();
        let new = projects::ProjectNew { id: &made, tenant_id: &tenant_id, slug: &slug, name: &name, gpu_cap: 8 };
        projects::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

pub fn user(db: &Db) -> PrincipalId {
    let (id, name) = (fresh!(PrincipalId), format!("{}@acme.example", word("u")));
    let made = id.clone();
    write(db, move |tx, stamp| {
        let kind = PrincipalKind::User;
        let new = principals::PrincipalNew { id: &made, kind, name: &name, tenant_id: None, platform_role: None };
        principals::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

pub fn member(
    db: &Db,
    principal_id: &PrincipalId,
    tenant_id: &TenantId,
    project_id: Option<&ProjectId>,
    role: MemberRole,
) -> MemberId {
    let id = fresh!(MemberId);
    let (made, principal_id, tenant_id, project_id) =
        (id.clone(), principal_id.clone(), tenant_id.clone(), project_id.cloned());
    write(db, move |tx, stamp| {
        let new = members::MemberNew {
            id: &made,
            tenant_id: &tenant_id,
            project_id: project_id.as_ref(),
            principal_id: &principal_id,
            role,
        };
        members::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

pub fn scope(principal_id: &PrincipalId) -> Scope {
    Scope::Principal { principal_id: principal_id.clone(), project_only: None }
}

pub fn narrowed(principal_id: &PrincipalId, project_id: &ProjectId) -> Scope {
    Scope::Principal { principal_id: principal_id.clone(), project_only: Some(project_id.clone()) }
}

/// Where capacity is: one region, pool, SKU and node.
#[derive(Debug, Clone)]
pub struct Site {
    pub region_id: RegionId,
    pub pool_id: PoolId,
    pub sku_id: SkuId,
    pub node_id: NodeId,
    pub slot_ids: Vec<SlotId>,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
}

pub fn terms() -> skus::SkuTerms {
    skus::SkuTerms {
        name: "H200 slice".parse().unwrap(),
        gpu_counts: vec![1, 2, 4, 8],
        profile: None,
        vcpus_per_gpu: 24,
        memory_mib_per_gpu: 65_536,
        price_micros_per_gpu_hour: 3_500_000,
        enabled: true,
    }
}

pub fn parts() -> SlotParts {
    SlotParts {
        gpu_pci_address: Some(word("gpu-")),
        gpu_uuid: Some(word("uuid-")),
        gpu_module_id: Some(1),
        nvme_identity: Some(word("nvme-")),
        mgmt_mac: Some(word("mac-")),
        private_ip: Some(word("ip-")),
        fabric_claim_mode: FabricClaimMode::PerSlotVf,
        fabric_vf_pci_address: Some(word("vf-")),
        numa_node: Some(0),
        pcie_switch: Some(0),
        rail: Some(0),
        partition_ids: "[]".into(),
        capacity_metadata: "{}".into(),
    }
}

pub fn node(db: &Db, pool_id: &PoolId) -> NodeId {
    let (id, pool_id, name, key) = (fresh!(NodeId), pool_id.clone(), word("host-"), word("key-"));
    let made = id.clone();
    write(db, move |tx, stamp| {
        let new = nodes::NodeNew {
            id: &made,
            pool_id: &pool_id,
            name: &name,
            gpu_model: GpuModel::H200Sxm,
            public_key: &key,
            partitions: "[[1],[2]]",
            hardware_serial: None,
            profiles: "[]",
            promoted: Some(stamp.now),
        };
        nodes::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

pub fn slots_on(db: &Db, node_id: &NodeId, count: usize) -> Vec<SlotId> {
    let new: Vec<SlotNew> = (0..count)
        .map(|_| SlotNew {
            id: fresh!(SlotId),
            node_id: node_id.clone(),
            profile: "h200".into(),
            available: true,
            parts: parts(),
            approval: None,
        })
        .collect();
    let ids = new.iter().map(|slot| slot.id.clone()).collect();
    write(db, move |tx, stamp| slots::insert_all(tx, stamp, &new)).unwrap();
    ids
}

pub fn site(db: &Db, slot_count: usize) -> Site {
    let (region_id, pool_id, sku_id) = (fresh!(RegionId), fresh!(PoolId), fresh!(SkuId));
    let (region, pool, sku) = (region_id.clone(), pool_id.clone(), sku_id.clone());
    let slugs: [model::text::Slug; 3] = ["r", "l", "s"].map(|prefix| word(prefix).parse().unwrap());
    write(db, move |tx, stamp| {
        let name = "Here".parse().unwrap();
        regions::insert(tx, stamp, &region, &slugs[0], &name, true)?;
        let gpu_model = GpuModel::H200Sxm;
        let new = pools::PoolNew {
            id: &pool,
            region_id: &region,
            slug: &slugs[1],
            name: &name,
            gpu_model,
            slices_enabled: true,
            private_range: None,
        };
        pools::insert(tx, stamp, new)?;
        skus::insert(tx, stamp, &sku, &slugs[2], (CapacityShape::GpuSlice, gpu_model), &terms())
    })
    .unwrap();
    let node_id = node(db, &pool_id);
    let slot_ids = slots_on(db, &node_id, slot_count);
    let tenant_id = tenant(db);
    let project_id = project(db, &tenant_id);
    Site { region_id, pool_id, sku_id, node_id, slot_ids, tenant_id, project_id }
}

pub fn request(db: &Db, site: &Site, shape: CapacityShape, gpu_count: i64) -> AllocationId {
    let (id, site) = (fresh!(AllocationId), site.clone());
    let made = id.clone();
    write(db, move |tx, stamp| {
        let name = "train".parse().unwrap();
        let new = AllocationNew {
            id: &made,
            tenant_id: &site.tenant_id,
            project_id: &site.project_id,
            name: &name,
            sku_id: &site.sku_id,
            region_id: &site.region_id,
            shape,
            gpu_count,
            terms: &AllocationTerms::default(),
            recreated_from: None,
            workload_id: None,
        };
        allocations::insert(tx, stamp, new)
    })
    .unwrap();
    id
}

pub fn allocation(tx: &mut Tx<'_>, id: &AllocationId) -> Result<AllocationRow, StoreError> {
    allocations::get(tx, id)?.ok_or(StoreError::NotFound)
}

pub fn enter(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    id: &AllocationId,
    state: State,
    node_id: Option<&NodeId>,
) -> Result<(), StoreError> {
    let row = allocation(tx, id)?;
    allocations::enter(tx, stamp, &row, Entering { state, observed: "{}", node_id, reason: None }).map(drop)
}

/// What the applier does for one verdict: reserve, claim, enter `reserved`. False when the node is taken.
pub fn place(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    id: &AllocationId,
    node_id: &NodeId,
    slot_ids: &[SlotId],
) -> Result<bool, StoreError> {
    let chosen = slots::lock_chosen(tx, slot_ids)?;
    slots::reserve_all(tx, stamp, &chosen)?;
    let claim = |slot: &SlotRow| SlotClaim {
        id: fresh!(ClaimId),
        slot_id: slot.id.clone(),
        fence: slot.use_generation + 1,
        snapshot: "{}".into(),
    };
    let claimed: Vec<SlotClaim> = chosen.iter().map(claim).collect();
    if !claims::take_slots(tx, id, node_id, &claimed, stamp.now)? {
        return Ok(false);
    }
    enter(tx, stamp, id, State::Reserved, Some(node_id))?;
    decide(tx, id, "placed", stamp.now)?;
    Ok(true)
}

/// A decision about a place, as the applier stores one.
pub fn decide(tx: &mut Tx<'_>, id: &AllocationId, outcome: &str, at: Timestamp) -> Result<(), StoreError> {
    let row = decisions::DecisionRow {
        id: fresh!(DecisionId),
        subject_id: id.to_string(),
        outcome: outcome.into(),
        body: "{}".into(),
        snapshot_version: 0,
        at,
    };
    decisions::insert(tx, &row)
}

/// An allocation that holds the given slots.
pub fn placed(db: &Db, site: &Site, slot_ids: &[SlotId]) -> AllocationId {
    let id = request(db, site, CapacityShape::GpuSlice, i64::try_from(slot_ids.len()).unwrap());
    let (made, node_id, slot_ids) = (id.clone(), site.node_id.clone(), slot_ids.to_vec());
    assert!(write(db, move |tx, stamp| place(tx, stamp, &made, &node_id, &slot_ids)).unwrap());
    id
}

pub fn order(tx: &mut Tx<'_>, id: &AllocationId, kind: TaskKind, now: Timestamp) -> Result<Task, StoreError> {
    let row = allocation(tx, id)?;
    let held = slots::of_allocation(tx, id)?;
    let attempt = tasks::latest(tx, id, kind)?.map_or(1, |task| task.fence.attempt + 1);
    let generation = held.iter().map(|slot| slot.use_generation).max().unwrap_or(1);
    let slots = held.iter().map(|slot| TaskSlot {
        slot_id: slot.id.clone(),
        use_generation: slot.use_generation,
        nonce: slot.wipe_nonce.clone(),
        bundle: None,
    });
    let guest = GuestOrder { allocation_id: id.clone(), slots: slots.collect(), guest: None, grace_s: None };
    Ok(Task {
        id: fresh!(TaskId),
        node_id: row.node_id.unwrap(),
        input: match kind {
            TaskKind::SliceVmRelease => TaskInput::SliceVmRelease(guest),
            _ => TaskInput::SliceVmProvision(guest),
        },
        fence: Fence { incarnation: 1, generation, attempt },
        deadline: now.plus_seconds(60),
    })
}

/// Gives an order and hands it out.
pub fn ordered(db: &Db, id: &AllocationId, kind: TaskKind) -> TaskRow {
    let made = id.clone();
    write(db, move |tx, stamp| {
        let (row, task) = (allocation(tx, &made)?, order(tx, &made, kind, stamp.now)?);
        tasks::insert(tx, stamp, TaskNew { task: &task, owner: Some((&row.tenant_id, &row.project_id)) })?;
        let given = tasks::get(tx, &task.id)?.ok_or(StoreError::NotFound)?;
        tasks::deliver_all(tx, stamp, &[given])?;
        tasks::get(tx, &task.id)?.ok_or(StoreError::NotFound)
    })
    .unwrap()
}

pub fn answer(task: &TaskRow) -> TaskResult {
    TaskResult::done(&task.order())
}

pub fn proof_for(slot: &SlotRow) -> Proof {
    let (disk, nonce) = (slot.parts.nvme_identity.clone().unwrap_or_default(), slot.wipe_nonce.clone().unwrap());
    let seen =
        |step: &WipeStep| StepEvidence { step: *step, ok: true, evidence: step.simulated_evidence(&disk, &nonce) };
    Proof {
        node_id: slot.node_id.clone(),
        slot_id: slot.id.clone(),
        use_generation: slot.use_generation,
        steps: WipeStep::ALL.iter().map(seen).collect(),
        disk_identity: disk.clone(),
        nonce: nonce.clone(),
        signature: "good".into(),
    }
}

/// Takes a placed allocation to `running`.
pub fn started(db: &Db, id: &AllocationId) {
    let made = id.clone();
    write(db, move |tx, stamp| enter(tx, stamp, &made, State::Provisioning, None)).unwrap();
    let task = ordered(db, id, TaskKind::SliceVmProvision);
    let made = id.clone();
    write(db, move |tx, stamp| {
        tasks::finish(tx, stamp, &task, &answer(&task))?;
        let held = slots::of_allocation(tx, &made)?;
        slots::enter_all(tx, stamp, &held, SlotState::InUse, None)?;
        enter(tx, stamp, &made, State::Running, None)
    })
    .unwrap();
}

/// Takes a running allocation to `releasing`, with a challenge on every slot.
pub fn releasing(db: &Db, id: &AllocationId) {
    let made = id.clone();
    write(db, move |tx, stamp| {
        let held = slots::of_allocation(tx, &made)?;
        let challenges: Vec<(&SlotRow, String)> = held.iter().map(|slot| (slot, word("nonce-"))).collect();
        let challenges: Vec<(&SlotRow, &str)> =
            challenges.iter().map(|(slot, nonce)| (*slot, nonce.as_str())).collect();
        slots::challenge_all(tx, stamp, &challenges)?;
        enter(tx, stamp, &made, State::Releasing, None)
    })
    .unwrap();
}

/// Takes a running allocation to `released`, its slots proved clean and `available`.
pub fn released(db: &Db, id: &AllocationId) {
    releasing(db, id);
    let task = ordered(db, id, TaskKind::SliceVmRelease);
    let made = id.clone();
    write(db, move |tx, stamp| {
        let held = slots::of_allocation(tx, &made)?;
        tasks::finish(tx, stamp, &task, &answer(&task))?;
        claims::end_of_allocation(tx, &made, stamp.now)?;
        slots::enter_all(tx, stamp, &held, SlotState::Wiping, None)?;
        enter(tx, stamp, &made, State::Released, None)?;
        for slot in &held {
            crate::overrides::keep(tx, stamp, slot, &proof_for(slot), None)?;
            let wiped = slots::get(tx, &slot.id)?.ok_or(StoreError::NotFound)?;
            let health = slots::Health { state: "healthy", detail: "proved clean" };
            slots::enter(tx, stamp, &wiped, SlotState::Available, health, None)?;
        }
        Ok(())
    })
    .unwrap();
}
