//! What a launch brings: its image and what cloud-init is told, and what of that is shown to whom.

use api::Code;
use model::{
    runtime::{GuestLeaseState, GuestSeen, Refusal},
    task::{TaskFailure, TaskResult},
};
use serde_json::{Value, json};

use super::images::{available, entry, key, sign, trust};
use crate::{
    fleet::{code, with},
    placement::live::{KEY, Live},
    world::{USER_DATA, body},
};

fn refused(live: &Live, wish: Value) -> (Code, String) {
    let world = live.world();
    let response = world.post(&world.worker, &Live::allocations(&world.acme.project), wish);
    let problem = response.as_problem().unwrap_or_else(|| panic!("{} is no refusal", response.status));
    (problem.code, problem.detail)
}

#[test]
fn a_launch_that_names_no_image_gets_the_default_or_the_only_one() {
    let live = Live::new(1);
    let world = live.world();
    let shown = live.show(&live.launch(live.wish(1)));
    assert_eq!(shown["image_id"], "simulated");
    trust(world);
    let spec = entry("debian-12", &[7; 4096]);
    available(world, &spec);
    let path = "/api/v1/images/simulated";
    assert_eq!(world.patch(&world.operator, path, world.version(path), json!({"is_default": false})).status, 200);
    let (told, detail) = refused(&live, live.wish(1));
    assert_eq!((told, detail.contains("2 images of the kind base")), (Code::ImageUnavailable, true), "{detail}");
    let shown = live.show(&live.launch(with(live.wish(1), json!({"image": "debian-12"}))));
    assert_eq!((&shown["image_id"], &shown["image_sha256"]), (&json!("debian-12"), &json!(spec.sha256)));
    assert_eq!(world.act(&world.operator, &format!("{path}/retire")).status, 200);
    assert_eq!(live.show(&live.launch(live.wish(1)))["image_id"], "debian-12", "the only one left");
    assert_eq!(refused(&live, with(live.wish(1), json!({"image": "simulated"}))).0, Code::ImageUnavailable);
    assert_eq!(world.act(&world.operator, "/api/v1/images/debian-12/retire").status, 200);
    let (told, detail) = refused(&live, live.wish(1));
    assert_eq!((told, detail.contains("no image of the kind base")), (Code::ImageUnavailable, true), "{detail}");
}

#[test]
fn an_image_that_needs_more_than_a_profile_promises_is_refused() {
    let live = Live::new(1);
    let world = live.world();
    trust(world);
    let mut spec = entry("large", &[7; 4096]);
    spec.minimum_disk_bytes = 2 << 30;
    sign(&mut spec, &key());
    available(world, &spec);
    let profile = json!({"slug": "small", "name": "Small", "gpu_model": "h200-sxm", "vcpus": 8, "memory_mib": 1024,
        "min_disk_bytes": 1 << 30, "hugepage_kib": 1_048_576});
    let made = live.fleet.post("/api/v1/slot-profiles", profile);
    assert_eq!((made.status, body(&made)["hugepage_kib"].clone()), (201, json!(1_048_576)));
    assert_eq!((body(&made)["needs_gpu"].clone(), body(&made)["needs_fabric"].clone()), (json!(true), json!(true)));
    let sku = json!({"slug": "small", "name": "Small", "shape": "gpu_slice", "gpu_model": "h200-sxm", "gpu_counts": [1],
        "profile": "small", "price_micros_per_gpu_hour": 1});
    let sku = body(&live.fleet.post("/api/v1/skus", sku))["id"].clone();
    let wish = with(live.wish(1), json!({"sku_id": sku, "image": "large"}));
    let (told, detail) = refused(&live, wish.clone());
    assert_eq!(told, Code::ImageUnfit);
    assert!(detail.contains("2147483648") && detail.contains("1073741824"), "{detail}");
    let path = "/api/v1/slot-profiles/small";
    let larger = world.patch(&world.operator, path, world.version(path), json!({"min_disk_bytes": 4i64 << 30}));
    assert_eq!(larger.status, 200);
    live.launch(wish);
}

#[test]
fn what_a_tenant_wrote_is_shown_to_those_who_may_use_the_project_and_to_nobody_else() {
    let live = Live::new(1);
    let world = live.world();
    let id = live.launch(with(live.wish(1), json!({"user_data": USER_DATA})));
    let path = format!("/api/v1/allocations/{id}/user-data");
    assert_eq!(body(&world.get(&world.worker, &path))["user_data"], USER_DATA);
    assert_eq!(world.get(&world.viewer, &path).status, 403);
    assert_eq!(world.get(&world.umbrella.admin, &path).status, 404);
    assert_eq!(live.show(&id)["has_user_data"], true);
    let bare = live.launch(live.wish(1));
    assert_eq!(world.get(&world.worker, &format!("/api/v1/allocations/{bare}/user-data")).status, 404);
    live.settle();
    let everywhere = world.write(|tx, _| {
        let mut found = Vec::new();
        for sql in
            ["SELECT body FROM audit", "SELECT COALESCE(reason, '') FROM events", "SELECT answer FROM idempotency"]
        {
            for row in &tx.query(sql, &[])? {
                found.push(row.text(0)?.to_owned());
            }
        }
        Ok(found)
    });
    assert!(everywhere.len() > 20 && !everywhere.iter().any(|text| text.contains("hunter2")));
    let long = "x".repeat(33 * 1024);
    let response = world.post(
        &world.worker,
        &Live::allocations(&world.acme.project),
        with(live.wish(1), json!({"user_data": long})),
    );
    assert_eq!(code(&response), Code::InvalidBody);
}

fn seen() -> GuestSeen {
    GuestSeen {
        mac: "02:00:00:00:01:05".into(),
        expected_ip: "10.64.0.6".into(),
        actual_ip: Some("10.64.0.6".into()),
        lease_state: GuestLeaseState::Leased,
        host_key: "ssh-ed25519 AAAA guest".into(),
        accelerator: "kvm".into(),
    }
}

#[test]
fn an_order_has_all_that_a_guest_is_made_of_and_its_answer_says_how_to_reach_it() {
    let live = Live::new(1);
    let world = live.world();
    let keys = format!("/api/v1/projects/{}/ssh-keys", world.acme.project);
    let made = world.post(&world.worker, &keys, json!({"name": "laptop", "public_key": KEY}));
    let wish = with(live.wish(2), json!({"user_data": USER_DATA, "ssh_key_ids": [body(&made)["id"]]}));
    let id = live.launch(wish);
    live.settle();
    let (node, task) = live.orders().pop().unwrap();
    let order = task.input.guest().unwrap();
    let guest = order.guest.as_ref().unwrap();
    assert_eq!((guest.host_name.as_str(), guest.user_name.as_str()), ("job", "gpuaas"));
    assert_eq!((guest.user_data.as_deref(), guest.ssh_keys.len()), (Some(USER_DATA), 1));
    assert_eq!((guest.image.id.as_str(), guest.partition.len()), ("simulated", 2));
    for slot in &order.slots {
        let bundle = slot.bundle.as_ref().unwrap();
        assert!(bundle.gpu.is_some() && bundle.fabric.is_some() && bundle.gpu_module_id.is_some());
        assert!(bundle.share.vcpus > 0 && bundle.share.memory_mib > 0);
    }
    assert!(!format!("{task:?}").contains("hunter2"), "not even in a log of the order");
    live.say_result(&node, TaskResult { guest: Some(Box::new(seen())), ..TaskResult::done(&task) });
    live.settle();
    let access = live.show(&id)["access"].clone();
    assert_eq!(
        access,
        json!({"user": "gpuaas", "private_ip": "10.64.0.6", "mac": "02:00:00:00:01:05", "lease_state": "leased",
            "host_key": "ssh-ed25519 AAAA guest"})
    );
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{id}/release")).status, 202);
    live.work();
    assert_eq!(live.show(&id).get("access"), None);
}

#[test]
fn what_a_host_refuses_to_build_on_is_drifted_and_not_tried_again() {
    let live = Live::new(1);
    let id = live.launch(live.wish(1));
    live.settle();
    let (node, task) = live.orders().pop().unwrap();
    let slot = task.slots()[0].slot_id.clone();
    let stranger = model::SlotId::from_parts(model::Timestamp::from_micros(9), [9; 10]);
    let refusal = |slot_id, check: &str, found: &str| Refusal {
        check: check.into(),
        slot_id,
        expected: "0000:0f:00.0".into(),
        found: found.into(),
    };
    let refusals =
        vec![refusal(Some(slot.clone()), "gpu_present", "nothing"), refusal(Some(stranger), "disk", "/dev/sda")];
    let failed = TaskResult::failed(task.id.clone(), task.fence, TaskFailure::PlanRefused, "The plan was refused.");
    live.say_result(&node, TaskResult { refusals, ..failed });
    live.settle();
    let shown = live.fleet.get(&format!("/api/v1/admin/resource-slots/{slot}"));
    let drift = &shown["drift"][0];
    assert_eq!((&drift["field"], &drift["kind"]), (&json!("gpu_present"), &json!("refused")));
    assert_eq!((&drift["said_by"], &drift["approved"]), (&json!("plan"), &json!("0000:0f:00.0")));
    assert_eq!(shown["execution"], "cleanup_blocked", "until it is wiped");
    let provisions = live.orders().iter().filter(|(_, order)| order.kind() == task.kind()).count();
    assert_eq!(provisions, 0, "it is not tried again");
    live.work();
    let shown = live.show(&id);
    assert_eq!(shown["execution"], "failed");
    let told = shown["projected"].as_str().unwrap();
    assert!(told.contains("gpu_present: expected a device, found nothing, and 1 more"), "{told}");
    let page = live.fleet.get(&format!("/api/v1/allocations/{id}/timeline?page_size=200"));
    let failed: Vec<&Value> =
        page["items"].as_array().unwrap().iter().filter(|item| item["state"] == "failed").collect();
    assert_eq!(failed[0]["step"], "plan");
    assert!(failed[0]["detail"].as_str().unwrap().contains("gpu_present") && !page.to_string().contains("0000:0f"));
    // Operators read the host's own words.
    let tasks = live.fleet.get(&crate::fleet::Fleet::path(&node, "/tasks?page_size=200"));
    assert!(tasks.to_string().contains("0000:0f:00.0") && tasks.to_string().contains("plan_refused"));
    // Nothing is placed on it, and a fresh look does not take the host's word back.
    assert_eq!(live.fleet.look(&node, &crate::fleet::healthy(1))["state"], "succeeded");
    let after = live.fleet.get(&format!("/api/v1/admin/resource-slots/{slot}"));
    assert_eq!(after["drift"][0]["said_by"], "plan");
}

#[test]
fn an_image_that_a_host_refuses_is_told_and_marks_no_slot() {
    let live = Live::new(1);
    let id = live.launch(live.wish(1));
    live.settle();
    let (node, task) = live.orders().pop().unwrap();
    let detail = "sha256: expected aa, found bb in /var/lib/gpuaas/images/aa.";
    let failed = TaskResult::failed(task.id.clone(), task.fence, TaskFailure::ImageRefused, detail);
    live.say_result(&node, failed);
    live.settle();
    let slot = live.fleet.get(&format!("/api/v1/admin/resource-slots/{}", task.slots()[0].slot_id));
    assert_eq!(slot["drift"], json!([]));
    live.work();
    let told = live.show(&id)["projected"].as_str().unwrap().to_owned();
    assert!(told.contains("sha256: expected aa, found bb in a path"), "{told}");
}
