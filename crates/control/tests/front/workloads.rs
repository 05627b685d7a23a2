//! Launches through queues: what is queued by itself, what asks for a queue that is not there, and members that are asked
//! for, shown, given another priority, gated and given back together.

use model::{AllocationId, WorkloadId, allocation::Desired};
use serde_json::{Value, json};
use store::{allocations, workloads};

use crate::world::{World, body, id};

fn launch(world: &World, more: &Value) -> Value {
    let mut wish = json!({"name": "job", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region});
    for (field, value) in more.as_object().unwrap() {
        wish[field] = value.clone();
    }
    wish
}

fn governed(world: &World, default: bool) {
    let all = json!({
        "flavors": [{"slug": "any"}],
        "priority_classes": [{"slug": "usual", "value": 3, "default": true}, {"slug": "urgent", "value": 9}],
        "cluster_queues": [{"slug": "shared"}],
        "local_queues": [
            {"project_id": world.acme.project, "slug": "main", "cluster_queue": "shared", "default": default}
        ]
    });
    let applied = world.post(&world.operator, "/api/v1/admin/governance/apply", json!({"governance": all}));
    assert_eq!(applied.status, 200, "{}", String::from_utf8_lossy(&applied.body));
}

fn workload_of(world: &World, allocation: &AllocationId) -> Option<WorkloadId> {
    let allocation = allocation.clone();
    world.write(move |tx, _| Ok(allocations::get(tx, &allocation)?.unwrap().workload_id))
}

fn launched(world: &World, more: &Value) -> AllocationId {
    let path = format!("/api/v1/projects/{}/allocations", world.acme.project);
    let answer = world.post(&world.worker, &path, launch(world, more));
    assert_eq!(answer.status, 202, "{}", String::from_utf8_lossy(&answer.body));
    id(&body(&answer)["subject_id"])
}

#[test]
fn a_launch_goes_through_the_default_queue_of_its_project_and_else_through_none() {
    let world = World::new();
    assert_eq!(workload_of(&world, &launched(&world, &json!({}))), None);
    governed(&world, true);
    let member = launched(&world, &json!({"max_run_s": 3600}));
    let workload = workload_of(&world, &member).unwrap();
    let shown = body(&world.get(&world.viewer, &format!("/api/v1/workloads/{workload}")));
    assert_eq!(
        (&shown["execution"], &shown["position"], &shown["queue"]),
        (&json!("queued"), &json!(1), &json!("main"))
    );
    assert_eq!((&shown["cluster_queue"], &shown["priority"]), (&json!("shared"), &json!(3)));
    assert_eq!((&shown["if_unavailable"], &shown["max_run_s"]), (&json!("queue"), &json!(3600)));
    assert_eq!(shown["members"][0]["allocation_id"], json!(member));
    let allocation = body(&world.get(&world.viewer, &format!("/api/v1/allocations/{member}")));
    assert_eq!(allocation["workload_id"], json!(workload));
}

#[test]
fn what_needs_a_queue_is_refused_where_there_is_none() {
    let world = World::new();
    governed(&world, false);
    let path = format!("/api/v1/projects/{}/allocations", world.acme.project);
    for more in [json!({"if_unavailable": "queue"}), json!({"priority_class": "usual"}), json!({"max_run_s": 60})] {
        let refused = world.post(&world.worker, &path, launch(&world, &more));
        let told = body(&refused);
        assert_eq!((refused.status, &told["code"]), (409, &json!("queue_missing")), "{more}");
        assert_eq!(told["errors"][0]["pointer"], json!("/queue"));
    }
    for (more, pointer) in
        [(json!({"queue": "none"}), "/queue"), (json!({"queue": "main", "priority_class": "none"}), "/priority_class")]
    {
        let refused = world.post(&world.worker, &path, launch(&world, &more));
        let told = body(&refused);
        assert_eq!((refused.status, &told["errors"][0]["pointer"]), (422, &json!(pointer)));
    }
    assert!(workload_of(&world, &launched(&world, &json!({"queue": "main"}))).is_some());
}

#[test]
fn members_are_submitted_shown_and_given_back_together() {
    let world = World::new();
    governed(&world, true);
    let path = format!("/api/v1/projects/{}/workloads", world.acme.project);
    let wish = |members: i64| json!({"members": members, "launch": launch(&world, &json!({}))});
    let made = world.post(&world.worker, &path, wish(2));
    assert_eq!(made.status, 202, "{}", String::from_utf8_lossy(&made.body));
    let workload: WorkloadId = id(&body(&made)["subject_id"]);
    let at = |rest: &str| format!("/api/v1/workloads/{workload}{rest}");
    let shown = body(&world.get(&world.viewer, &at("")));
    assert_eq!((shown["members"].as_array().unwrap().len(), &shown["member_count"]), (2, &json!(2)));
    let refused = world.post(&world.worker, &path, wish(64));
    assert_eq!((refused.status, &body(&refused)["code"]), (409, &json!("quota_exceeded")));

    let gated = world.post(&world.operator, &format!("/api/v1/admin{}/gate", &at("")[7..]), json!({"closed": true}));
    assert_eq!((gated.status, &body(&gated)["gated"]), (200, &json!(true)));
    let told = body(&world.get(&world.viewer, &at("/explanation")));
    assert_eq!((&told["gated"], &told["position"], &told["preemptions"]), (&json!(true), &json!(1), &json!([])));

    assert_eq!(world.act(&world.worker, &at("/cancel")).status, 202);
    assert_eq!(world.act(&world.worker, &at("/cancel")).status, 409);
    let row = world.write(move |tx, _| Ok(workloads::get(tx, &workload)?.unwrap()));
    assert_eq!(row.desired, Desired::Released);
}
