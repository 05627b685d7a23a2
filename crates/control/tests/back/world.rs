//! One region, one pool, a few nodes of eight GPUs, a tenant with a project, a plane, and a hand on the clock.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use api::node_plane::{FromControl, Heartbeat, Offer, Poll, TaskAnswer, TaskReport, ToControl};
use control::{
    Clock, Entropy, Ports,
    bootstrap::{self, NewNode, NewSlot},
    node_plane::NodeRefusal,
    plane::{ControlPlane, PlaneConfig, StepReport},
};
use ed25519_dalek::{Signer, SigningKey};
use model::{
    AllocationId, NodeId, OperationId, PoolId, PrincipalId, ProjectId, RegionId, SkuId, SlotId, TenantId, Timestamp,
    allocation::{AllocationTerms, Desired, State},
    event::Noun,
    identity::PrincipalKind,
    proof::{Proof, StepEvidence, WipeStep},
    sku::CapacityShape,
    supply::{FabricClaimMode, GpuModel, SlotState},
    task::{Task, TaskFailure, TaskKind, TaskResult, TaskSlot},
};
use store::{
    Db, Page, Scope, Stamp, StoreError, Tx,
    allocations::{self, AllocationFilter, AllocationNew, AllocationRow},
    audit, claims, events, operations,
    operations::{OperationNew, OperationRow},
    pools::{self, PoolNew},
    principals::{self, PrincipalNew},
    projects::{self, ProjectNew, ProjectRow},
    regions,
    skus::{self, SkuTerms},
    slots::{self, SlotRow},
    tasks::{self, TaskRow},
    tenants,
    tenants::TenantRow,
};
use topology::{Locality, ModuleId, SlotDevices, simulated::hgx_partitions};

pub struct TestClock(AtomicI64);
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Different bytes every time, the same ones in every run.
pub struct Counted(AtomicU64);
impl Entropy for Counted {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let mut word = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// A node whose agent says what the test wants.
pub struct Node {
    pub id: NodeId,
    pub key: SigningKey,
}

pub struct World {
    pub db: Db,
    pub clock: Arc<TestClock>,
    pub ports: Ports,
    pub config: PlaneConfig,
    pub plane: ControlPlane,
    pub nodes: Vec<Arc<Node>>,
    pub region: RegionId,
    pub sku: SkuId,
    pub bare_metal: SkuId,
    pub user: PrincipalId,
    pub tenant: TenantId,
    pub project: ProjectId,
}

pub fn ports() -> (Arc<TestClock>, Ports) {
    let clock = Arc::new(TestClock(AtomicI64::new(1_800_000_000_000_000)));
    let ports = Ports { clock: clock.clone(), entropy: Arc::new(Counted(AtomicU64::new(1))) };
    (clock, ports)
}

impl World {
    /// A world with this many nodes, everything settled, every node online.
    pub fn new(db: Db, nodes: usize) -> Self {
        let mut world = Self::bare(db, nodes);
        world.settle();
        world.nodes_heard();
        world.settle();
        world
    }

    /// The same before anything has moved.
    pub fn bare(db: Db, nodes: usize) -> Self {
        let (clock, ports) = ports();
        let config = PlaneConfig::new("test-replica");
        let plane = ControlPlane::new(db.clone(), ports.clone(), config.clone());
        let now = clock.now();
        let bits = || ports.id_bits();
        let (region, sku, bare_metal) =
            (RegionId::from_parts(now, bits()), SkuId::from_parts(now, bits()), SkuId::from_parts(now, bits()));
        let (user, tenant, project) = (
            PrincipalId::from_parts(now, bits()),
            TenantId::from_parts(now, bits()),
            ProjectId::from_parts(now, bits()),
        );
        let nodes: Vec<Arc<Node>> = (0..nodes)
            .map(|at| {
                let key = SigningKey::from_bytes(&[u8::try_from(at + 1).unwrap(); 32]);
                Arc::new(Node { id: NodeId::from_parts(now, bits()), key })
            })
            .collect();
        let world = Self { db, clock, ports, config, plane, nodes, region, sku, bare_metal, user, tenant, project };
        world.seed();
        world
    }

    fn seed(&self) {
        let pool = PoolId::from_parts(self.clock.now(), self.ports.id_bits());
        let described: Vec<NewNode> =
            self.nodes.iter().enumerate().map(|(at, node)| node.describe(at, &pool)).collect();
        let (region, sku, bare_metal) = (self.region.clone(), self.sku.clone(), self.bare_metal.clone());
        let (user, tenant, project) = (self.user.clone(), self.tenant.clone(), self.project.clone());
        self.write(move |tx, stamp| {
            regions::insert(tx, stamp, &region, &"eu-1".parse().unwrap(), &"Europe".parse().unwrap(), true)?;
            let (slug, name) = ("h200".parse().unwrap(), "H200".parse().unwrap());
            let gpu_model = GpuModel::H200Sxm;
            pools::insert(
                tx,
                stamp,
                PoolNew {
                    id: &pool,
                    region_id: &region,
                    slug: &slug,
                    name: &name,
                    gpu_model,
                    slices_enabled: true,
                    private_range: None,
                },
            )?;
            let terms = |gpu_counts: &[i64]| SkuTerms {
                name: "H200".parse().unwrap(),
                gpu_counts: gpu_counts.to_vec(),
                profile: None,
                vcpus_per_gpu: 16,
                memory_mib_per_gpu: 200_000,
                price_micros_per_gpu_hour: 3_000_000,
                enabled: true,
            };
            let slice = (CapacityShape::GpuSlice, gpu_model);
            skus::insert(tx, stamp, &sku, &"h200-slice".parse().unwrap(), slice, &terms(&[1, 2, 4, 8]))?;
            let whole = (CapacityShape::Baremetal, gpu_model);
            skus::insert(tx, stamp, &bare_metal, &"h200-node".parse().unwrap(), whole, &terms(&[8]))?;
            for node in &described {
                bootstrap::register_node(tx, stamp, node)?;
            }
            principals::insert(
                tx,
                stamp,
                PrincipalNew {
                    id: &user,
                    kind: PrincipalKind::User,
                    name: "ada@acme.example",
                    tenant_id: None,
                    platform_role: None,
                },
            )?;
            tenants::insert(tx, stamp, &tenant, &"acme".parse().unwrap(), &"Acme".parse().unwrap())?;
            let (slug, name) = ("lab".parse().unwrap(), "Lab".parse().unwrap());
            projects::insert(
                tx,
                stamp,
                ProjectNew { id: &project, tenant_id: &tenant, slug: &slug, name: &name, gpu_cap: 64 },
            )
        })
        .unwrap();
    }

    /// A write as a request would make one.
    pub fn write<T: Send + 'static>(
        &self,
        mut run: impl FnMut(&mut Tx<'_>, &mut Stamp<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (ports, now) = (self.ports.clone(), self.clock.now());
        self.db.write(move |tx| {
            let mut bits = || ports.id_bits();
            run(tx, &mut Stamp::new(now, &mut bits))
        })
    }

    pub fn read<T: Send + 'static>(&self, run: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static) -> T {
        self.db.read(run).unwrap()
    }

    pub fn advance_s(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub fn clock_now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The allocations that have not ended.
    pub fn living(&self) -> Vec<AllocationId> {
        self.read(|tx| {
            let (mut all, mut after) = (vec![], String::new());
            loop {
                let rows = allocations::list(tx, &Scope::All, AllocationFilter::default(), Page::after(&after, 1000))?;
                let Some(last) = rows.last() else { return Ok(all) };
                after = last.id.to_string();
                all.extend(rows.into_iter().filter(|row| !row.state.is_terminal()).map(|row| row.id));
            }
        })
    }

    pub fn step(&mut self) -> StepReport {
        self.plane.step(self.clock.now())
    }

    /// An operator's word that the host of an allocation is not to be waited for.
    pub fn force_release(&mut self, id: &AllocationId, reason: &'static str) {
        let of = id.clone();
        self.write(move |tx, stamp| {
            let row = allocations::get(tx, &of)?.unwrap();
            allocations::force_release(tx, stamp, &row, reason)
        })
        .unwrap();
    }

    /// Steps until nothing moves any more at this moment.
    pub fn settle(&mut self) {
        for _ in 0..300 {
            let report = self.step();
            assert_eq!(report.stopped, None);
            assert!(report.leading);
            if !report.worked {
                return;
            }
        }
        panic!("the plane does not come to rest");
    }

    /// The process is gone with everything it held in memory, and a new one starts.
    pub fn restart(&mut self) {
        self.plane = ControlPlane::new(self.db.clone(), self.ports.clone(), self.config.clone());
    }

    pub fn nodes_heard(&self) {
        for node in &self.nodes {
            self.say(node, ToControl::Heartbeat(self.beat(node))).unwrap();
        }
    }

    pub fn beat(&self, node: &Node) -> Heartbeat {
        Heartbeat { node_id: node.id.clone(), boot: 1, session: "only".to_owned(), sent_at: self.clock.now() }
    }

    pub fn say(&self, node: &Node, message: ToControl) -> Result<Vec<FromControl>, NodeRefusal> {
        self.plane.node_plane().handle(&self.db, &node.id, message)
    }

    /// The orders that are open. A host that is back is compared before anything else; there, all is as claimed.
    pub fn poll(&self, node: &Node) -> Vec<Task> {
        self.offered(node).unwrap().into_iter().filter(|task| !self.compared(node, task).unwrap()).collect()
    }

    /// The orders that are open, comparisons too.
    pub fn offered(&self, node: &Node) -> Result<Vec<Task>, NodeRefusal> {
        let answer = self.say(node, ToControl::Poll(Poll { node_id: node.id.clone(), boot: 1 }))?;
        match answer.as_slice() {
            [FromControl::TasksOffered(offer)] => Ok(offer.tasks.iter().map(known).collect()),
            other => panic!("{other:?}"),
        }
    }

    /// Answers an order to compare with that all is well; false for any other.
    fn compared(&self, node: &Node, task: &Task) -> Result<bool, NodeRefusal> {
        if task.kind() != TaskKind::SliceReconcile {
            return Ok(false);
        }
        let report = Some(TaskReport::SliceReconcile(Box::default()));
        let said = TaskAnswer { node_id: node.id.clone(), boot: 1, result: node.succeed(task), report };
        self.say(node, ToControl::Result(said)).map(|_| true)
    }

    pub fn answer(&self, node: &Node, result: TaskResult) -> Result<Vec<FromControl>, NodeRefusal> {
        self.say(node, ToControl::Result(TaskAnswer { node_id: node.id.clone(), boot: 1, result, report: None }))
    }

    /// Every node does everything it is asked, well. Says how many orders there were.
    pub fn nodes_work(&self) -> usize {
        let mut done = 0;
        for node in &self.nodes {
            for task in self.poll(node) {
                self.answer(node, node.succeed(&task)).unwrap();
                done += 1;
            }
        }
        done
    }

    /// Heartbeats, where the store may fail meanwhile.
    pub fn try_nodes_heard(&self) -> Result<(), StoreError> {
        self.nodes
            .iter()
            .try_for_each(|node| self.say(node, ToControl::Heartbeat(self.beat(node))).map(drop).map_err(told))
    }

    /// The same where the store may fail meanwhile; what was not done is offered again.
    pub fn try_nodes_work(&self) -> Result<usize, StoreError> {
        let mut done = 0;
        for node in &self.nodes {
            for task in self.offered(node).map_err(told)? {
                if !self.compared(node, &task).map_err(told)? {
                    self.answer(node, node.succeed(&task)).map_err(told)?;
                    done += 1;
                }
            }
        }
        Ok(done)
    }

    /// The order that is open now; there must be exactly one in all.
    pub fn only_order(&self) -> (Arc<Node>, Task) {
        let of_node =
            |node: &Arc<Node>| -> Vec<_> { self.poll(node).into_iter().map(|task| (node.clone(), task)).collect() };
        let mut open: Vec<(Arc<Node>, Task)> = self.nodes.iter().flat_map(of_node).collect();
        assert_eq!(open.len(), 1, "{open:?}");
        open.pop().unwrap()
    }

    /// What a launch records.
    pub fn try_launch(&self, id: &AllocationId, sku: &SkuId, gpu_count: i64) -> Result<OperationId, StoreError> {
        self.try_launch_with(id, sku, gpu_count, AllocationTerms::default())
    }

    /// The same with what its owner wants besides.
    pub fn try_launch_with(
        &self,
        id: &AllocationId,
        sku: &SkuId,
        gpu_count: i64,
        terms: AllocationTerms,
    ) -> Result<OperationId, StoreError> {
        let (id, sku, region) = (id.clone(), sku.clone(), self.region.clone());
        let (user, tenant, project) = (self.user.clone(), self.tenant.clone(), self.project.clone());
        let shape = if sku == self.bare_metal { CapacityShape::Baremetal } else { CapacityShape::GpuSlice };
        self.write(move |tx, stamp| {
            if allocations::get(tx, &id)?.is_some() {
                // The first try was committed after all.
                return Ok(operations::list(tx, &Scope::All, None, Some(id.as_str()), Page::first(1))?[0].id.clone());
            }
            let name = "train".parse().unwrap();
            allocations::insert(
                tx,
                stamp,
                AllocationNew {
                    id: &id,
                    tenant_id: &tenant,
                    project_id: &project,
                    name: &name,
                    sku_id: &sku,
                    region_id: &region,
                    shape,
                    gpu_count,
                    terms: &terms,
                    recreated_from: None,
                    workload_id: None,
                },
            )?;
            let operation = OperationId::from_parts(stamp.now, stamp.bits());
            let new = OperationNew {
                id: &operation,
                kind: "allocation_launch",
                noun: Noun::Allocation,
                subject_id: id.as_str(),
                tenant_id: Some(&tenant),
                project_id: Some(&project),
                created_by: &user,
                succeeds_in: &["running"],
                fails_in: &["refused", "failed", "releasing", "released"],
            };
            operations::insert(tx, new, stamp.now)?;
            Ok(operation)
        })
    }

    pub fn allocation_id(&self) -> AllocationId {
        AllocationId::from_parts(self.clock.now(), self.ports.id_bits())
    }

    pub fn launch(&self, gpu_count: i64) -> (AllocationId, OperationId) {
        let id = self.allocation_id();
        let operation = self.try_launch(&id, &self.sku, gpu_count).unwrap();
        (id, operation)
    }

    /// Launches and brings it up.
    pub fn run(&mut self, gpu_count: i64) -> AllocationId {
        let (id, _) = self.launch(gpu_count);
        self.settle();
        assert_eq!(self.nodes_work(), 1);
        self.settle();
        assert_eq!(self.allocation(&id).state, State::Running);
        id
    }

    pub fn release(&self, id: &AllocationId) -> Result<(), StoreError> {
        let id = id.clone();
        self.write(move |tx, stamp| {
            let row = allocations::get(tx, &id)?.ok_or(StoreError::NotFound)?;
            if row.desired == Desired::Running {
                allocations::wish(tx, stamp, &row, Desired::Released, None)?;
            }
            Ok(())
        })
    }

    pub fn allocation(&self, id: &AllocationId) -> AllocationRow {
        let id = id.clone();
        self.read(move |tx| allocations::get(tx, &id)).unwrap()
    }

    pub fn operation(&self, id: &OperationId) -> OperationRow {
        let id = id.clone();
        self.read(move |tx| operations::get(tx, &id)).unwrap()
    }

    pub fn tenant_row(&self) -> TenantRow {
        let id = self.tenant.clone();
        self.read(move |tx| tenants::get(tx, &id)).unwrap()
    }

    pub fn project_row(&self) -> ProjectRow {
        let id = self.project.clone();
        self.read(move |tx| projects::get(tx, &id)).unwrap()
    }

    pub fn slots(&self) -> Vec<SlotRow> {
        self.read(|tx| slots::list(tx, None, None, Page::first(1000)))
    }

    pub fn slot(&self, id: &SlotId) -> SlotRow {
        let id = id.clone();
        self.read(move |tx| slots::get(tx, &id)).unwrap()
    }

    pub fn slots_in(&self, state: SlotState) -> usize {
        self.slots().iter().filter(|slot| slot.state == state).count()
    }

    pub fn orders(&self, id: &AllocationId) -> Vec<TaskRow> {
        let id = id.clone();
        self.read(move |tx| tasks::of_allocation(tx, &id))
    }

    pub fn active_claims(&self) -> usize {
        let nodes: Vec<NodeId> = self.nodes.iter().map(|node| node.id.clone()).collect();
        self.read(move |tx| nodes.iter().try_fold(0, |sum, node| Ok(sum + claims::active_on_node(tx, node)?.len())))
    }

    /// What must hold after every story: a dense event sequence, versions without gaps, only published moves, a whole chain.
    pub fn check_history(&self) {
        let (events, chain) = self.read(|tx| {
            assert!(!events::waiting(tx)? && !audit::waiting(tx)?, "everything is numbered");
            let (mut all, mut after) = (vec![], 0);
            loop {
                let page = events::list(tx, &Scope::All, after, 1000)?;
                if page.events.is_empty() {
                    break;
                }
                after = page.through;
                all.extend(page.events);
            }
            Ok((all, audit::verify_chain(tx, None)?))
        });
        assert!(chain.is_ok(), "{chain:?}");
        assert_eq!(control::auditor::check(&self.db, 10).unwrap(), []);
        let mut versions = std::collections::HashMap::new();
        let mut states: std::collections::HashMap<String, String> = std::collections::HashMap::new();
        for (at, event) in events.iter().enumerate() {
            assert_eq!(event.seq, i64::try_from(at).unwrap() + 1);
            let version = versions.entry(event.subject_id.clone()).or_insert(0);
            *version += 1;
            assert_eq!(event.object_version, *version, "{event:?}");
            if let (Some(from), Some(to)) = (&event.state_from, &event.state_to) {
                assert_eq!(lifecycle::edge_exists(event.noun, from, to), Some(true), "{event:?}");
                assert_eq!(states.get(&event.subject_id), Some(from), "{event:?}");
            }
            if let Some(to) = &event.state_to {
                states.insert(event.subject_id.clone(), to.clone());
            }
        }
    }
}

// Only the store may fail here.
fn told(refusal: NodeRefusal) -> StoreError {
    match refusal {
        NodeRefusal::Store(error) => error,
        other => panic!("{other:?}"),
    }
}

/// An order that every agent knows.
pub fn known(offer: &Offer) -> Task {
    match offer {
        Offer::Known(task) => task.clone(),
        Offer::Unknown(other) => panic!("{other:?}"),
    }
}

impl Node {
    fn describe(&self, at: usize, pool: &PoolId) -> NewNode {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let slots = (1..=8u32).map(|module| {
            let mark = u8::try_from(at * 16).unwrap() + u8::try_from(module).unwrap();
            NewSlot {
                id: SlotId::from_parts(Timestamp::from_micros(1_700_000_000_000_000), [mark; 10]),
                profile: "h200-slice".to_owned(),
                gpu_uuid: Some(format!("GPU-{at}-{module}")),
                devices: SlotDevices {
                    gpu_pci_address: Some(format!("0000:{module:02x}:00.0")),
                    gpu_module_id: Some(ModuleId(module)),
                    nvme_identity: Some(format!("eui.{at}.{module}")),
                    mgmt_mac: Some(format!("52:54:00:00:{at:02x}:{module:02x}")),
                    private_ip: Some(format!("10.0.{at}.{module}")),
                    fabric_claim_mode: FabricClaimMode::PerSlotVf,
                    fabric_vf_pci_address: Some(format!("0000:{module:02x}:00.1")),
                    numa_node: Some((module - 1) / 4),
                },
                locality: Locality { pcie_switch: Some((module - 1) / 2), rail: Some(module - 1) },
                approved: None,
            }
        });
        NewNode {
            id: self.id.clone(),
            pool_id: pool.clone(),
            name: format!("node-{at}"),
            gpu_model: GpuModel::H200Sxm,
            public_key: hex(self.key.verifying_key().as_bytes()),
            partitions: hgx_partitions(),
            slots: slots.collect(),
            profiles: vec![],
            promoted: true,
        }
    }

    pub fn succeed(&self, task: &Task) -> TaskResult {
        let proofs = match task.kind() {
            TaskKind::SliceVmRelease => task.slots().iter().map(|slot| self.prove(slot)).collect(),
            _ => vec![],
        };
        TaskResult { proofs, ..TaskResult::done(task) }
    }

    pub fn fail(&self, task: &Task, failure: TaskFailure) -> TaskResult {
        TaskResult::failed(task.id.clone(), task.fence, failure, "The host said no.")
    }

    pub fn prove(&self, slot: &TaskSlot) -> Proof {
        let disk_identity = slot.bundle.as_ref().map(|bundle| bundle.disk_identity.clone()).unwrap_or_default();
        let nonce = slot.nonce.clone().unwrap_or_default();
        let shown = |step: &WipeStep| step.simulated_evidence(&disk_identity, &nonce);
        let steps = WipeStep::ALL.iter().map(|step| StepEvidence { step: *step, ok: true, evidence: shown(step) });
        self.sign(Proof {
            node_id: self.id.clone(),
            slot_id: slot.slot_id.clone(),
            use_generation: slot.use_generation,
            steps: steps.collect(),
            disk_identity,
            nonce,
            signature: String::new(),
        })
    }

    pub fn sign(&self, mut proof: Proof) -> Proof {
        let signature = self.key.sign(&proof.signed_bytes()).to_bytes();
        proof.signature = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        proof
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({})", self.id)
    }
}
