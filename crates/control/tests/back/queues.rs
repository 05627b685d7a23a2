//! Queues end to end behind the front door: two tenants in one cohort borrow from each other, ask for their own back, are told
//! to go with notice, and come again; gangs start whole or not at all.

use std::sync::Arc;

use api::node_plane::ToControl;
use control::applier::ClaimSnapshot;
use model::{
    AllocationId, GovernedId, PreemptionId, ProjectId, SkuId, TenantId, WorkloadId,
    allocation::{self, AllocationTerms},
    governance::{Governance, Toleration},
    notice::{NoticeSeen, StopReason},
    sku::CapacityShape,
    supply::{GpuModel, SlotState},
    task::{Task, TaskFailure, TaskInput, TaskKind, TaskResult},
    workload::{Hardware, HardwareChoice, IfUnavailable, PreemptionRule, State},
};
use store::{
    Db, Page,
    allocations::{self, AllocationNew},
    claims, governance, preemptions,
    preemptions::{PreemptionNew, PreemptionRow},
    projects::{self, ProjectNew},
    skus::{self, SkuTerms},
    tasks::TaskRow,
    tenants,
    testing::both_engines,
    workloads::{self, WorkloadNew, WorkloadRow},
};

use crate::world::{Node, World};

/// Two tenants, each with a queue of four GPUs of its own, in one cohort; one node of eight.
pub struct Two {
    pub world: World,
    ours: Side,
    theirs: Side,
}

#[derive(Clone)]
struct Side {
    tenant: TenantId,
    project: ProjectId,
    queue: &'static str,
}

const OBJECTS: &str = r#"{
  "flavors": [{ "slug": "h200", "gpu_model": "h200-sxm" }],
  "priority_classes": [{ "slug": "urgent", "value": 100 }],
  "cohorts": [{ "slug": "all" }],
  "cluster_queues": [
    { "slug": "ours", "cohort": "all", "notice_s": 60, "grace_s": 45,
      "preemption": { "within_queue": "lower_priority", "reclaim_within_cohort": "any" },
      "resource_groups": [{ "flavors": [{ "flavor": "h200", "quotas": [{ "nominal": 4 }] }] }] },
    { "slug": "theirs", "cohort": "all", "notice_s": 60, "grace_s": 30,
      "preemption": { "within_queue": "lower_priority", "reclaim_within_cohort": "any" },
      "resource_groups": [{ "flavors": [{ "flavor": "h200", "quotas": [{ "nominal": 4 }] }] }] }
  ],
  "local_queues": [
    { "project_id": "OURS", "slug": "default", "cluster_queue": "ours", "default": true },
    { "project_id": "THEIRS", "slug": "default", "cluster_queue": "theirs", "default": true }
  ]
}"#;

const LARGE: &str = r#"{
  "cluster_queues": [{ "slug": "large",
    "resource_groups": [{ "flavors": [{ "flavor": "h200", "quotas": [{ "nominal": 16 }] }] }] }],
  "local_queues": [{ "project_id": "OURS", "slug": "large", "cluster_queue": "large" }]
}"#;

const QUICK: &str = r#"{
  "cluster_queues": [{ "slug": "quick", "min_run_s": 30, "preemption": { "within_queue": "lower_priority" },
    "resource_groups": [{ "flavors": [{ "flavor": "h200", "quotas": [{ "nominal": 4 }] }] }] }]
}"#;

const ANY: &str = r#"{
  "flavors": [
    { "slug": "a100", "gpu_model": "a100-sxm", "speed_milli": 400 },
    { "slug": "kept", "gpu_model": "h200-sxm", "taints": [{ "key": "kept-for", "value": "vision", "effect": "no_schedule" }] }
  ],
  "cluster_queues": [
    { "slug": "any", "resource_groups": [{ "flavors": [
      { "flavor": "a100", "quotas": [{ "nominal": 4 }] }, { "flavor": "h200", "quotas": [{ "nominal": 4 }] }] }] },
    { "slug": "kept", "resource_groups": [{ "flavors": [{ "flavor": "kept", "quotas": [{ "nominal": 4 }] }] }] }
  ]
}"#;

const COUNTED: &str = r#"{
  "cluster_queues": [{ "slug": "counted", "usage_half_life_s": 3600, "ordering": "strict_fifo",
    "resource_groups": [{ "flavors": [{ "flavor": "h200", "quotas": [{ "nominal": 4 }] }] }] }],
  "local_queues": [{ "project_id": "OURS", "slug": "counted", "cluster_queue": "counted" },
    { "project_id": "THEIRS", "slug": "counted", "cluster_queue": "counted" }]
}"#;

impl Two {
    pub fn new(db: Db, nodes: usize) -> Self {
        let mut world = World::new(db, nodes);
        let ours = Side { tenant: world.tenant.clone(), project: world.project.clone(), queue: "ours" };
        let (now, bits) = (world.clock_now(), || world.ports.id_bits());
        let theirs = Side {
            tenant: TenantId::from_parts(now, bits()),
            project: ProjectId::from_parts(now, bits()),
            queue: "theirs",
        };
        let (tenant, project) = (theirs.tenant.clone(), theirs.project.clone());
        world
            .write(move |tx, stamp| {
                tenants::insert(tx, stamp, &tenant, &"umbra".parse().unwrap(), &"Umbra".parse().unwrap())?;
                let (slug, name) = ("lab".parse().unwrap(), "Lab".parse().unwrap());
                let new = ProjectNew { id: &project, tenant_id: &tenant, slug: &slug, name: &name, gpu_cap: 64 };
                projects::insert(tx, stamp, new)
            })
            .unwrap();
        world.settle();
        let mut two = Self { world, ours, theirs };
        two.govern(OBJECTS);
        two
    }

    fn govern(&mut self, objects: &str) {
        let text = objects.replace("OURS", self.ours.project.as_str()).replace("THEIRS", self.theirs.project.as_str());
        let objects: Governance = serde_json::from_str(&text).unwrap();
        self.world
            .write(move |tx, stamp| {
                governance::hold(tx)?;
                for object in objects.objects() {
                    let id = GovernedId::from_parts(stamp.now, stamp.bits());
                    let tenant = match object.identity().project_id {
                        Some(project) => projects::get(tx, &project)?.map(|row| row.tenant_id),
                        None => None,
                    };
                    governance::insert(tx, stamp, &id, &object, tenant.as_ref())?;
                }
                Ok(())
            })
            .unwrap();
        self.world.settle();
    }

    fn submit(&self, side: &Side, members: i64, gpus: i64, priority: i64) -> WorkloadId {
        self.submit_with(side, members, gpus, priority, IfUnavailable::Queue)
    }

    fn submit_with(&self, side: &Side, members: i64, gpus: i64, priority: i64, or: IfUnavailable) -> WorkloadId {
        self.submit_as(side, members, (gpus, priority), or, None)
    }

    /// What is sold of the other GPUs, of which there is no node.
    fn other_sku(&self) -> SkuId {
        let id = SkuId::from_parts(self.world.clock_now(), self.world.ports.id_bits());
        let made = id.clone();
        self.world
            .write(move |tx, stamp| {
                let terms = SkuTerms {
                    name: "A100".parse().unwrap(),
                    gpu_counts: vec![1, 2, 4],
                    profile: None,
                    vcpus_per_gpu: 16,
                    memory_mib_per_gpu: 100_000,
                    price_micros_per_gpu_hour: 1_000_000,
                    enabled: true,
                };
                let slice = (CapacityShape::GpuSlice, GpuModel::A100Sxm);
                skus::insert(tx, stamp, &made, &"a100-slice".parse().unwrap(), slice, &terms)
            })
            .unwrap();
        id
    }

    fn submit_as(
        &self,
        side: &Side,
        members: i64,
        (gpus, priority): (i64, i64),
        or: IfUnavailable,
        hardware: Option<Hardware>,
    ) -> WorkloadId {
        let id = WorkloadId::from_parts(self.world.clock_now(), self.world.ports.id_bits());
        let (made, side, sku, region) = (id.clone(), side.clone(), self.world.sku.clone(), self.world.region.clone());
        // As long as it waits, it is the first that would do.
        let first = hardware.as_ref().and_then(|it| it.choices.first()).map(|it| it.sku_id.clone());
        let sku = first.unwrap_or(sku);
        self.world
            .write(move |tx, stamp| {
                let name = "train".parse().unwrap();
                let new = WorkloadNew {
                    id: &made,
                    tenant_id: &side.tenant,
                    project_id: &side.project,
                    name: &name,
                    local_queue: &"default".parse().unwrap(),
                    queue: &side.queue.parse().unwrap(),
                    priority_class: None,
                    priority,
                    members,
                    sku_id: &sku,
                    hardware: hardware.as_ref(),
                    region_id: &region,
                    shape: CapacityShape::GpuSlice,
                    gpu_count: gpus,
                    if_unavailable: or,
                    max_run_s: None,
                };
                workloads::insert(tx, stamp, new)?;
                for _ in 0..members {
                    let member = AllocationId::from_parts(stamp.now, stamp.bits());
                    let new = AllocationNew {
                        id: &member,
                        tenant_id: &side.tenant,
                        project_id: &side.project,
                        name: &name,
                        sku_id: &sku,
                        region_id: &region,
                        shape: CapacityShape::GpuSlice,
                        gpu_count: gpus,
                        terms: &AllocationTerms::default(),
                        recreated_from: None,
                        workload_id: Some(&made),
                    };
                    allocations::insert(tx, stamp, new)?;
                }
                Ok(())
            })
            .unwrap();
        id
    }

    fn workload(&self, id: &WorkloadId) -> WorkloadRow {
        let id = id.clone();
        self.world.read(move |tx| workloads::get(tx, &id)).unwrap()
    }

    fn state(&self, id: &WorkloadId) -> State {
        self.workload(id).state
    }

    fn wait_code(&self, id: &WorkloadId) -> Option<String> {
        let wait: serde_json::Value = serde_json::from_str(&self.workload(id).wait?).unwrap();
        Some(wait["code"].as_str().unwrap().to_owned())
    }

    fn told(&self, id: &WorkloadId) -> Vec<PreemptionRow> {
        let id = id.clone();
        self.world.read(move |tx| preemptions::of_workload(tx, &id, Page::first(10)))
    }

    /// The members that a workload has or had, oldest first.
    fn members(&self, id: &WorkloadId) -> Vec<AllocationId> {
        let only = std::collections::BTreeSet::from([id.clone()]);
        let members = self.world.read(move |tx| workloads::members(tx, &only));
        members.into_iter().map(|member| member.allocation_id).collect()
    }

    /// The orders of one kind that its members were given.
    fn orders(&self, members: &[AllocationId], kind: TaskKind) -> Vec<TaskRow> {
        let all = members.iter().flat_map(|member| self.world.orders(member));
        all.filter(|order| order.kind == kind).collect()
    }

    fn notices(&self, members: &[AllocationId]) -> Vec<TaskRow> {
        self.orders(members, TaskKind::SliceVmNotice)
    }

    /// The notices that a host finds when it asks.
    fn offered_by(&self, node: &Arc<Node>) -> Vec<(Arc<Node>, Task)> {
        let found = self.world.poll(node).into_iter().filter(|task| task.kind() == TaskKind::SliceVmNotice);
        found.map(|task| (node.clone(), task)).collect()
    }

    /// The notices that hosts find when they ask.
    fn offered(&self) -> Vec<(Arc<Node>, Task)> {
        self.world.nodes.iter().flat_map(|node| self.offered_by(node)).collect()
    }

    fn says(&self, (node, task): &(Arc<Node>, Task), checkpointed: bool) {
        let notice = Some(NoticeSeen { delivered: true, checkpointed });
        self.world.answer(node, TaskResult { notice, ..node.succeed(task) }).unwrap();
    }

    /// Two members of four GPUs each, told to go for another.
    pub fn gang_told_to_go(&mut self) -> (WorkloadId, Vec<AllocationId>) {
        let (ours, theirs) = (self.ours.clone(), self.theirs.clone());
        let gang = self.submit(&ours, 2, 4, 0);
        self.work();
        assert_eq!(self.state(&gang), State::Running);
        let members = self.members(&gang);
        self.submit(&theirs, 1, 4, 0);
        self.world.settle();
        assert_eq!(self.state(&gang), State::Preempting);
        (gang, members)
    }

    /// Tells a workload to go as a drained queue does.
    fn drain(&self, id: &WorkloadId, notice_s: i64) {
        let row = self.workload(id);
        self.world
            .write(move |tx, stamp| {
                let id = PreemptionId::from_parts(stamp.now, stamp.bits());
                let rule = PreemptionRule::Drain;
                let new = PreemptionNew { id: &id, by_workload_id: None, rule, notice_s, grace_s: 30, body: "{}" };
                preemptions::insert(tx, stamp, &row, new)
            })
            .unwrap();
    }

    /// A queue of sixteen GPUs.
    fn large(&mut self) -> Side {
        self.govern(LARGE);
        Side { queue: "large", ..self.ours.clone() }
    }

    /// Hosts do all they are asked until nothing is left to do.
    fn work(&mut self) {
        for _ in 0..10 {
            self.world.nodes_heard();
            self.world.settle();
            if self.world.nodes_work() == 0 {
                return;
            }
        }
        panic!("the hosts do not come to rest");
    }

    fn later_s(&mut self, seconds: i64) {
        // No longer than a host may be silent at a time.
        for _ in 0..seconds.div_euclid(10) + 1 {
            self.world.advance_s(10);
            self.world.nodes_heard();
            self.world.settle();
        }
        self.work();
    }
}

#[test]
fn what_was_lent_comes_back_when_its_owner_asks_and_the_borrower_comes_again() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        let (ours, theirs) = (two.ours.clone(), two.theirs.clone());
        let first = two.submit(&ours, 1, 4, 0);
        two.work();
        two.later_s(1);
        let lent = two.submit(&ours, 1, 4, 0);
        two.work();
        assert_eq!((two.state(&first), two.state(&lent)), (State::Running, State::Running));
        assert_eq!((two.workload(&first).borrowed_gpus, two.workload(&lent).borrowed_gpus), (0, 4));
        // The owner asks for its own.
        let owner = two.submit(&theirs, 1, 4, 0);
        two.world.settle();
        let told = two.told(&lent);
        assert_eq!(two.told(&first), [], "only what was lent has to go");
        assert_eq!((told.len(), &told[0].by_workload_id), (1, &Some(owner.clone())));
        assert!(matches!(told[0].rule, PreemptionRule::Reclaim | PreemptionRule::FairShare), "{told:?}");
        assert_eq!((told[0].notice_s, two.state(&lent)), (60, State::Preempting));
        assert_eq!(two.wait_code(&owner).as_deref(), Some("waiting_for_preempted"));
        // It runs on until its notice is over.
        two.work();
        assert_eq!(two.state(&lent), State::Preempting);
        two.later_s(70);
        assert_eq!(two.state(&owner), State::Running);
        assert_eq!(two.state(&first), State::Running, "who is within its own is never stopped for others");
        let again = two.workload(&lent);
        assert_eq!((again.state, again.stops, again.flavor), (State::Queued, 1, None));
        let gone = two.told(&lent)[0].gone.unwrap();
        assert_eq!(again.due, Some(gone.plus_seconds(10)), "the engine's first back-off");
        assert_eq!((again.recent.stops, &again.recent.displaced_by), (1, &Some(owner.clone())));
        assert!(again.recent.since.is_some_and(|since| gone.micros_since(since) < 1_000_000));
        assert_eq!(two.world.slots_in(SlotState::InUse), 8);
        assert_eq!(two.world.active_claims(), 8);
        // Nothing moves any more, however long one waits: nobody may take what is the owner's.
        two.later_s(1200);
        assert_eq!(
            (two.state(&owner), two.state(&first), two.state(&lent)),
            (State::Running, State::Running, State::Queued)
        );
        assert_eq!(two.told(&owner).len() + two.told(&first).len(), 0);
        assert_eq!(two.wait_code(&lent).as_deref(), Some("waiting_for_quota"));
        two.world.check_history();
    });
}

#[test]
fn a_gang_starts_whole_or_not_at_all_and_stops_nobody_for_half_of_it() {
    both_engines(|db| {
        let mut two = Two::new(db, 2);
        let large = two.large();
        let alone = two.submit(&two.ours.clone(), 1, 1, 0);
        two.work();
        // Two of eight GPUs each do not fit beside one GPU that is taken.
        let gang = two.submit_with(&large, 2, 8, 0, IfUnavailable::Queue);
        two.work();
        assert_eq!((two.state(&alone), two.state(&gang)), (State::Running, State::Queued));
        assert_eq!(two.world.active_claims(), 1, "no member alone");
        let own = two.workload(&alone).id;
        two.world
            .write(move |tx, stamp| {
                let row = workloads::get(tx, &own)?.unwrap();
                workloads::wish(tx, stamp, &row, allocation::Desired::Released, None)
            })
            .unwrap();
        two.later_s(40);
        assert_eq!((two.state(&alone), two.state(&gang)), (State::Finished, State::Running));
        assert_eq!(two.world.active_claims(), 16);
        two.world.check_history();
    });
}

#[test]
fn who_does_not_want_to_wait_is_refused_with_the_reason() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        let (ours, theirs) = (two.ours.clone(), two.theirs.clone());
        let first = two.submit(&ours, 1, 4, 0);
        let second = two.submit(&theirs, 1, 4, 0);
        two.work();
        assert_eq!((two.state(&first), two.state(&second)), (State::Running, State::Running));
        let impatient = two.submit_with(&ours, 1, 1, 0, IfUnavailable::Refuse);
        two.work();
        assert_eq!(two.state(&impatient), State::Refused);
        // Whoever asks for the same as somebody who waits already is told the same.
        let patient = two.submit(&ours, 1, 1, 0);
        two.work();
        let behind = two.submit(&ours, 1, 1, 0);
        let hasty = two.submit_with(&ours, 1, 1, 0, IfUnavailable::Refuse);
        two.work();
        assert_eq!(two.wait_code(&patient), two.wait_code(&behind));
        assert_eq!(two.wait_code(&behind).as_deref(), Some("waiting_for_quota"));
        assert_eq!(two.state(&hasty), State::Refused);
        assert_eq!((two.told(&first), two.told(&second)), (vec![], vec![]));
        two.world.check_history();
    });
}

#[test]
fn each_guest_is_told_once_and_the_order_to_stop_it_comes_after_that() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        let (gang, members) = two.gang_told_to_go();
        let stop = two.told(&gang)[0].stop;
        let notices = two.notices(&members);
        let told: Vec<_> = notices.iter().map(|order| order.allocation_id().unwrap().clone()).collect();
        assert_eq!(told, members, "each of them once");
        for order in &notices {
            let TaskInput::SliceVmNotice(input) = &order.input else { panic!("{order:?}") };
            assert_eq!((input.notice.stop_at, input.notice.reason), (stop, StopReason::Preempted));
            assert!(!input.slots.is_empty() && order.deadline > stop);
        }
        // Neither time nor a new leader tells anybody twice, and what is told in vain changes nothing.
        two.world.restart();
        two.world.advance_s(10);
        two.world.nodes_heard();
        two.world.settle();
        let offered = two.offered();
        two.says(&offered[0], false);
        let (node, task) = &offered[1];
        two.world.answer(node, node.fail(task, TaskFailure::NoticeFailed)).unwrap();
        two.world.settle();
        assert_eq!((two.state(&gang), two.notices(&members).len()), (State::Preempting, 2));
        two.later_s(60);
        assert_eq!((two.state(&gang), two.told(&gang)[0].checkpointed), (State::Queued, None));
        assert!(two.told(&gang)[0].stopped >= Some(stop));
        for (notice, release) in two.notices(&members).iter().zip(two.orders(&members, TaskKind::SliceVmRelease)) {
            assert_eq!(notice.allocation_id(), release.allocation_id());
            assert!(release.fence > notice.fence, "{:?} after {:?}", release.fence, notice.fence);
            let TaskInput::SliceVmRelease(input) = &release.input else { panic!("{release:?}") };
            assert_eq!(input.grace_s, Some(two.told(&gang)[0].grace_s), "as its owner was told");
        }
        assert_eq!(two.orders(&members, TaskKind::SliceVmRelease).len(), 2);
        two.world.check_history();
    });
}

#[test]
fn a_gang_goes_early_when_all_its_guests_have_saved_and_not_when_one_has() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        let (gang, members) = two.gang_told_to_go();
        let stop = two.told(&gang)[0].stop;
        let offered = two.offered();
        two.says(&offered[0], true);
        two.world.settle();
        assert_eq!(two.state(&gang), State::Preempting, "the other has not");
        assert_eq!(two.told(&gang)[0].checkpointed, None);
        two.says(&offered[1], true);
        two.world.settle();
        let told = two.told(&gang);
        assert_eq!((two.state(&gang), told[0].checkpointed), (State::Stopping, Some(two.world.clock_now())));
        assert!(two.world.clock_now() < stop);
        assert_eq!(two.orders(&members, TaskKind::SliceVmRelease).len(), 2);
        two.work();
        assert_eq!(two.state(&gang), State::Queued);
        two.world.check_history();
    });
}

#[test]
fn a_host_that_is_silent_is_told_nothing_and_not_waited_for() {
    both_engines(|db| {
        let mut two = Two::new(db, 2);
        let large = two.large();
        let gang = two.submit(&large, 2, 8, 0);
        two.work();
        let members = two.members(&gang);
        let heard = two.world.nodes[0].clone();
        let beats = |two: &Two| two.world.say(&heard, ToControl::Heartbeat(two.world.beat(&heard))).map(drop).unwrap();
        // The other node is not heard any more; then the gang is told to go.
        for _ in 0..12 {
            two.world.advance_s(10);
            beats(&two);
            two.world.settle();
        }
        two.drain(&gang, 60);
        two.world.settle();
        let notices = two.notices(&members);
        assert_eq!(notices.iter().map(|order| &order.node_id).collect::<Vec<_>>(), [&heard.id]);
        let TaskInput::SliceVmNotice(input) = &notices[0].input else { panic!("{notices:?}") };
        assert_eq!(input.notice.reason, StopReason::Drained);
        // The one that was told has saved; the other may be at it, so its notice runs, and no longer than that.
        two.says(&two.offered_by(&heard)[0], true);
        for state in [State::Preempting, State::Stopping] {
            assert_eq!((two.state(&gang), two.notices(&members).len()), (State::Preempting, 1));
            for _ in 0..3 {
                two.world.advance_s(10);
                beats(&two);
                two.world.settle();
            }
            assert_eq!(two.state(&gang), state);
        }
        assert_eq!(two.told(&gang)[0].checkpointed, None);
    });
}

#[test]
fn a_host_that_is_heard_again_in_time_tells_its_guest_after_all() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        let large = two.large();
        let alone = two.submit(&large, 1, 8, 0);
        two.work();
        let members = two.members(&alone);
        two.world.advance_s(120);
        two.world.settle();
        two.drain(&alone, 120);
        two.world.settle();
        assert_eq!((two.state(&alone), two.notices(&members)), (State::Preempting, vec![]));
        for _ in 0..4 {
            two.world.advance_s(10);
            two.world.nodes_heard();
            two.world.settle();
        }
        assert_eq!(two.notices(&members).len(), 1);
    });
}

#[test]
fn each_queue_says_how_long_its_work_is_left_alone() {
    both_engines(|db| {
        let mut two = Two::new(db, 2);
        two.govern(QUICK);
        let (ours, quick) = (two.ours.clone(), Side { queue: "quick", ..two.ours.clone() });
        let (usual, short) = (two.submit(&ours, 1, 8, 0), two.submit(&quick, 1, 4, 0));
        two.work();
        assert_eq!((two.state(&usual), two.state(&short)), (State::Running, State::Running));
        let told = |two: &Two| (two.told(&usual).len(), two.told(&short).len());
        for side in [&ours, &quick] {
            two.submit(side, 1, 4, 100);
        }
        two.world.settle();
        assert_eq!(told(&two), (0, 0));
        two.later_s(40);
        assert_eq!(told(&two), (0, 1), "the queue's own half minute is over");
        two.later_s(600);
        assert_eq!(told(&two), (1, 1), "and so are the usual ten minutes");
        two.world.check_history();
    });
}

fn choice(flavor: &str, sku_id: &SkuId) -> HardwareChoice {
    HardwareChoice { flavor: flavor.parse().unwrap(), sku_id: sku_id.clone() }
}

#[test]
fn any_gpu_is_served_by_the_flavor_that_has_a_place_and_sold_as_that() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        two.govern(ANY);
        let (any, other) = (Side { queue: "any", ..two.ours.clone() }, two.other_sku());
        let choices = vec![choice("a100", &other), choice("h200", &two.world.sku)];
        let hardware = Hardware { profile: "any-gpu".parse().unwrap(), choices, tolerations: vec![] };
        let submit = |two: &Two| two.submit_as(&any, 2, (2, 0), IfUnavailable::Queue, Some(hardware.clone()));
        let first = submit(&two);
        assert_eq!(two.workload(&first).sku_id, other);
        two.work();
        let row = two.workload(&first);
        assert_eq!((row.state, &row.sku_id), (State::Running, &two.world.sku), "there are no others");
        assert_eq!(row.flavor, Some("h200".parse().unwrap()));
        for member in two.members(&first) {
            let (asked, claimed) = (member.clone(), member);
            let allocation = two.world.read(move |tx| allocations::get(tx, &asked)).unwrap();
            assert_eq!(allocation.sku_id, two.world.sku);
            let claims = two.world.read(move |tx| claims::of_allocation(tx, &claimed));
            let sold: Vec<ClaimSnapshot> =
                claims.iter().map(|claim| serde_json::from_str(&claim.snapshot).unwrap()).collect();
            assert!(sold.iter().all(|sold| sold.price_micros_per_gpu_hour == 3_000_000), "{sold:?}");
        }
        // Quota of the one and places of the other do not make a place; who waits hears what was tried.
        let second = submit(&two);
        two.work();
        assert_eq!(two.state(&second), State::Queued);
        let wait: serde_json::Value = serde_json::from_str(&two.workload(&second).wait.unwrap()).unwrap();
        let tried: Vec<_> = wait["tried"].as_array().unwrap().iter().map(|it| it["flavor"].clone()).collect();
        assert_eq!(tried, ["a100", "h200"], "{wait:#}");
        two.world.check_history();
    });
}

#[test]
fn a_tainted_flavor_is_for_those_who_put_up_with_it() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        two.govern(ANY);
        let kept = Side { queue: "kept", ..two.ours.clone() };
        let choices = vec![choice("kept", &two.world.sku)];
        let mut hardware = Hardware { profile: "kept".parse().unwrap(), choices, tolerations: vec![] };
        let plain = two.submit(&kept, 1, 1, 0);
        let without = two.submit_as(&kept, 1, (1, 0), IfUnavailable::Queue, Some(hardware.clone()));
        let tolerates = |value: &str| Toleration {
            key: "kept-for".parse().unwrap(),
            value: Some(value.parse().unwrap()),
            effect: None,
        };
        hardware.tolerations = vec![tolerates("speech")];
        let other = two.submit_as(&kept, 1, (1, 0), IfUnavailable::Queue, Some(hardware.clone()));
        hardware.tolerations.push(tolerates("vision"));
        let with = two.submit_as(&kept, 1, (1, 0), IfUnavailable::Queue, Some(hardware));
        two.work();
        for waits in [&plain, &without, &other] {
            assert_eq!(two.wait_code(waits).as_deref(), Some("no_matching_flavor"));
        }
        let row = two.workload(&with);
        assert_eq!((row.state, row.flavor), (State::Running, Some("kept".parse().unwrap())));
        two.world.check_history();
    });
}

#[test]
fn who_used_less_of_late_comes_first_also_under_a_new_leader() {
    for restarts in [false, true] {
        both_engines(move |db| {
            let mut two = Two::new(db, 1);
            two.govern(COUNTED);
            let (ours, theirs) =
                (Side { queue: "counted", ..two.ours.clone() }, Side { queue: "counted", ..two.theirs.clone() });
            let ran = two.submit(&ours, 1, 4, 0);
            two.work();
            assert_eq!(two.state(&ran), State::Running);
            two.later_s(1800);
            // One of ours, with a higher priority and first in the line, and one of theirs.
            let (again, other) = (two.submit(&ours, 1, 4, 100), two.submit(&theirs, 1, 4, 0));
            two.work();
            let own = ran.clone();
            two.world
                .write(move |tx, stamp| {
                    let row = workloads::get(tx, &own)?.unwrap();
                    workloads::wish(tx, stamp, &row, allocation::Desired::Released, None)
                })
                .unwrap();
            if restarts {
                two.world.restart();
            }
            two.later_s(60);
            assert_eq!((two.state(&again), two.state(&other)), (State::Queued, State::Running), "{restarts}");
            two.world.check_history();
        });
    }
}

#[test]
fn what_is_made_free_for_one_is_not_given_to_another_who_asks_without_a_queue() {
    for restarts in [false, true] {
        both_engines(move |db| {
            let mut two = Two::new(db, 1);
            two.govern(
                &QUICK.replace(r#""nominal": 4"#, r#""nominal": 8"#).replace(r#""min_run_s": 30"#, r#""min_run_s": 0"#),
            );
            let quick = Side { queue: "quick", ..two.ours.clone() };
            let (first, second) = (two.submit(&quick, 1, 4, 0), two.submit(&quick, 1, 4, 0));
            two.work();
            two.later_s(1);
            let urgent = two.submit(&quick, 1, 8, 100);
            two.world.settle();
            assert_eq!((two.state(&first), two.state(&second)), (State::Preempting, State::Preempting));
            // One of both has saved its work, and is gone before the other.
            let members = two.members(&first);
            let of_first = |task: &Task| task.input.allocation_id().is_some_and(|id| members.contains(id));
            let told = two.offered().into_iter().find(|(_, task)| of_first(task)).unwrap();
            two.says(&told, true);
            two.work();
            assert_eq!((two.state(&first), two.state(&second)), (State::Queued, State::Preempting));
            assert_eq!(two.world.slots_in(SlotState::Available), 4);
            if restarts {
                two.world.restart();
            }
            let (wish, _) = two.world.launch(4);
            two.work();
            assert_eq!(two.world.allocation(&wish).state, allocation::State::Refused, "they are kept");
            two.later_s(70);
            assert_eq!(two.state(&urgent), State::Running);
            two.world.check_history();
        });
    }
}

#[test]
fn strict_priority_is_strict_order_and_best_effort_is_not() {
    both_engines(|db| {
        let mut two = Two::new(db, 2);
        let orders = ["priority", "strict_fifo", "best_effort_fifo"];
        for order in orders {
            let quick = QUICK.replace("\"quick\"", &format!("\"{}\"", order.replace('_', "-")));
            two.govern(&quick.replace("\"min_run_s\"", &format!("\"ordering\": \"{order}\", \"min_run_s\"")));
        }
        let seen = ["priority", "strict-fifo", "best-effort-fifo"].map(|queue| {
            let side = Side { queue, ..two.ours.clone() };
            // One that takes half of the quota, one of higher priority that does not fit beside it and may stop nobody of
            // its own, and smaller ones of equal and of less priority that would fit.
            let running = two.submit(&side, 1, 2, 100);
            two.work();
            assert_eq!(two.state(&running), State::Running);
            two.submit(&side, 1, 4, 50);
            two.later_s(1);
            let (equal, less) = (two.submit(&side, 1, 1, 50), two.submit(&side, 1, 1, 0));
            two.work();
            (two.state(&equal), two.state(&less))
        });
        let (waits, runs) = ((State::Queued, State::Queued), (State::Running, State::Running));
        assert_eq!(seen, [waits, waits, runs]);
        two.world.check_history();
    });
}

#[test]
fn a_leader_that_starts_anew_decides_the_same() {
    both_engines(|db| {
        let mut two = Two::new(db, 1);
        let (ours, theirs) = (two.ours.clone(), two.theirs.clone());
        let lent = two.submit(&ours, 1, 8, 0);
        two.work();
        let owner = two.submit(&theirs, 1, 4, 0);
        two.world.settle();
        two.world.restart();
        two.later_s(70);
        assert_eq!((two.state(&owner), two.state(&lent)), (State::Running, State::Queued));
        assert_eq!(two.told(&lent).len(), 1, "told once");
        two.world.restart();
        two.later_s(600);
        assert_eq!(two.state(&owner), State::Running);
        two.world.check_history();
    });
}
