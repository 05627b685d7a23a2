//! One control-plane process of a world: its moving parts, its front door, its clock. It dies, stands still and comes back;
//! the store is all that it leaves behind.

use crate::{
    crash::CrashPlan,
    ports::{ReplicaClock, SimClock, replica_ports},
};
use api::node_plane::{FromControl, ToControl};
use control::{
    Ports,
    front_door::{BadFrontDoor, FrontDoor, FrontDoorConfig, Request, Response},
    node_plane::NodeRefusal,
    plane::{ControlPlane, PlaneConfig, StepReport},
};
use model::NodeId;
use std::sync::Arc;
use store::{CommitFault, Db};

/// Seconds that a silent leader is waited for.
pub const LEASE_TTL_S: i64 = 6;

struct Process {
    plane: ControlPlane,
    door: FrontDoor,
}

/// One replica.
pub struct Replica {
    name: String,
    db: Db,
    ports: Ports,
    clock: Arc<ReplicaClock>,
    crash: CrashPlan,
    process: Option<Process>,
    // Not before this step does it start again, or move again.
    idle_until: u64,
    standing_still: bool,
}

impl Replica {
    /// A replica that is up.
    pub fn new(
        name: &str,
        db: &Db,
        world: (&Ports, &Arc<SimClock>),
        skew_us: i64,
        crash: &CrashPlan,
    ) -> Result<Self, BadFrontDoor> {
        let clock = ReplicaClock::new(world.1, skew_us);
        let ports = replica_ports(world.0, &clock);
        let (name, db, crash) = (name.to_owned(), db.clone(), crash.clone());
        let mut replica = Self { name, db, ports, clock, crash, process: None, idle_until: 0, standing_still: false };
        replica.start()?;
        Ok(replica)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it can act in this step.
    pub fn acts(&self, step: u64) -> bool {
        self.process.is_some() && step >= self.idle_until
    }

    /// Whether its process is gone and may start again.
    pub fn may_start(&self, step: u64) -> bool {
        self.process.is_none() && step >= self.idle_until
    }

    /// Starts the process.
    pub fn start(&mut self) -> Result<(), BadFrontDoor> {
        self.thaw();
        let config = PlaneConfig { lease_ttl_s: LEASE_TTL_S, order_deadline_s: 120, ..PlaneConfig::new(&self.name) };
        let door = FrontDoor::new(
            self.ports.clone(),
            FrontDoorConfig { replica: self.name.clone(), ..FrontDoorConfig::default() },
        )?;
        self.process = Some(Process { plane: ControlPlane::new(self.db.clone(), self.ports.clone(), config), door });
        Ok(())
    }

    /// The process dies; not before `until` does it start again.
    pub fn crash(&mut self, until: u64) {
        self.process = None;
        self.idle_until = until;
        self.thaw();
    }

    /// The process stands still with the time it has just read.
    pub fn stand_still(&mut self, until: u64) {
        if self.process.is_some() {
            self.clock.freeze();
            self.idle_until = until;
            self.standing_still = true;
        }
    }

    /// From now on nothing keeps it.
    pub fn heal(&mut self) {
        self.idle_until = 0;
        self.thaw();
    }

    fn thaw(&mut self) {
        self.clock.thaw();
        self.standing_still = false;
    }

    /// One step of its moving parts. The first after standing still is made with the time that had been read before.
    pub fn step(&mut self, crash: Option<(u64, CommitFault)>) -> Acted<Option<StepReport>> {
        let acted = self.act(crash, |process, _| process.plane.step_now());
        if self.standing_still {
            self.thaw();
        }
        acted
    }

    /// Whether it leads, or believes so.
    pub fn leads(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.plane.epoch().is_some())
    }

    /// Where its picture of the fleet is not what the store has, if it leads and has one.
    pub fn picture_fault(&mut self) -> Option<String> {
        self.process.as_mut()?.plane.picture_fault().unwrap_or_else(|error| Some(error.to_string()))
    }

    /// One message of a node.
    pub fn hear(
        &mut self,
        crash: Option<(u64, CommitFault)>,
        node: &NodeId,
        message: ToControl,
    ) -> Acted<Option<Result<Vec<FromControl>, NodeRefusal>>> {
        self.act(crash, |process, db| process.plane.node_plane().handle(db, node, message))
    }

    /// One request of a client.
    pub fn perform(&mut self, crash: Option<(u64, CommitFault)>, request: Request) -> Acted<Option<Response>> {
        self.act(crash, |process, db| process.door.perform(db, request))
    }

    fn act<T>(
        &mut self,
        crash: Option<(u64, CommitFault)>,
        action: impl FnOnce(&mut Process, &Db) -> T,
    ) -> Acted<Option<T>> {
        let Some(process) = &mut self.process else { return Acted { result: None, died: false } };
        if let Some((after, fault)) = crash {
            self.crash.arm(after, fault);
        }
        let result = action(process, &self.db);
        let died = self.crash.disarm();
        Acted { result: Some(result), died }
    }
}

/// What came of an action, and whether the process died of it.
#[derive(Debug)]
pub struct Acted<T> {
    /// What came of it; the world decides whether anybody still heard.
    pub result: T,
    /// Whether the process died at a commit.
    pub died: bool,
}
