//! The small world with a control plane behind it and hosts that do what they are told, step by step as a test wants.

use api::node_plane::{FromControl, Heartbeat, Offer, Poll, TaskAnswer, TaskProgress, TaskReport, ToControl};
use control::plane::{ControlPlane, PlaneConfig};
use model::{
    NodeId, ProjectId, ProofId, SlotId,
    proof::Proof,
    runtime::{WorkProgress, WorkStep},
    task::{Task, TaskFailure, TaskResult},
};
use serde_json::{Value, json};
use std::cell::RefCell;

use crate::{
    fleet::Fleet,
    world::{World, body},
};

/// A key that people have.
pub const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ ada";

pub struct Live {
    pub fleet: Fleet,
    pub nodes: Vec<NodeId>,
    plane: RefCell<ControlPlane>,
}

impl Live {
    /// So many nodes of eight GPUs, promoted and online. What the world was born with is taken away.
    pub fn new(nodes: u32) -> Self {
        Self::with(nodes, |_| ())
    }

    /// The same with another configuration.
    pub fn with(nodes: u32, change: impl FnOnce(&mut PlaneConfig)) -> Self {
        let fleet = Fleet::new();
        let world = &fleet.world;
        let mut config = PlaneConfig::new("live");
        change(&mut config);
        let plane = ControlPlane::new(world.db.clone(), world.ports.clone(), config);
        for estate in [&world.acme, &world.umbrella] {
            let release = format!("/api/v1/allocations/{}/release", estate.allocation);
            assert_eq!(world.act(&world.operator, &release).status, 202);
        }
        let nodes = (1..=nodes).map(|number| fleet.promoted(number)).collect();
        let live = Self { fleet, nodes, plane: RefCell::new(plane) };
        live.settle();
        live
    }

    pub fn world(&self) -> &World {
        &self.fleet.world
    }

    /// Every node says that it is there, and everything that can move moves.
    pub fn settle(&self) {
        for node in &self.nodes {
            self.beat(node);
        }
        self.settle_without_nodes();
    }

    /// Everything that can move moves; hosts are not heard of.
    pub fn settle_without_nodes(&self) {
        let mut plane = self.plane.borrow_mut();
        for _ in 0..300 {
            let report = plane.step(self.world().ports.now());
            assert_eq!(report.stopped, None);
            if !report.worked {
                return;
            }
        }
        panic!("the plane does not come to rest");
    }

    fn beat(&self, node: &NodeId) {
        let (session, sent_at) = ("only".to_owned(), self.world().ports.now());
        let beat = Heartbeat { node_id: node.clone(), boot: 1, session, sent_at };
        self.say(node, ToControl::Heartbeat(beat));
    }

    fn say(&self, node: &NodeId, message: ToControl) -> Vec<FromControl> {
        self.plane.borrow().node_plane().handle(&self.world().db, node, message).unwrap()
    }

    /// The open orders of all nodes.
    pub fn orders(&self) -> Vec<(NodeId, Task)> {
        let mut all = Vec::new();
        for node in &self.nodes {
            let poll = ToControl::Poll(Poll { node_id: node.clone(), boot: 1 });
            for message in self.say(node, poll) {
                let FromControl::TasksOffered(offer) = message else { continue };
                for offered in offer.tasks {
                    if let Offer::Known(task) = offered {
                        all.push((node.clone(), task));
                    }
                }
            }
        }
        all
    }

    pub fn progress(&self, node: &NodeId, task: &Task, step: WorkStep, percent: u8) {
        let (task_id, fence) = (task.id.clone(), task.fence);
        let progress = WorkProgress { percent: Some(percent), ..WorkProgress::at(step) };
        let progress = TaskProgress { node_id: node.clone(), boot: 1, task_id, fence, progress };
        self.say(node, ToControl::Progress(progress));
    }

    pub fn answer(&self, node: &NodeId, task: &Task, failure: Option<TaskFailure>) {
        let result = TaskResult { failure, ..TaskResult::done(task) };
        self.say(node, ToControl::Result(TaskAnswer { node_id: node.clone(), boot: 1, result, report: None }));
    }

    /// Answers an order with these words.
    pub fn say_result(&self, node: &NodeId, result: TaskResult) {
        self.say(node, ToControl::Result(TaskAnswer { node_id: node.clone(), boot: 1, result, report: None }));
    }

    /// Answers an order to look.
    pub fn report(&self, node: &NodeId, task: &Task, report: TaskReport) {
        let answer =
            TaskAnswer { node_id: node.clone(), boot: 1, result: TaskResult::done(task), report: Some(report) };
        self.say(node, ToControl::Result(answer));
    }

    /// Hosts end an allocation that is wanted released, and the slot it had is proved clean, as far as the store knows.
    pub fn released(&self, id: &str) -> SlotId {
        self.settle();
        let (node, task) = self.orders().into_iter().find(|(_, task)| !task.slots().is_empty()).unwrap();
        let slot_id = self.proved(&node, &task);
        assert_eq!(self.show(id)["execution"], "released");
        slot_id
    }

    /// A host answers an order to wipe one slot, and the slot is proved clean, as far as the store knows.
    pub fn proved(&self, node: &NodeId, task: &Task) -> SlotId {
        let slot_id = task.slots()[0].slot_id.clone();
        let (use_generation, nonce) = (task.slots()[0].use_generation, task.slots()[0].nonce.clone().unwrap());
        let proof = Proof {
            node_id: node.clone(),
            slot_id: slot_id.clone(),
            use_generation,
            disk_identity: String::new(),
            nonce,
            steps: vec![],
            signature: String::new(),
        };
        self.world().write(move |tx, stamp| {
            let new = store::proofs::ProofNew {
                id: &ProofId::from_parts(stamp.now, stamp.bits()),
                node_id: &proof.node_id,
                slot_id: &proof.slot_id,
                use_generation: proof.use_generation,
                nonce: &proof.nonce,
                proof: &proof,
                public_key: "",
                disk_identity: "",
                steps: &[],
            };
            store::proofs::insert(tx, &new, stamp.now).map(drop)
        });
        self.answer(node, task, None);
        self.settle();
        slot_id
    }

    /// Hosts do everything they are told, until nothing is left to do. Nothing is proved: their keys are made up.
    pub fn work(&self) {
        for _ in 0..20 {
            self.settle();
            let orders = self.orders();
            if orders.is_empty() {
                return;
            }
            for (node, task) in orders {
                self.answer(&node, &task, None);
            }
        }
    }

    pub fn allocations(project: &ProjectId) -> String {
        format!("/api/v1/projects/{project}/allocations")
    }

    /// A launch body.
    pub fn wish(&self, gpus: i64) -> Value {
        json!({"name": "job", "sku_id": self.world().sku, "gpu_count": gpus, "region_id": self.world().region})
    }

    /// Launches as the worker of acme, and says its id.
    pub fn launch(&self, wish: Value) -> String {
        let world = self.world();
        let response = world.post(&world.worker, &Self::allocations(&world.acme.project), wish);
        assert_eq!(response.status, 202, "{}", String::from_utf8_lossy(&response.body));
        body(&response)["subject_id"].as_str().unwrap().to_owned()
    }

    /// Launches, and hosts bring it up.
    pub fn run(&self, wish: Value) -> String {
        let id = self.launch(wish);
        self.settle();
        for (node, task) in self.orders() {
            self.answer(&node, &task, None);
        }
        self.settle();
        assert_eq!(self.show(&id)["execution"], "running", "{}", self.show(&id));
        id
    }

    pub fn show(&self, id: &str) -> Value {
        self.fleet.get(&format!("/api/v1/allocations/{id}"))
    }

    pub fn inspect(&self, id: &str) -> Value {
        self.fleet.get(&format!("/api/v1/admin/allocations/{id}"))
    }
}
