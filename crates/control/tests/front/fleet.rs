//! Hosts in the small world: nodes with an agent that reports whatever simulated host a test wants, and the operator's
//! requests about them.

// Each test binary uses its own part of it.
#![allow(dead_code)]

use api::{
    Code,
    node_plane::{FromControl, Offer, Poll, TaskAnswer, TaskReport, ToControl},
};
use control::{front_door::Response, node_plane::NodePlane, plane::Poke};
use model::{
    NodeId,
    supply::GpuModel,
    task::{Task, TaskKind, TaskResult},
};
use serde_json::{Value, json};
use store::{Db, nodes as rows};
use topology::{
    Tree,
    simulated::{HostSpec, trees},
};

use crate::world::{World, body};

/// A world with an agent that says what a test wants, and a pool that has addresses to give.
pub struct Fleet {
    pub world: World,
    plane: NodePlane,
}

pub fn spec(number: u32) -> HostSpec {
    HostSpec { number, name: format!("host-{number}"), gpus: 8 }
}

pub fn healthy(number: u32) -> Tree {
    trees::hgx_h200(&spec(number))
}

pub fn code(response: &Response) -> Code {
    let told = String::from_utf8_lossy(&response.body);
    response.as_problem().unwrap_or_else(|| panic!("{} is no refusal: {told}", response.status)).code
}

/// The fields of a refusal and the rules they break.
pub fn rules(response: &Response) -> Vec<(String, String)> {
    let problem = response.as_problem().unwrap_or_else(|| panic!("{} is no refusal", response.status));
    let rule = |detail: &str| detail.split(':').next().unwrap_or_default().to_owned();
    problem.errors.iter().map(|error| (error.pointer.clone(), rule(&error.detail))).collect()
}

pub fn broken(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(pointer, rule)| ((*pointer).to_owned(), (*rule).to_owned())).collect()
}

impl Fleet {
    pub fn new() -> Self {
        Self::of(World::new())
    }

    pub fn on(db: Db) -> Self {
        Self::of(World::on(db))
    }

    fn of(world: World) -> Self {
        let plane = NodePlane::new(world.ports.clone(), Poke::default());
        let pool = format!("/api/v1/pools/{}", world.pool);
        let range = json!({"private_range": "10.64.0.0/12", "slices_enabled": true});
        assert_eq!(world.patch(&world.operator, &pool, world.version(&pool), range).status, 200);
        Self { world, plane }
    }

    /// The same fleet behind another door.
    pub fn through(self, config: control::front_door::FrontDoorConfig) -> Self {
        Self { world: self.world.through(config), plane: self.plane }
    }

    /// A node that was just enrolled: nothing is known about it.
    pub fn enrolled(&self, name: &str) -> NodeId {
        let (pool, name) = (self.world.pool.clone(), name.to_owned());
        self.world.write(move |tx, stamp| {
            let node = NodeId::from_parts(stamp.now, stamp.bits());
            let new = rows::NodeNew {
                id: &node,
                pool_id: &pool,
                name: &name,
                gpu_model: GpuModel::H200Sxm,
                public_key: &name,
                partitions: "null",
                hardware_serial: None,
                profiles: "[]",
                promoted: None,
            };
            rows::insert(tx, stamp, new)?;
            let row = rows::get(tx, &node)?.unwrap();
            rows::enter(tx, stamp, &row, model::supply::NodeState::Online, None)?;
            Ok(node)
        })
    }

    pub fn path(node: &NodeId, rest: &str) -> String {
        format!("/api/v1/admin/nodes/{node}{rest}")
    }

    pub fn get(&self, path: &str) -> Value {
        let response = self.world.get(&self.world.operator, path);
        assert_eq!(response.status, 200, "{path}: {}", String::from_utf8_lossy(&response.body));
        body(&response)
    }

    pub fn post(&self, path: &str, what: Value) -> Response {
        self.world.post(&self.world.operator, path, what)
    }

    pub fn act(&self, path: &str) -> Response {
        self.world.act(&self.world.operator, path)
    }

    /// Orders a look and answers it; says how the operation ended.
    pub fn look(&self, node: &NodeId, tree: &Tree) -> Value {
        let ordered = self.act(&Self::path(node, "/slice-topology/discovery"));
        assert_eq!(ordered.status, 202, "{}", String::from_utf8_lossy(&ordered.body));
        self.answer(node, tree);
        self.get(ordered.header("Location").unwrap())
    }

    /// Does what was ordered, on a host that shows this tree.
    pub fn answer(&self, node: &NodeId, tree: &Tree) {
        for task in self.orders(node) {
            let discovery = topology::discover(tree);
            let report = match task.kind() {
                TaskKind::NodeReadiness => TaskReport::NodeReadiness(Box::new(topology::readiness(&discovery))),
                _ => TaskReport::SliceTopologyDiscover(Box::new(discovery)),
            };
            self.say(node, &task, Some(report));
        }
    }

    pub fn orders(&self, node: &NodeId) -> Vec<Task> {
        let poll = ToControl::Poll(Poll { node_id: node.clone(), boot: 1 });
        let offered = self.plane.handle(&self.world.db, node, poll).unwrap();
        let [FromControl::TasksOffered(offer)] = offered.as_slice() else { panic!("{offered:?}") };
        let known = |offer: &Offer| match offer {
            Offer::Known(task) => task.clone(),
            Offer::Unknown(other) => panic!("{other:?}"),
        };
        offer.tasks.iter().map(known).collect()
    }

    pub fn say(&self, node: &NodeId, task: &Task, report: Option<TaskReport>) {
        let result = TaskResult::done(task);
        let answer = TaskAnswer { node_id: node.clone(), boot: 1, result, report };
        self.plane.handle(&self.world.db, node, ToControl::Result(answer)).unwrap();
    }

    /// A node with a look at a healthy host behind it.
    pub fn known(&self, number: u32) -> NodeId {
        let node = self.enrolled(&format!("host-{number:02}"));
        assert_eq!(self.look(&node, &healthy(number))["state"], "succeeded");
        node
    }

    pub fn discovery(&self, node: &NodeId) -> Value {
        self.get(&Self::path(node, "/slice-topology/discovery"))
    }

    /// The body that approves one of the candidates as it is.
    pub fn wish(&self, node: &NodeId, at: usize) -> Value {
        let devices = self.discovery(node)["candidates"][at]["candidate"]["devices"].clone();
        let field = |name: &str| devices[name].clone();
        json!({
            "gpu_pci_address": field("gpu_pci_address"), "nvme_identity": field("nvme_identity"),
            "mgmt_mac": field("mgmt_mac"), "private_ip": field("private_ip"),
            "fabric_claim_mode": field("fabric_claim_mode"), "fabric_vf_pci_address": field("fabric_vf_pci_address"),
        })
    }

    pub fn approve(&self, node: &NodeId, wish: Value) -> Response {
        self.post(&Self::path(node, "/resource-slots"), wish)
    }

    /// A node whose every candidate is a slot.
    pub fn approved(&self, number: u32) -> NodeId {
        let node = self.known(number);
        let all = body(&self.act(&Self::path(&node, "/resource-slots/approve-complete")));
        assert_eq!(all["approved"].as_array().map(Vec::len), Some(8), "{all}");
        node
    }

    pub fn slots(&self, node: &NodeId) -> Vec<Value> {
        self.get(&Self::path(node, "/resource-slots"))["items"].as_array().unwrap().clone()
    }

    /// A node that is in service for slices.
    pub fn promoted(&self, number: u32) -> NodeId {
        let node = self.approved(number);
        let path = Self::path(&node, "");
        let profile = json!({"profiles": ["gpuaas-profile-slice-vm"]});
        let operator = &self.world.operator;
        assert_eq!(self.world.patch(operator, &path, self.world.version(&path), profile).status, 200);
        let promoted = self.act(&Self::path(&node, "/promote"));
        assert_eq!(promoted.status, 200, "{}", String::from_utf8_lossy(&promoted.body));
        node
    }
}

pub fn with(mut wish: Value, changes: Value) -> Value {
    let map = wish.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            map.remove(name);
        } else {
            map.insert(name.clone(), value.clone());
        }
    }
    wish
}
