//! A small ground for the tests of the applier: nodes of eight GPUs that are online, a project with room, and wishes.

use std::sync::Arc;

use model::{
    AllocationId, NodeId, PoolId, ProjectId, RegionId, SkuId, SlotId, TenantId, Timestamp,
    allocation::AllocationTerms,
    sku::CapacityShape,
    supply::{FabricClaimMode, GpuModel, NodeState},
    tenancy,
};
use store::{
    Db, LEADER, LeaderGuard, Stamp, StoreError, Tx, Value,
    allocations::{self, AllocationNew},
    claims::{self, ClaimRow},
    lease, nodes,
    pools::{self, PoolNew},
    projects::{self, ProjectNew},
    regions,
    skus::{self, SkuTerms},
    tenants,
};
use topology::{Locality, ModuleId, SlotDevices, simulated::hgx_partitions};

use crate::{
    Ports,
    bootstrap::{self, NewNode, NewSlot},
    leader::Leader,
    plane::PlaneConfig,
};

/// Where wishes are made and met.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) db: Db,
    pub(super) ports: Ports,
    pub(super) guard: LeaderGuard,
    pub(super) nodes: Arc<Vec<NodeId>>,
    region: RegionId,
    slice: SkuId,
    metal: SkuId,
    tenant: TenantId,
    pub(super) project: ProjectId,
}

impl Ground {
    /// A ground with this many nodes.
    pub(super) fn new(db: &Db, nodes: usize) -> Self {
        let ports = Ports::system();
        let now = ports.now();
        let guard = db.write(move |tx| lease::lease_acquire(tx, LEADER, "me", None, now, 1)).unwrap().unwrap();
        let bits = || ports.id_bits();
        let ground = Self {
            db: db.clone(),
            guard,
            nodes: Arc::new((0..nodes).map(|_| NodeId::from_parts(now, bits())).collect()),
            region: RegionId::from_parts(now, bits()),
            slice: SkuId::from_parts(now, bits()),
            metal: SkuId::from_parts(now, bits()),
            tenant: TenantId::from_parts(now, bits()),
            project: ProjectId::from_parts(now, bits()),
            ports: ports.clone(),
        };
        ground.catalogue();
        ground.people();
        ground
    }

    fn catalogue(&self) {
        let (here, pool) = (self.clone(), PoolId::from_parts(self.ports.now(), self.ports.id_bits()));
        self.write(move |tx, stamp| {
            let name = "Here".parse().unwrap();
            regions::insert(tx, stamp, &here.region, &"eu-1".parse().unwrap(), &name, true)?;
            let (slug, gpu_model) = ("h200".parse().unwrap(), GpuModel::H200Sxm);
            let new = PoolNew {
                id: &pool,
                region_id: &here.region,
                slug: &slug,
                name: &name,
                gpu_model,
                slices_enabled: true,
                private_range: None,
            };
            pools::insert(tx, stamp, new)?;
            let terms = |counts: &[i64]| SkuTerms {
                name: "H200".parse().unwrap(),
                gpu_counts: counts.to_vec(),
                vcpus_per_gpu: 24,
                memory_mib_per_gpu: 65_536,
                price_micros_per_gpu_hour: 3_000_000,
                enabled: true,
                profile: None,
            };
            let slice = (CapacityShape::GpuSlice, gpu_model);
            skus::insert(tx, stamp, &here.slice, &"slice".parse().unwrap(), slice, &terms(&[1, 2, 4, 8]))?;
            let metal = (CapacityShape::Baremetal, gpu_model);
            skus::insert(tx, stamp, &here.metal, &"metal".parse().unwrap(), metal, &terms(&[8]))?;
            for (at, id) in here.nodes.iter().enumerate() {
                bootstrap::register_node(tx, stamp, &node(at, id, &pool))?;
                let row = nodes::get(tx, id)?.unwrap();
                nodes::enter(tx, stamp, &row, NodeState::Online, None)?;
            }
            Ok(())
        });
    }

    fn people(&self) {
        let here = self.clone();
        self.write(move |tx, stamp| {
            let (slug, name) = ("acme".parse().unwrap(), "Acme".parse().unwrap());
            tenants::insert(tx, stamp, &here.tenant, &slug, &name)?;
            let row = tenants::get(tx, &here.tenant)?.unwrap();
            tenants::enter(tx, stamp, &row, tenancy::State::Active, "{}", None)?;
            let new =
                ProjectNew { id: &here.project, tenant_id: &here.tenant, slug: &slug, name: &name, gpu_cap: 1_000_000 };
            projects::insert(tx, stamp, new)?;
            let row = projects::get(tx, &here.project)?.unwrap();
            projects::enter(tx, stamp, &row, tenancy::State::Active, "{}", None).map(drop)
        });
    }

    /// A leader on this ground, or one of several that all believe they lead.
    pub(super) fn leader(&self, db: &Db) -> Leader {
        let (guard, ports) = (self.guard.clone(), self.ports.clone());
        Leader { db: db.clone(), now: ports.now(), guard, config: PlaneConfig::new("me"), ports }
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let (ports, now) = (self.ports.clone(), self.ports.now());
        let wrote = self.db.write(move |tx| {
            let mut bits = || ports.id_bits();
            run(tx, &mut Stamp::new(now, &mut bits))
        });
        wrote.unwrap()
    }

    /// What a person with a shell on the database does: no version, no event, no question. Says how many rows changed.
    pub(super) fn by_hand(&self, sql: &'static str, params: &[Value]) -> u64 {
        let params = params.to_vec();
        self.db.write(move |tx| tx.execute(sql, &params)).unwrap()
    }

    /// A wish for a slice, or for a whole node.
    pub(super) fn wish(&self, gpu_count: i64, shape: CapacityShape) -> AllocationId {
        let (here, id) = (self.clone(), AllocationId::from_parts(self.ports.now(), self.ports.id_bits()));
        let made = id.clone();
        self.write(move |tx, stamp| {
            let new = AllocationNew {
                id: &made,
                tenant_id: &here.tenant,
                project_id: &here.project,
                name: &"train".parse().unwrap(),
                sku_id: if shape == CapacityShape::GpuSlice { &here.slice } else { &here.metal },
                region_id: &here.region,
                shape,
                gpu_count,
                terms: &AllocationTerms::default(),
                recreated_from: None,
                workload_id: None,
            };
            allocations::insert(tx, stamp, new)
        });
        id
    }

    /// Every claim that holds now.
    pub(super) fn claims(&self) -> Vec<ClaimRow> {
        let nodes = Arc::clone(&self.nodes);
        let all = self.db.read(move |tx| {
            let mut all = vec![];
            for node in nodes.iter() {
                all.extend(claims::active_on_node(tx, node)?);
            }
            Ok::<_, StoreError>(all)
        });
        all.unwrap()
    }

    pub(super) fn allocation(&self, id: &AllocationId) -> allocations::AllocationRow {
        let id = id.clone();
        self.db.read(move |tx| allocations::get(tx, &id)).unwrap().unwrap()
    }

    /// One number that a query answers.
    pub(super) fn count(&self, sql: &'static str) -> i64 {
        self.db.read(move |tx| tx.query_one(sql, &[])?.int(0)).unwrap()
    }
}

fn node(at: usize, id: &NodeId, pool: &PoolId) -> NewNode {
    let slots = (1..=8u32).map(|module| {
        let mut bits = [0; 10];
        bits[..8].copy_from_slice(&u64::try_from(at).unwrap().to_be_bytes());
        bits[9] = u8::try_from(module).unwrap();
        NewSlot {
            id: SlotId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), bits),
            profile: "h200-slice".to_owned(),
            gpu_uuid: Some(format!("GPU-{at}-{module}")),
            devices: SlotDevices {
                gpu_pci_address: Some(format!("0000:{module:02x}:00.0")),
                gpu_module_id: Some(ModuleId(module)),
                nvme_identity: Some(format!("eui.{at}.{module}")),
                mgmt_mac: Some(format!("52:54:00:{at}:{module:02x}")),
                private_ip: Some(format!("10.{at}.{module}")),
                fabric_claim_mode: FabricClaimMode::PerSlotVf,
                fabric_vf_pci_address: Some(format!("0000:{module:02x}:00.1")),
                numa_node: Some((module - 1) / 4),
            },
            locality: Locality { pcie_switch: Some((module - 1) / 2), rail: Some(module - 1) },
            approved: None,
        }
    });
    NewNode {
        id: id.clone(),
        pool_id: pool.clone(),
        name: format!("node-{at}"),
        gpu_model: GpuModel::H200Sxm,
        public_key: format!("key-{at}"),
        partitions: hgx_partitions(),
        slots: slots.collect(),
        profiles: vec![],
        promoted: true,
    }
}
