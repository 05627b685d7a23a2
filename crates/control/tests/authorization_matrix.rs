//! The authorization matrix: every operation of the contract, called for real by somebody of every role, on something of
//! their own tenant, of a foreign tenant, and on something that does not exist. The outcome is committed as
//! `docs/reference/authorization-matrix.csv`; an operation that is missing here, or a cell that changed, fails.
//! `UPDATE_GENERATED=1` writes the file anew.
//!
//! Along the way: a foreign id and an absent id are answered with the same bytes, every change leaves exactly one audit
//! row, and every refusal leaves none.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "front/fleet.rs"]
mod fleet;
#[path = "front/world.rs"]
mod world;

use std::fmt::Write as _;

use api::{Operation, Success, endpoint::IfMatch};
use control::front_door::{Request, Response};
use control::{bootstrap::SIMULATED_IMAGE, image_files::Received};
use ed25519_dalek::{Signer as _, SigningKey};
use fleet::Fleet;
use model::{
    ClaimId, NodeId, SlotId, StreamId, TaskId, Timestamp,
    image::{ImageFormat, ImageKind, ImageSpec},
    lifecycle::Wait,
    stream::{StreamEnding, StreamKind},
    supply::SlotState,
    task::TaskKind,
};
use serde_json::{Value, json};
use store::{
    Tx, allocations, claims,
    living::{self, Living},
    slots, streams,
};
use world::{Actor, Estate, World, sku_body};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/authorization-matrix.csv");
const ROLES: [&str; 6] =
    ["anonymous", "platform_operator", "operator_read_only", "tenant_admin", "project_member", "viewer"];

/// Whose thing a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Foreign,
    Absent,
}

/// A world in which an operation makes sense, and what it is about beyond what every world has.
struct Stage {
    fleet: Fleet,
    node: NodeId,
    slot: Option<SlotId>,
    enrollment_token: Option<String>,
    wipe_override: Option<String>,
    disk: String,
    devices: Value,
}

fn actor<'a>(world: &'a World, role: &str) -> Option<&'a Actor> {
    match role {
        "platform_operator" => Some(&world.operator),
        "operator_read_only" => Some(&world.auditor),
        "tenant_admin" => Some(&world.acme.admin),
        "project_member" => Some(&world.worker),
        "viewer" => Some(&world.viewer),
        _ => None,
    }
}

fn absent(prefix: &str) -> String {
    let id = model::TenantId::from_parts(Timestamp::from_micros(5), [255; 10]).to_string();
    id.replace("tnt", prefix)
}

/// The id that a path parameter gets; `None` where the case makes no sense.
fn target(stage: &Stage, operation: &Operation, parameter: &str, whose: Whose, role: &str) -> Option<String> {
    let world = &stage.fleet.world;
    let estate = |estate: &Estate| {
        Some(match (parameter, operation.tag) {
            ("tenant_id", _) => estate.tenant.to_string(),
            ("project_id", _) => estate.project.to_string(),
            ("member_id", _) => estate.member.to_string(),
            ("principal_id", "service accounts") => estate.account.to_string(),
            ("token_id", _) => estate.token.to_string(),
            ("allocation_id", _) => estate.allocation.to_string(),
            ("operation_id", _) => estate.operation.to_string(),
            ("ssh_key_id", _) => estate.ssh_key.to_string(),
            ("stream_id", _) => stream_of(world, estate).to_string(),
            ("local_queue", _) => SPARE.to_owned(),
            ("workload_id", _) => workload_of(world, estate),
            ("webhook_id", _) => estate.webhook.clone().expect("a stage with webhooks").0,
            ("delivery_id", _) => estate.webhook.clone().expect("a stage with webhooks").1,
            ("ingress_id", _) => estate.ingress.as_ref().expect("a stage with ways in").to_string(),
            _ => return None,
        })
    };
    let shared = match (parameter, operation.tag) {
        ("region_id", _) => Some(("rgn", world.region.to_string())),
        ("pool_id", _) => Some(("pol", world.pool.to_string())),
        ("sku_id", _) => Some(("sku", world.sku.to_string())),
        ("node_id", _) => Some(("nod", stage.node.to_string())),
        ("slot_id", _) => Some(("slt", stage.slot.as_ref().expect("a stage with a slot").to_string())),
        ("enrollment_token_id", _) => {
            Some(("enr", stage.enrollment_token.clone().expect("a stage with an enrollment token")))
        }
        ("override_id", _) => Some(("ovr", stage.wipe_override.clone().expect("a stage with an override"))),
        ("nvme_identity", _) => Some(("eui", stage.disk.clone())),
        ("profile", _) => Some(("none", "of-slots".to_owned())),
        _ if GOVERNED.contains(&parameter) => Some(("none", SPARE.to_owned())),
        ("image_id" | "key_id", _) => Some(("none", SIMULATED_IMAGE.to_owned())),
        ("principal_id", "operators") => Some(("prn", world.auditor.principal.to_string())),
        _ => None,
    };
    match (whose, shared) {
        // A token of one's own is the caller's own.
        (Whose::Own, None) if parameter == "token_id" => {
            Some(actor(world, role).map_or_else(|| world.acme.token.to_string(), |actor| actor.token.to_string()))
        }
        (Whose::Own, None) => estate(&world.acme),
        (Whose::Foreign, None) => estate(&world.umbrella),
        (Whose::Absent, None) if parameter == "local_queue" => Some("nothing".to_owned()),
        (Whose::Absent, None) => estate(&world.acme).map(|id| absent(&id[..3])),
        (Whose::Own, Some((_, id))) => Some(id),
        // What belongs to the platform is nobody's own and nobody's foreign.
        (Whose::Foreign, Some(_)) => None,
        (Whose::Absent, Some(("none", _))) => Some("nothing".to_owned()),
        (Whose::Absent, Some((prefix, _))) => Some(absent(prefix)),
    }
}

/// The body of a request that should succeed for those who may.
fn body_for(stage: &Stage, operation: &Operation, whose: Whose) -> Option<Value> {
    let world = &stage.fleet.world;
    if let Some(body) = governed_body(world, operation, whose).or_else(|| webhook_body(operation)) {
        return Some(body);
    }
    Some(match operation.id {
        "node_update" => json!({"profiles": ["gpuaas-profile-baremetal"]}),
        "node_drain"
        | "node_disable"
        | "node_demote"
        | "node_revoke_identity"
        | "slot_disable"
        | "node_evacuate"
        | "allocation_force_release" => {
            json!({"reason": "maintenance"})
        }
        "slot_approve" | "slot_reapprove" => stage.devices.clone(),
        "node_convert" => json!({"to": "gpuaas-profile-baremetal"}),
        "disk_grant_create" => json!({"nvme_identity": "eui.granted", "reason": "wiped"}),
        "enrollment_token_create" => json!({"pool_id": world.pool, "node_name": "host-9", "lifetime_s": 60}),
        "tenant_create" => json!({"slug": "new", "name": "New"}),
        "tenant_update" | "region_update" | "pool_update" | "sku_update" | "slot_profile_update" => {
            json!({"name": "Renamed"})
        }
        "slot_profile_create" => profile_body("new"),
        "wipe_override_request" => json!({"reason": "The disk was taken out and shredded."}),
        "ingress_settings_set" => ingress_settings(),
        "ingress_create" => {
            let estate = if whose == Whose::Foreign { &world.umbrella } else { &world.acme };
            json!({"allocation_id": estate.allocation, "protocol": "tcp", "guest_port": 443})
        }
        "image_register" => signed_image(),
        "image_update" => json!({"is_default": true}),
        "image_key_add" => {
            json!({"key_id": "new", "public_key": hex(SigningKey::from_bytes(&[8; 32]).verifying_key().as_bytes())})
        }
        "node_prefetch" => json!({"image_id": SIMULATED_IMAGE}),
        "node_plan" => json!({"slot_ids": [stage.slot.as_ref().expect("a stage with a slot")]}),
        "ssh_key_create" => json!({"name": "new", "public_key": NEW_KEY}),
        "allocation_update" => json!({"name": "renamed"}),
        "allocation_extend" => json!({"lease_ends_at": "2090-01-01T00:00:00Z"}),
        "claim_backfill" => json!({"dry_run": false}),
        "project_create" => json!({"slug": "new", "name": "New", "gpu_cap": 4}),
        "project_update" => json!({"gpu_cap": 9}),
        "member_create" => json!({"subject": {"email": "new@acme.example"}, "role": "viewer"}),
        "member_update" => json!({"role": "project_member"}),
        "service_account_create" => json!({"name": "another"}),
        "operator_create" => json!({"email": "new@platform.example", "role": "operator_read_only"}),
        "token_create" => match whose {
            Whose::Own => json!({"name": "mine", "scope": "read", "lifetime_s": 60}),
            Whose::Foreign => {
                json!({"name": "theirs", "scope": "read", "lifetime_s": 60, "principal_id": world.umbrella.account})
            }
            Whose::Absent => {
                json!({"name": "nobody", "scope": "read", "lifetime_s": 60, "principal_id": absent("prn")})
            }
        },
        "session_create" => json!({"token": world.viewer.secret}),
        "session_oidc_start" => json!({"return_to": "/nodes"}),
        "region_create" => json!({"slug": "new", "name": "New", "enabled": true}),
        "pool_create" => json!({"region_id": world.region, "slug": "new", "name": "New", "gpu_model": "a100-sxm"}),
        "sku_create" => sku_body("new"),
        "allocation_launch" | "allocation_plan" => {
            json!({"name": "job", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region})
        }
        _ => return None,
    })
}

/// The body of a request about webhooks.
fn webhook_body(operation: &Operation) -> Option<Value> {
    Some(match operation.id {
        "webhook_create" | "platform_webhook_create" => json!({"url": WEBHOOK}),
        "webhook_update" => json!({"enabled": false}),
        "webhook_rotate_secret" => json!({}),
        "webhook_replay" => json!({"after": 0}),
        _ => return None,
    })
}

/// The body of a request about governance.
fn governed_body(world: &World, operation: &Operation, whose: Whose) -> Option<Value> {
    Some(match operation.id {
        "governance_apply" | "governance_simulate" => json!({"governance": {"cohorts": [{"slug": "new"}]}}),
        "topology_put" => json!({"slug": SPARE, "levels": ["rack"]}),
        "flavor_put" | "cohort_put" | "cluster_queue_put" => json!({"slug": SPARE}),
        "priority_class_put" => json!({"slug": SPARE, "value": 7}),
        "hardware_profile_put" => json!({"slug": SPARE, "name": "Spare"}),
        "local_queue_put" => {
            let estate = if whose == Whose::Foreign { &world.umbrella } else { &world.acme };
            json!({"project_id": estate.project, "slug": SPARE, "cluster_queue": "led-to"})
        }
        "workload_submit" => submission(world),
        "workload_priority" => json!({"priority_class": SPARE}),
        "workload_gate" => json!({"closed": true}),
        _ => return None,
    })
}

/// Two that start together, in the spare queue of their project.
fn submission(world: &World) -> Value {
    let launch =
        json!({"name": "gang", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region, "queue": SPARE});
    json!({"members": 2, "launch": launch})
}

/// The workload that a tenant has.
fn workload_of(world: &World, estate: &Estate) -> String {
    let listed = world.get(&world.operator, &format!("/api/v1/projects/{}/workloads", estate.project));
    world::body(&listed)["items"][0]["id"].as_str().expect("a stage with workloads").to_owned()
}

/// What belongs to governance, nothing refers to it.
const SPARE: &str = "spare";
const GOVERNED: [&str; 6] = ["topology", "flavor", "priority_class", "hardware_profile", "cohort", "cluster_queue"];

/// Something of every kind that can be changed and taken away, and local queues of both tenants.
fn govern(world: &World) {
    let local = |estate: &Estate| json!({"project_id": estate.project, "slug": SPARE, "cluster_queue": "led-to"});
    let all = json!({
        "topologies": [{"slug": SPARE, "levels": ["host"]}],
        "flavors": [{"slug": SPARE}],
        "priority_classes": [{"slug": SPARE, "value": 5}],
        "hardware_profiles": [{"slug": SPARE, "name": "Spare"}],
        "cohorts": [{"slug": SPARE}],
        "cluster_queues": [{"slug": SPARE}, {"slug": "led-to"}],
        "local_queues": [local(&world.acme), local(&world.umbrella)]
    });
    let applied = world.post(&world.operator, "/api/v1/admin/governance/apply", json!({"governance": all}));
    assert_eq!(applied.status, 200, "{}", String::from_utf8_lossy(&applied.body));
}

const NEW_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJmUo4aHXqXLnqOZ+ozqUbbCZMYTR7xr1ZpHv1kmlgfQ new";

fn ingress_settings() -> Value {
    json!({
        "firewall_owner": "Network team", "address_owner": "Network team",
        "ranges": [{"addresses": "203.0.113.8/29", "port_min": 2000, "port_max": 2999}]
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An entry that the key of the stage signed.
fn signed_image() -> Value {
    let mut entry = ImageSpec {
        id: "debian-12".to_owned(),
        sha256: "ab".repeat(32),
        size_bytes: 4096,
        format: ImageFormat::Raw,
        virtual_size_bytes: 4096,
        minimum_disk_bytes: 8192,
        kind: ImageKind::Base,
        signer_key_id: "signer".to_owned(),
        signature: String::new(),
    };
    entry.signature = hex(&SigningKey::from_bytes(&[7; 32]).sign(entry.signed_text().as_bytes()).to_bytes());
    json!(entry)
}

fn profile_body(slug: &str) -> Value {
    json!({"slug": slug, "name": "Slot", "gpu_model": "h200-sxm", "vcpus": 24, "memory_mib": 65536})
}

/// A thing that can be deleted: nothing refers to it.
fn deletable(world: &World, operation: &Operation) -> Option<String> {
    let made = |path: &str, what: Value| {
        let response = world.post(&world.operator, path, what);
        Some(world::body(&response)["id"].as_str().unwrap().to_owned())
    };
    let slug = world.key();
    match operation.id {
        "region_delete" => made("/api/v1/regions", json!({"slug": slug, "name": "Spare", "enabled": false})),
        "sku_delete" => made("/api/v1/skus", sku_body(&slug)),
        "pool_delete" => made(
            "/api/v1/pools",
            json!({"region_id": world.region, "slug": slug, "name": "Spare", "gpu_model": "a100-sxm"}),
        ),
        _ => None,
    }
}

/// The request of one cell; `None` where the cell makes no sense.
fn request(stage: &Stage, known: &api::Described, role: &str, whose: Whose) -> Option<Request> {
    let (world, operation) = (&stage.fleet.world, &known.operation);
    let parameters: Vec<&str> = operation.path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
    if parameters.is_empty() && whose != Whose::Own && operation.id != "token_create" {
        return None;
    }
    let mut path = operation.path.to_owned();
    for parameter in parameters {
        let spare = if whose == Whose::Own { deletable(world, operation) } else { None };
        let id = spare.or_else(|| target(stage, operation, parameter, whose, role))?;
        path = path.replace(&format!("{{{parameter}}}"), &id);
    }
    let mut request = Request::new(operation.method.as_str(), &path);
    if known.has_body {
        let body = body_for(stage, operation, whose);
        let body = body.unwrap_or_else(|| panic!("{} has a body and no row in body_for", operation.id));
        request = request.json(body.to_string());
    }
    if operation.needs_idempotency_key() {
        request = request.key(&world.key());
    }
    if operation.takes_bytes {
        // As the entry of the image says.
        request = request.bringing(Received { sha256: "0".repeat(64), size_bytes: 512 });
    }
    if operation.if_match == IfMatch::Required {
        request = request.if_match(world.version(&path));
    }
    if operation.is_upgrade() {
        request = request.upgrade();
    }
    match actor(world, role) {
        Some(actor) if matches!(operation.id, "session_show" | "session_delete") => {
            Some(in_session(world, actor, request))
        }
        Some(actor) => Some(request.bearer(&actor.secret)),
        None => Some(request),
    }
}

/// The same request from a browser that somebody has signed in with.
fn in_session(world: &World, actor: &Actor, request: Request) -> Request {
    let sign_in = Request::new("POST", "/api/v1/session").json(json!({"token": actor.secret}).to_string());
    let signed_in = world.send(sign_in);
    let cookie = signed_in.header("Set-Cookie").expect("a session").split(['=', ';']).nth(1).unwrap().to_owned();
    request.session(&cookie, world::body(&signed_in)["csrf_token"].as_str().unwrap())
}

/// A world in which the operation makes sense: what is to be resumed is suspended, what is to be put back is taken out.
fn stage_for(operation: &Operation) -> Stage {
    let fleet = Fleet::new();
    let node = match operation.id {
        "discovery_show" | "readiness_show" | "slot_approve" | "slot_approve_complete" => fleet.known(1),
        "node_promote" => {
            let node = fleet.promoted(1);
            let demoted = fleet.post(&Fleet::path(&node, "/demote"), json!({"reason": "to promote it again"}));
            assert_eq!(demoted.status, 200);
            node
        }
        _ => fleet.world.node.clone(),
    };
    let mut stage = Stage {
        fleet,
        node,
        slot: None,
        enrollment_token: None,
        wipe_override: None,
        disk: String::new(),
        devices: Value::Null,
    };
    match operation.id {
        "slot_approve" => stage.devices = stage.fleet.wish(&stage.node, 0),
        "node_undrain" => {
            let drained = stage.fleet.post(&Fleet::path(&stage.node, "/drain"), json!({"reason": "fan"}));
            assert_eq!(drained.status, 200);
        }
        "node_revoke_identity" => with_certificate(&stage),
        "image_register" => {
            let public_key = hex(SigningKey::from_bytes(&[7; 32]).verifying_key().as_bytes());
            let key = json!({"key_id": "signer", "public_key": public_key});
            assert_eq!(stage.fleet.post("/api/v1/image-keys", key).status, 201);
        }
        "node_plan" => {
            assert_eq!(stage.fleet.post("/api/v1/slot-profiles", profile_body("h200-sxm-slice")).status, 201);
            with_slot(&mut stage, operation);
        }
        "plan_show" => with_report(&stage, TaskKind::SlicePlan, NO_PLAN),
        "reconcile_show" => with_report(&stage, TaskKind::SliceReconcile, r#"{"findings":[],"guests":[]}"#),
        "machine_sync" => stage.fleet.world.write(|tx, stamp| {
            store::machines::put_provider(tx, "maas", "maas", "https://maas.example/MAAS", stamp.now)
        }),
        "disk_grant_delete" => {
            stage.disk = "eui.granted".to_owned();
            let grant = json!({"nvme_identity": stage.disk, "reason": "wiped"});
            assert_eq!(stage.fleet.post(&Fleet::path(&stage.node, "/disk-grants"), grant).status, 201);
        }
        _ => {}
    }
    if operation.path.contains("{profile}") {
        assert_eq!(stage.fleet.post("/api/v1/slot-profiles", profile_body("of-slots")).status, 201);
    }
    if operation.path.contains("{slot_id}") || operation.path.contains("{override_id}") {
        with_slot(&mut stage, operation);
    }
    if operation.path.contains("{enrollment_token_id}") {
        let body = json!({"pool_id": stage.fleet.world.pool, "node_name": "host-9", "lifetime_s": 60});
        let made = stage.fleet.post("/api/v1/admin/enrollment-tokens", body);
        stage.enrollment_token = world::body(&made)["token"]["id"].as_str().map(str::to_owned);
    }
    with_queues(&stage, operation);
    with_guests(&mut stage, operation);
    suspend_for(operation, &stage.fleet.world);
    stage
}

/// Governance, and work of both tenants in their queues, as far as the operation is about that.
fn with_queues(stage: &Stage, operation: &Operation) {
    if GOVERNED.iter().chain(&["local_queue"]).any(|name| operation.path.contains(&format!("{{{name}}}"))) {
        govern(&stage.fleet.world);
    }
    if operation.id == "workload_submit" || operation.path.contains("{workload_id}") {
        let world = &stage.fleet.world;
        govern(world);
        for estate in [&world.acme, &world.umbrella].into_iter().filter(|_| operation.id != "workload_submit") {
            let path = format!("/api/v1/projects/{}/workloads", estate.project);
            assert_eq!(world.post(&world.operator, &path, submission(world)).status, 202);
        }
    }
}

/// Guests of both tenants, as far as the operation is about reaching them.
fn with_guests(stage: &mut Stage, operation: &Operation) {
    let world = &stage.fleet.world;
    for estate in [&world.acme, &world.umbrella] {
        if operation.is_upgrade() {
            runs(world, estate);
        }
        if operation.path.contains("{stream_id}") {
            had_a_console(world, estate);
        }
    }
    if operation.id == "ingress_create" || operation.path.contains("{ingress_id}") {
        with_ways_in(stage, operation);
    }
    if operation.path.contains("{webhook_id}") {
        with_webhooks(stage);
    }
}

const WEBHOOK: &str = "https://hooks.example/in";

/// A webhook of each tenant, with a delivery under way.
fn with_webhooks(stage: &mut Stage) {
    let world = &stage.fleet.world;
    let made = [&world.acme, &world.umbrella].map(|estate| {
        let path = format!("/api/v1/tenants/{}/webhooks", estate.tenant);
        let made = world::body(&world.post(&world.operator, &path, json!({"url": WEBHOOK})));
        let id = made["webhook"]["id"].as_str().expect("a webhook").to_owned();
        let sent = world::body(&world.act(&world.operator, &format!("/api/v1/webhooks/{id}/test")));
        Some((id, sent["id"].as_str().expect("a delivery").to_owned()))
    });
    let world = &mut stage.fleet.world;
    [world.acme.webhook, world.umbrella.webhook] = made;
}

/// The id of the stream that a tenant had.
fn stream_of(world: &World, estate: &Estate) -> StreamId {
    StreamId::from_parts(Timestamp::from_micros(7), [u8::from(estate.tenant == world.acme.tenant); 10])
}

/// A console to a tenant's guest that has ended and was recorded.
fn had_a_console(world: &World, estate: &Estate) {
    let (id, estate, node) = (stream_of(world, estate), estate.clone(), world.node.clone());
    world.write(move |tx, stamp| {
        let new = streams::StreamNew {
            id: &id,
            allocation_id: &estate.allocation,
            tenant_id: &estate.tenant,
            project_id: &estate.project,
            node_id: &node,
            kind: StreamKind::Console,
            principal_id: &estate.admin.principal,
            token_id: &estate.admin.token,
            request_id: "req",
            came_from: "192.0.2.1",
            replica: "replica-1",
            agent_address: None,
            open_by: stamp.now,
            alive_until: stamp.now,
        };
        streams::insert(tx, new, stamp.now)?;
        let recording = Some(streams::Recording { bytes: 1, sha256: "00".to_owned(), cut: false });
        let end = streams::End { recording, ..streams::End::bare(StreamEnding::Closed) };
        streams::end(tx, &id, &end, stamp.now).map(drop)
    });
}

/// Makes a tenant's allocation run, on a slot of its own.
fn runs(world: &World, estate: &Estate) {
    let (allocation, node) = (estate.allocation.clone(), world.node.clone());
    world.write(move |tx, stamp| {
        let slot = SlotId::from_parts(stamp.now, stamp.bits());
        let word = |what: &str| Some(format!("{what}-{slot}"));
        let parts = slots::SlotParts {
            gpu_pci_address: word("gpu"),
            gpu_uuid: word("uuid"),
            gpu_module_id: Some(1),
            nvme_identity: word("nvme"),
            mgmt_mac: word("mac"),
            private_ip: word("ip"),
            fabric_claim_mode: model::supply::FabricClaimMode::PerSlotVf,
            fabric_vf_pci_address: word("vf"),
            numa_node: Some(0),
            pcie_switch: Some(0),
            rail: Some(0),
            partition_ids: "[]".into(),
            capacity_metadata: "{}".into(),
        };
        let (id, node_id, profile) = (slot.clone(), node.clone(), "slice".into());
        let new = slots::SlotNew { id, node_id, profile, available: true, parts, approval: None };
        slots::insert_all(tx, stamp, &[new])?;
        let chosen = slots::lock_chosen(tx, std::slice::from_ref(&slot))?;
        slots::reserve_all(tx, stamp, &chosen)?;
        let (id, fence) = (ClaimId::from_parts(stamp.now, stamp.bits()), chosen[0].use_generation + 1);
        let claim = claims::SlotClaim { id, slot_id: slot, fence, snapshot: "{}".into() };
        assert!(claims::take_slots(tx, &allocation, &node, &[claim], stamp.now)?);
        let row = allocations::get(tx, &allocation)?.unwrap();
        let state = model::allocation::State::Running;
        let entering = allocations::Entering { state, observed: "{}", node_id: Some(&node), reason: None };
        allocations::enter(tx, stamp, &row, entering).map(drop)
    });
}

/// Allocations that have a place, in a region whose ways in somebody owns; a way in to each, unless one is to be made.
fn with_ways_in(stage: &mut Stage, operation: &Operation) {
    let world = &mut stage.fleet.world;
    let path = format!("/api/v1/regions/{}/ingress-settings", world.region);
    let set = Request::new("PUT", &path).bearer(&world.operator.secret).json(ingress_settings().to_string());
    assert_eq!(world.send(set).status, 200);
    for (project, allocation) in [&world.acme, &world.umbrella].map(|of| (of.project.clone(), of.allocation.clone())) {
        let id = allocation.clone();
        world.write(move |tx, stamp| {
            let row = store::allocations::get(tx, &id)?.unwrap();
            let state = model::allocation::State::Reserved;
            let entering = store::allocations::Entering { state, observed: "{}", node_id: None, reason: None };
            store::allocations::enter(tx, stamp, &row, entering)
        });
        if operation.id == "ingress_create" {
            continue;
        }
        let body = json!({"allocation_id": allocation, "protocol": "tcp", "guest_port": 443});
        let made = world.post(&world.operator, &format!("/api/v1/projects/{project}/ingresses"), body);
        let id = Some(world::id(&world::body(&made)["id"]));
        let estate = if project == world.acme.project { &mut world.acme } else { &mut world.umbrella };
        estate.ingress = id;
    }
}

const NO_PLAN: &str = r#"{"refusals":[],"cells":[],"pci_addresses":[],"disks":[],"mac":"","ip":""}"#;

fn with_report(stage: &Stage, kind: TaskKind, report: &'static str) {
    let node = stage.node.clone();
    stage.fleet.world.write(move |tx, stamp| {
        let task = TaskId::from_parts(stamp.now, stamp.bits());
        store::node_reports::put(tx, &node, kind, &task, report, stamp.now)
    });
}

fn with_certificate(stage: &Stage) {
    let node = stage.node.clone();
    stage.fleet.world.write(move |tx, stamp| {
        let until = stamp.now.plus_seconds(3600);
        store::certificates::insert(tx, "0a", &node, until, stamp.now)
    });
}

/// A slot in the state that the operation is for.
fn with_slot(stage: &mut Stage, operation: &Operation) {
    let node = stage.fleet.known(1);
    stage.devices = stage.fleet.wish(&node, 0);
    let made = stage.fleet.approve(&node, stage.devices.clone());
    let id: SlotId = world::id(&world::body(&made)["id"]);
    stage.node = node;
    stage.slot = Some(id.clone());
    let path = format!("/api/v1/admin/resource-slots/{id}");
    match operation.id {
        "slot_enable" => {
            assert_eq!(stage.fleet.post(&format!("{path}/disable"), json!({"reason": "fan"})).status, 200);
        }
        "slot_repair" => stage.fleet.world.write(move |tx, stamp| {
            let row = slots::get(tx, &id)?.unwrap();
            let health = slots::Health { state: "proof_missing", detail: "" };
            slots::enter(tx, stamp, &row, SlotState::CleanupBlocked, health, None)?;
            let row = slots::get(tx, &id)?.unwrap();
            let wait = Wait::new("cleanup_needs_operator", "Somebody has to look.", 0, 3600);
            living::set_wait(tx, Living::Slots, row.seen(), &wait, stamp.now)
        }),
        "wipe_override_request" => blocked(stage, &id),
        "proof_show" => with_proof(stage, &id),
        _ if operation.path.contains("{override_id}") => {
            blocked(stage, &id);
            let colleague = stage.fleet.world.operator_named("colleague@platform.example");
            let body = json!({"reason": "The disk was taken out and shredded."});
            let asked = stage.fleet.world.post(&colleague, &format!("{path}/override"), body);
            stage.wipe_override = world::body(&asked)["id"].as_str().map(str::to_owned);
        }
        _ => {}
    }
}

/// The slot was used once, and its wipe is not proved.
fn blocked(stage: &Stage, id: &SlotId) {
    let id = id.clone();
    stage.fleet.world.write(move |tx, stamp| {
        let row = slots::get(tx, &id)?.unwrap();
        slots::reserve_all(tx, stamp, std::slice::from_ref(&row))?;
        let row = slots::get(tx, &id)?.unwrap();
        let health = slots::Health { state: "proof_missing", detail: "" };
        slots::enter(tx, stamp, &row, SlotState::CleanupBlocked, health, None).map(drop)
    });
}

/// A proof of the slot came in. What it is worth does not matter to who may read it.
fn with_proof(stage: &Stage, id: &SlotId) {
    let id = id.clone();
    stage.fleet.world.write(move |tx, stamp| {
        let slot = slots::get(tx, &id)?.unwrap();
        let proof = model::proof::Proof {
            node_id: slot.node_id.clone(),
            slot_id: slot.id.clone(),
            use_generation: 1,
            disk_identity: String::new(),
            nonce: "n".to_owned(),
            steps: vec![],
            signature: String::new(),
        };
        let new = store::proofs::ProofNew {
            id: &model::ProofId::from_parts(stamp.now, stamp.bits()),
            node_id: &slot.node_id,
            slot_id: &slot.id,
            use_generation: 1,
            nonce: "n",
            proof: &proof,
            public_key: "00",
            disk_identity: "",
            steps: &[],
        };
        store::proofs::insert(tx, &new, stamp.now).map(drop)
    });
}

fn suspend_for(operation: &Operation, world: &World) {
    if operation.id.ends_with("_resume") {
        for estate in [&world.acme, &world.umbrella] {
            for path in [format!("tenants/{}", estate.tenant), format!("projects/{}", estate.project)] {
                let response = world.act(&world.operator, &format!("/api/v1/{path}/suspend"));
                assert_eq!(response.status, 202);
            }
        }
    }
}

fn audit_rows(tx: &mut Tx<'_>) -> i64 {
    tx.query_one("SELECT COUNT(*) FROM audit", &[]).and_then(|row| row.int(0)).unwrap()
}

/// Calls one cell. What succeeds is undone; what is refused is called for real, to see that it changed nothing.
fn call(stage: &Stage, known: &api::Described, role: &str, whose: Whose) -> Option<Response> {
    let world = &stage.fleet.world;
    let request = request(stage, known, role, whose)?;
    let before = world.audited();
    let (response, audited) = world.door.rehearse(&world.db, request.clone(), audit_rows);
    let (id, what) = (known.operation.id, String::from_utf8_lossy(&response.body).into_owned());
    assert!(response.status < 500, "{id} as {role} on {whose:?}: {what}");
    if response.is_success() {
        let expected = if known.operation.is_mutating() { before + 1 } else { before };
        assert_eq!(audited, Some(expected), "{id} as {role} on {whose:?}: audit rows");
        assert_eq!(response.status, known.operation.success.status(), "{id} as {role}");
        let promised = matches!(known.operation.success, Success::Created | Success::Accepted);
        assert_eq!(response.header("Location").is_some(), promised, "{id}: Location");
        assert_eq!(response.header("ETag").is_some(), api::openapi::answer_has_version(known), "{id}: ETag");
    } else {
        let again = world.send(request);
        assert_eq!((again.status, &again.body), (response.status, &response.body), "{id} as {role} on {whose:?}");
        assert_eq!(world.audited(), before, "{id} as {role} on {whose:?}: a refusal was audited");
    }
    Some(response)
}

fn cell(response: Option<&Response>) -> String {
    let Some(response) = response else { return "-".to_owned() };
    match response.as_problem() {
        Some(problem) => format!("{} {}", response.status, problem.code),
        None => response.status.to_string(),
    }
}

#[test]
fn the_matrix_is_what_is_committed() {
    let mut csv = String::from("operation,right,role,own,foreign,absent\n");
    for known in api::operations() {
        let stage = stage_for(&known.operation);
        for role in ROLES {
            let [own, foreign, absent] =
                [Whose::Own, Whose::Foreign, Whose::Absent].map(|whose| call(&stage, &known, role, whose));
            let (id, right) = (known.operation.id, known.operation.right);
            if let (Some(foreign), Some(absent)) = (&foreign, &absent)
                && !foreign.is_success()
                && foreign.status != 403
            {
                assert_eq!(foreign.status, absent.status, "{id} as {role}");
                assert_eq!(foreign.body, absent.body, "{id} as {role}: a foreign id tells");
                assert_eq!(foreign.content_type, absent.content_type);
            }
            let (own, foreign, absent) = (cell(own.as_ref()), cell(foreign.as_ref()), cell(absent.as_ref()));
            writeln!(csv, "{id},{right},{role},{own},{foreign},{absent}").unwrap();
        }
    }
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(FILE, &csv).unwrap();
    }
    let committed = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(committed == csv, "the matrix changed; look at it, then run with UPDATE_GENERATED=1:\n{csv}");
}

/// What the matrix must say whatever else changes.
#[test]
fn the_matrix_holds_the_rules() {
    for known in api::operations() {
        let operation = known.operation;
        let stage = stage_for(&operation);
        for role in ROLES {
            let answer = |whose| call(&stage, &known, role, whose);
            let own = answer(Whose::Own).expect("every operation has a case of its own");
            let mutating = operation.is_mutating();
            let self_service = matches!(operation.id, "token_create" | "token_revoke" | "session_delete");
            match role {
                // These worlds have no identity provider.
                _ if operation.id == "session_oidc_start" => assert_eq!(own.status, 404),
                _ if operation.public => assert!(own.is_success(), "{} refused: {}", operation.id, own.status),
                "anonymous" => assert_eq!(own.status, 401, "{}", operation.id),
                "platform_operator" => assert!(own.is_success(), "{} refused: {}", operation.id, own.status),
                // What a tenant wrote may hold their secrets: only who may use the project reads it.
                "operator_read_only" if operation.id == "user_data_show" => assert_eq!(own.status, 403),
                "operator_read_only" if !mutating => assert!(own.is_success(), "{}", operation.id),
                "operator_read_only" | "viewer" if mutating && !self_service => {
                    assert!(matches!(own.status, 403 | 404), "{} as {role}: {}", operation.id, own.status);
                }
                _ => {}
            }
            if matches!(role, "tenant_admin" | "project_member" | "viewer")
                && let Some(foreign) = answer(Whose::Foreign)
            {
                let expected = if operation.id == "token_create" { 422 } else { 404 };
                assert_eq!(foreign.status, expected, "{} as {role} on what is foreign", operation.id);
            }
        }
    }
}
