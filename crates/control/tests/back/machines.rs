//! Whole machines, from launch to proof, with everything that can happen on the way. The provider is a fleet in memory that
//! lives by the test's clock.

use api::node_plane::{EnrollRequest, TaskAnswer, ToControl};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use control::{
    bootstrap,
    front_door::{FrontDoor, FrontDoorConfig, Request},
    node_plane::NodeRefusal,
};
use machines::{
    Fault, MachineProvider as _, MachineStatus,
    simulated::{Call, Mishap, SimulatedMachines},
};
use model::{
    AllocationId, PrincipalId,
    allocation::{AllocationTerms, LaunchKey, State},
    image::{ImageFormat, ImageKind, ImageSpec, ImageState},
    supply::{NodeState, OccupancyMode, SaidBy, SlotState},
    task::{TaskFailure, TaskKind, TaskResult, TaskState},
};
use serde_json::{Value, json};
use store::{
    Stamp, StoreError, Tx, certificates, claims,
    drifts::{self, DriftSeen},
    enrollment, images, incidents,
    living::{self, Living},
    nodes, slots,
    tasks::TaskRow,
    testing::both_engines,
};

use crate::metal::{MACHINE, Metal, machine, token_of};

fn of_kind(metal: &Metal, id: &AllocationId, kind: TaskKind) -> Vec<TaskRow> {
    metal.world.orders(id).into_iter().filter(|task| task.kind == kind).collect()
}

fn running(metal: &mut Metal, fleet: &SimulatedMachines) -> AllocationId {
    let id = metal.launch();
    metal.until_state(fleet, &id, State::Running);
    id
}

fn released(metal: &mut Metal, fleet: &SimulatedMachines, id: &AllocationId) {
    metal.world.release(id).unwrap();
    metal.until_state(fleet, id, State::Released);
    metal.world.settle();
}

#[test]
fn a_machine_is_installed_with_the_keys_the_words_and_the_image_of_its_launch() {
    both_engines(|db| {
        let (mut metal, fleet) = Metal::new(db);
        let key = LaunchKey {
            name: "laptop".parse().unwrap(),
            public_key: "ssh-ed25519 AAAAC3Nz ada".to_owned(),
            fingerprint: "SHA256:x".to_owned(),
        };
        let user_data = Some("#!/bin/sh\necho hello\n".to_owned().try_into().unwrap());
        let terms = |image: ImageSpec| AllocationTerms {
            ssh_keys: vec![key.clone()],
            image: Some(image),
            user_data: user_data.clone(),
            ..AllocationTerms::default()
        };
        // The platform's default is what the provider usually installs.
        let user = metal.world.user.clone();
        metal.world.write(move |tx, stamp| offer(tx, stamp, &user, &image("debian-13"))).unwrap();
        for (named, installed) in [("debian-13", ("ubuntu", "noble")), ("torch-2", ("custom", "torch-2"))] {
            let id = metal.launch_with(terms(image(named)));
            metal.until_state(&fleet, &id, State::Running);
            let order = fleet.installed(&metal.id).unwrap();
            assert_eq!((order.system(), order.image()), installed, "{named}");
            let told = String::from_utf8(order.user_data().as_bytes().to_vec()).unwrap();
            let parts: Vec<String> = told
                .split("\r\n\r\n")
                .filter_map(|part| STANDARD.decode(part.split("\r\n--").next()?.replace("\r\n", "")).ok())
                .map(|part| String::from_utf8(part).unwrap())
                .collect();
            assert_eq!(parts.len(), 2, "{told}");
            assert!(parts[0].contains("ssh-ed25519 AAAAC3Nz ada") && parts[0].contains("\"train\""), "{}", parts[0]);
            assert_eq!(parts[1], "#!/bin/sh\necho hello\n");
            released(&mut metal, &fleet, &id);
        }
        metal.world.check_history();
    });
}

fn image(id: &str) -> ImageSpec {
    ImageSpec {
        id: id.to_owned(),
        sha256: "ab".repeat(32),
        size_bytes: 512,
        format: ImageFormat::Raw,
        virtual_size_bytes: 512,
        minimum_disk_bytes: 512,
        kind: ImageKind::Base,
        signer_key_id: "key".to_owned(),
        signature: "0".repeat(128),
    }
}

fn offer(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, user: &PrincipalId, spec: &ImageSpec) -> Result<(), StoreError> {
    images::insert_key(tx, stamp, &"key".parse().unwrap(), &"ab".repeat(32).parse().unwrap(), user)?;
    images::insert(tx, stamp, spec)?;
    let row = images::get(tx, &spec.id.parse().unwrap())?.unwrap();
    images::enter(tx, stamp, &row, ImageState::Available).map(drop)
}

#[test]
fn a_machine_is_handed_over_and_comes_back_proved() {
    both_engines(|db| {
        let (mut metal, fleet) = Metal::new(db);
        let old_key = metal.node().public_key;
        let id = metal.launch();
        assert_eq!(metal.state(&id), State::Provisioning);
        let node = metal.node();
        assert!(node.handed_over.is_some() && node.is_without_identity() && node.public_key != old_key);
        metal.until_state(&fleet, &id, State::Running);
        let order = fleet.installed(&metal.id).unwrap();
        assert_eq!((order.system(), order.image()), ("ubuntu", "noble"));
        assert_eq!(token_of(&order), None, "a tenant gets no token");
        assert_eq!(metal.node().state, NodeState::Silent);
        assert_eq!(metal.node().life.wait, None, "nobody is told about a silence that is right");
        let watched = node.id.clone();
        assert_eq!(metal.world.read(move |tx| incidents::list(tx, &watched, store::Page::first(9))), []);
        assert_eq!(metal.world.slots_in(SlotState::InUse), 8);

        metal.world.release(&id).unwrap();
        metal.until(&fleet, "the platform's host", |metal| metal.host.is_some());
        assert_eq!(metal.world.slots_in(SlotState::Available), 0, "nothing is sold on a provider's word");
        metal.until_state(&fleet, &id, State::Released);
        metal.world.settle();
        let node = metal.node();
        assert!(node.handed_over.is_none() && !node.is_without_identity() && node.public_key != old_key);
        let reclaim = of_kind(&metal, &id, TaskKind::MachineReclaim);
        assert_eq!(node.machine_mark.as_deref(), Some(reclaim[0].id.as_str()));
        assert_eq!(metal.world.slots_in(SlotState::Available), 8);
        let kinds: Vec<TaskKind> = metal.world.orders(&id).iter().map(|task| task.kind).collect();
        assert_eq!(kinds, [TaskKind::MachineDeploy, TaskKind::MachineReclaim, TaskKind::SliceVmRelease]);
        assert_eq!(fleet.installations(&metal.id), 2, "once for the tenant, once for the platform");
        assert_eq!(metal.world.active_claims(), 0);
        // And once more: what the platform installed itself is given back like what a person installed.
        let again = running(&mut metal, &fleet);
        released(&mut metal, &fleet, &again);
        assert_eq!(metal.world.slots_in(SlotState::Available), 8);
        metal.world.check_history();
    });
}

#[test]
fn nobody_of_the_tenants_time_is_believed() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let before = metal.world.nodes[0].clone();
    let node_id = metal.node_id();
    let live = |metal: &Metal| {
        let id = metal.node_id();
        metal.world.read(move |tx| Ok(certificates::of_node(tx, &id)?.iter().filter(|c| c.revoked.is_none()).count()))
    };
    let id = running(&mut metal, &fleet);
    assert_eq!(live(&metal), 0);
    metal.world.say(&before, ToControl::Heartbeat(metal.world.beat(&before))).unwrap();
    metal.world.advance_s(6);
    metal.world.settle();
    assert_eq!(metal.node().state, NodeState::Silent, "a heartbeat of the old agent brings nobody back");
    metal.world.release(&id).unwrap();
    metal.until(&fleet, "an order to wipe", |metal| !of_kind(metal, &id, TaskKind::SliceVmRelease).is_empty());
    let there = metal.world.nodes[0].clone();
    let wipe = metal.world.poll(&there).remove(0);
    assert_eq!(wipe.kind(), TaskKind::SliceVmRelease);
    // A proof with the key of the tenant's time proves nothing.
    let result = before.succeed(&wipe);
    let said = TaskAnswer { node_id, boot: 1, result, report: None };
    metal.world.say(&before, ToControl::Result(said)).unwrap();
    metal.world.settle();
    assert_eq!(metal.world.slots_in(SlotState::Available), 0);
    let wipes = of_kind(&metal, &id, TaskKind::SliceVmRelease).len();
    assert_eq!(wipes, 1 + 8, "every slot is wiped again at once, by an order of its own");
    // The slots are wiped again by the agent that is there now.
    metal.until(&fleet, "eight proved slots", |metal| metal.world.slots_in(SlotState::Available) == 8);
    assert_eq!(live(&metal), 1);
}

#[test]
fn a_host_that_is_installed_once_more_enrolls_once_more() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let id = running(&mut metal, &fleet);
    metal.world.release(&id).unwrap();
    metal.until(&fleet, "an enrolled host", |metal| metal.node().machine_mark.is_some());
    let first = metal.node().public_key;
    // Somebody gave the machine back at its provider. The same order installs it again, and its first host is gone.
    fleet.put(machine(MachineStatus::Ready));
    metal.mute = true;
    metal.until(&fleet, "a second installation", |metal| fleet.installed(&metal.id).is_some());
    for _ in 0..5 {
        metal.ten_seconds(&fleet);
        let node = metal.node();
        assert!(node.is_without_identity() && node.machine_mark.is_none(), "nobody has enrolled since: {node:?}");
    }
    metal.mute = false;
    metal.until_state(&fleet, &id, State::Released);
    metal.world.settle();
    assert_ne!(metal.node().public_key, first);
    assert_eq!(metal.world.slots_in(SlotState::Available), 8);
}

#[test]
fn only_the_order_that_takes_a_machine_back_brings_its_host_in() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let desk = Desk::new(&metal);
    let pool = metal.node().pool_id;
    let wanted = json!({ "pool_id": pool, "node_name": "node-0", "lifetime_s": 900 });
    let token = |metal: &Metal| {
        let (status, made) = desk.post(metal, "/api/v1/admin/enrollment-tokens", Some(wanted.clone()));
        assert_eq!(status, 201, "{made}");
        made["secret"].as_str().unwrap().to_owned()
    };
    let try_with = |metal: &Metal, secret: String| {
        let request = EnrollRequest {
            secret,
            csr_pem: metal.csr(),
            hardware_serial: metal.node().hardware_serial,
            agent_version: "1.0.0".to_owned(),
        };
        metal.try_enroll(&request).map(|answer| answer.node_id).map_err(|problem| problem.detail)
    };
    let early = token(&metal);
    let id = running(&mut metal, &fleet);
    let refused = try_with(&metal, early).unwrap_err();
    assert!(refused.contains("revoked") || refused.contains("taken back"), "{refused}");
    let refused = try_with(&metal, token(&metal)).unwrap_err();
    assert!(refused.contains("tenant's"), "{refused}");
    metal.world.release(&id).unwrap();
    // The tenant cannot use what the provider was given for the platform's host, once the order has ended.
    metal.mute = true;
    metal
        .until(&fleet, "an installed host", |metal| fleet.installed(&metal.id).is_some_and(|o| token_of(&o).is_some()));
    let secret = token_of(&fleet.installed(&metal.id).unwrap()).unwrap();
    metal.until(&fleet, "a failed order", |metal| {
        of_kind(metal, &id, TaskKind::MachineReclaim).iter().any(|task| task.state == TaskState::Failed)
    });
    let refused = try_with(&metal, secret).unwrap_err();
    assert!(refused.contains("taken back") || refused.contains("ended"), "{refused}");
    metal.mute = false;
    metal.until_state(&fleet, &id, State::Released);
    let name = "node-0".to_owned();
    let left = metal.world.read(move |tx| enrollment::unused_for(tx, &name));
    assert!(left.iter().all(|token| !token.created_by.starts_with("machine:")), "{left:?}");
}

#[test]
fn a_machine_that_cannot_be_installed_is_taken_back_and_the_launch_has_failed() {
    both_engines(|db| {
        let (mut metal, fleet) = Metal::new(db);
        fleet.plan(Call::Deploy, None, Mishap::Fails);
        let id = metal.launch();
        metal.until_state(&fleet, &id, State::Failed);
        metal.world.settle();
        let deploy = of_kind(&metal, &id, TaskKind::MachineDeploy).remove(0);
        assert_eq!(deploy.state, TaskState::Failed);
        let result = deploy.result.unwrap();
        assert_eq!(result.failure, Some(TaskFailure::MachineFailed));
        assert!(result.detail.contains("Failed deployment"), "{}", result.detail);
        metal.until(&fleet, "eight proved slots", |metal| metal.world.slots_in(SlotState::Available) == 8);
        assert!(metal.node().handed_over.is_none());
        metal.world.check_history();
    });
}

#[test]
fn an_installation_that_never_ends_is_given_up_within_its_budget() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    fleet.plan(Call::Deploy, None, Mishap::Hangs);
    let begun = metal.world.clock_now();
    let id = metal.launch();
    metal.until_state(&fleet, &id, State::Releasing);
    let lasted_s = metal.world.clock_now().micros_since(begun) / 1_000_000;
    let budgets = metal.patience.budgets;
    assert!(lasted_s >= budgets.deploy_s && lasted_s < budgets.deploy_s + 1_200, "{lasted_s}");
    metal.until_state(&fleet, &id, State::Failed);
}

#[test]
fn a_provider_that_is_away_for_an_hour_is_waited_for() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let away = || Mishap::Refused(Fault::Unreachable { why: "connection refused".to_owned() });
    let hour = |metal: &mut Metal, calls: &[Call]| {
        for _ in 0..360 {
            for call in calls {
                fleet.plan(*call, None, away());
            }
            metal.ten_seconds(&fleet);
        }
        // What was planned and not asked for must not last longer than the hour.
        fleet.forget_plans();
    };
    let id = metal.launch();
    hour(&mut metal, &[Call::Read]);
    let deploy = of_kind(&metal, &id, TaskKind::MachineDeploy).remove(0);
    assert_eq!(deploy.state, TaskState::Delivered, "{:?}", metal.told());
    let work = metal.world.read(move |tx| store::machines::work(tx, &deploy.id)).unwrap();
    assert!(work.failures > 3 && work.fault.contains("cannot be reached"), "{work:?}");
    metal.until_state(&fleet, &id, State::Running);
    metal.world.release(&id).unwrap();
    metal.ten_seconds(&fleet);
    hour(&mut metal, &[Call::Release, Call::Read]);
    metal.until_state(&fleet, &id, State::Released);
    assert_eq!(of_kind(&metal, &id, TaskKind::MachineReclaim).len(), 1, "one order, however long it took");
    assert_eq!(fleet.installations(&metal.id), 2);
}

#[test]
fn lost_answers_and_doubled_ones_change_nothing() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    for call in [Call::Release, Call::Allocate, Call::Deploy] {
        fleet.plan(call, None, Mishap::AnswerLost);
    }
    let id = running(&mut metal, &fleet);
    for call in [Call::Release, Call::Allocate, Call::Deploy] {
        fleet.plan(call, None, Mishap::AnswerLost);
    }
    // An agent that answers for a provider is nobody.
    let deploy = of_kind(&metal, &id, TaskKind::MachineDeploy).remove(0);
    let node = metal.world.nodes[0].clone();
    let forged = TaskResult::failed(deploy.id.clone(), deploy.fence, TaskFailure::MachineFailed, "no");
    let said = TaskAnswer { node_id: node.id.clone(), boot: 1, result: forged, report: None };
    let told = metal.world.say(&node, ToControl::Result(said));
    assert!(matches!(told, Ok(_) | Err(NodeRefusal::UnknownNode)), "{told:?}");
    assert_eq!(metal.state(&id), State::Running);
    released(&mut metal, &fleet, &id);
    assert_eq!(fleet.installations(&metal.id), 2, "never twice for one order");
    assert_eq!(metal.world.slots_in(SlotState::Available), 8);
}

#[test]
fn a_crash_at_any_moment_is_harmless() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let id = metal.launch();
    let mut round = 0;
    while metal.state(&id) != State::Released {
        round += 1;
        assert!(round < 2_000, "{:#?}", metal.told());
        metal.restart();
        if metal.state(&id) == State::Running {
            metal.world.release(&id).unwrap();
        }
        metal.ten_seconds(&fleet);
    }
    assert_eq!(fleet.installations(&metal.id), 2);
    metal.until(&fleet, "eight proved slots", |metal| metal.world.slots_in(SlotState::Available) == 8);
    metal.world.check_history();
}

#[test]
fn a_replica_that_does_not_lead_leaves_machines_alone() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let id = metal.launch();
    metal.world.plane.resign();
    let step = metal.machine_step();
    assert_eq!((step.orders, fleet.installations(&metal.id)), (0, 0));
    metal.restart();
    metal.until_state(&fleet, &id, State::Running);
}

#[test]
fn what_came_back_different_is_not_sold() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let id = running(&mut metal, &fleet);
    let drift = |metal: &Metal, drifted: bool| {
        metal
            .world
            .write(move |tx, stamp| {
                let slot = slots::list(tx, None, None, store::Page::first(1))?.remove(0);
                let seen = drifted.then(|| DriftSeen {
                    field: "nvme_identity".into(),
                    kind: "disk_identity".into(),
                    approved: "eui.1".into(),
                    seen: "eui.2".into(),
                    detail: "The disk is another one.".into(),
                });
                drifts::replace(tx, &slot.id, SaidBy::Plan, seen.as_slice(), stamp.now)?;
                slots::set_drifted(tx, stamp, &slot, drifted).map(drop)
            })
            .unwrap();
    };
    drift(&metal, true);
    metal.world.release(&id).unwrap();
    metal.until(&fleet, "an operator is waited for", |metal| {
        metal.world.allocation(&id).life.wait.is_some_and(|wait| wait.code == "reclaim_needs_operator")
    });
    let tried = of_kind(&metal, &id, TaskKind::MachineReclaim);
    assert_eq!(tried.len(), 5);
    let why = tried[4].result.clone().unwrap();
    assert_eq!(why.failure, Some(TaskFailure::MachineDrifted), "{}", why.detail);
    assert_eq!(fleet.installations(&metal.id), 2, "looking again needs no new installation");
    assert_eq!(metal.world.slots_in(SlotState::Available), 0);
    assert!(of_kind(&metal, &id, TaskKind::SliceVmRelease).is_empty());
    // An operator looks, puts it right and has it tried again.
    drift(&metal, false);
    let desk = Desk::new(&metal);
    let (status, answer) = desk.post(&metal, &format!("/api/v1/admin/nodes/{}/repair", metal.node_id()), None);
    assert_eq!(status, 200, "{answer}");
    metal.until_state(&fleet, &id, State::Released);
}

#[test]
fn an_operator_can_end_an_allocation_whose_machine_is_not_back_and_the_machine_still_comes_back() {
    both_engines(|db| {
        let (mut metal, fleet) = Metal::new(db);
        let id = running(&mut metal, &fleet);
        metal.patience.budgets.erase_s = 1_800;
        metal.restart();
        fleet.plan(Call::Release, None, Mishap::Hangs);
        metal.world.release(&id).unwrap();
        metal.world.force_release(&id, "the provider does not answer");
        metal.world.settle();
        metal.world.settle();
        assert_eq!(metal.state(&id), State::Released);
        assert_eq!((metal.world.active_claims(), metal.world.slots_in(SlotState::CleanupBlocked)), (0, 8));
        assert!(metal.node().handed_over.is_some(), "a tenant may still have it");
        let node = metal.node_id();
        assert_eq!(metal.world.read(move |tx| claims::occupancy(tx, &node)), OccupancyMode::Free);
        // The release that hangs is given up after its budget; the machine is broken until a person has looked.
        metal.until(&fleet, "the order ended", |metal| {
            of_kind(metal, &id, TaskKind::MachineReclaim).iter().all(|task| task.state.is_terminal())
        });
        assert!(of_kind(&metal, &id, TaskKind::SliceVmRelease).is_empty(), "nobody is there to wipe");
        fleet.put(machine(MachineStatus::Ready));
        let desk = Desk::new(&metal);
        let (status, answer) = desk.post(&metal, &format!("/api/v1/admin/nodes/{}/repair", metal.node_id()), None);
        assert_eq!(status, 200, "{answer}");
        metal.until(&fleet, "eight proved slots", |metal| metal.world.slots_in(SlotState::Available) == 8);
        assert!(metal.node().handed_over.is_none());
        metal.world.check_history();
    });
}

#[test]
fn a_strangers_machine_is_not_taken_from_him() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let mut strange = machine(MachineStatus::Deployed);
    strange.mark = Some("somebody-else".to_owned());
    fleet.put(strange);
    let id = metal.launch();
    metal.until(&fleet, "a failed deploy", |metal| {
        of_kind(metal, &id, TaskKind::MachineDeploy).iter().any(|task| task.state == TaskState::Failed)
    });
    metal.until(&fleet, "an operator is waited for", |metal| {
        metal.world.allocation(&id).life.wait.is_some_and(|wait| wait.code == "reclaim_needs_operator")
    });
    let seen = metal.block_on(fleet.machine(&metal.id)).unwrap();
    assert_eq!((seen.status, seen.mark.as_deref()), (MachineStatus::Deployed, Some("somebody-else")));
    assert_eq!(metal.world.slots_in(SlotState::Available), 0);
}

#[test]
fn given_back_before_the_machine_was_it_is_its_agent_that_wipes() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let id = metal.world.allocation_id();
    metal.world.try_launch(&id, &metal.world.bare_metal, 8).unwrap();
    metal.world.step();
    metal.world.release(&id).unwrap();
    metal.world.settle();
    if of_kind(&metal, &id, TaskKind::MachineDeploy).is_empty() {
        metal.until_state(&fleet, &id, State::Released);
        assert_eq!(fleet.installations(&metal.id), 0);
    } else {
        // The order was quicker: then the whole way is gone.
        metal.until_state(&fleet, &id, State::Released);
        assert_eq!(of_kind(&metal, &id, TaskKind::MachineReclaim).len(), 1);
    }
    metal.until(&fleet, "eight proved slots", |metal| metal.world.slots_in(SlotState::Available) == 8);
}

#[test]
fn tags_follow_the_platform_and_everything_else_is_only_shown() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let desk = Desk::new(&metal);
    let mut other = machine(MachineStatus::Ready);
    other.id = "m-02".parse().unwrap();
    other.hostname = "lonely".to_owned();
    fleet.put(other);
    let mut tagged = metal.block_on(fleet.machine(&metal.id)).unwrap();
    tagged.tags = ["rack-7".to_owned()].into();
    fleet.put(tagged);
    let (status, said) = desk.post(&metal, "/api/v1/admin/machines/sync", None);
    assert_eq!(status, 204, "{said}");
    metal.ten_seconds(&fleet);
    let seen = metal.block_on(fleet.machine(&metal.id)).unwrap();
    let tags: Vec<&str> = seen.tags.iter().map(String::as_str).collect();
    assert_eq!(tags, ["gpuaas-profile-slice-vm", "rack-7"]);
    let (status, listed) = desk.get(&metal, "/api/v1/admin/machines");
    assert_eq!(status, 200, "{listed}");
    let items = listed["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0]["machine"], format!("sim/{MACHINE}"));
    assert_eq!(items[0]["node_id"], json!(metal.node_id()));
    assert_eq!(items[0]["findings"], json!([]), "{listed}");
    let unknown = items[1]["findings"][0].as_str().unwrap();
    assert!(unknown.contains("lonely") && unknown.contains("does not know"), "{unknown}");
    let (_, providers) = desk.get(&metal, "/api/v1/admin/providers");
    assert_eq!(providers["items"][0]["name"], "sim");
    assert!(providers["items"][0]["fault"].is_null());
    // A machine that is gone, and a provider that does not answer.
    fleet.remove(&metal.id);
    desk.post(&metal, "/api/v1/admin/machines/sync", None);
    metal.ten_seconds(&fleet);
    let (_, listed) = desk.get(&metal, "/api/v1/admin/machines");
    let gone = &listed["items"][0];
    assert_eq!(gone["status"], "Not there");
    assert!(gone["findings"][0].as_str().unwrap().contains("node-0"), "{listed}");
    fleet.plan(Call::List, None, Mishap::Refused(Fault::Unauthorized));
    desk.post(&metal, "/api/v1/admin/machines/sync", None);
    metal.ten_seconds(&fleet);
    let (_, providers) = desk.get(&metal, "/api/v1/admin/providers");
    assert!(providers["items"][0]["fault"].as_str().unwrap().contains("key"), "{providers}");
}

#[test]
fn a_node_is_linked_by_its_serial_number_or_by_an_operator() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let desk = Desk::new(&metal);
    let update = |metal: &Metal, machine: &str| {
        let path = format!("/api/v1/admin/nodes/{}", metal.node_id());
        desk.patch(metal, &path, metal.node().version, json!({ "machine": machine }))
    };
    let (status, said) = update(&metal, "");
    assert_eq!((status, metal.node().machine), (200, None), "{said}");
    assert_eq!(update(&metal, "nobody/m-01").1["code"], "unknown_reference");
    assert_eq!(update(&metal, "no slash").1["code"], "invalid_body");
    let id = metal.node_id();
    metal
        .world
        .write(move |tx, stamp| {
            let node = nodes::get(tx, &id)?.unwrap();
            nodes::set_identity(tx, stamp, &node, &node.public_key, Some("SN-7")).map(drop)
        })
        .unwrap();
    let mut mine = machine(MachineStatus::Deployed);
    mine.serial = Some("SN-7".to_owned());
    fleet.put(mine);
    desk.post(&metal, "/api/v1/admin/machines/sync", None);
    metal.ten_seconds(&fleet);
    assert_eq!(metal.node().machine.unwrap().machine_id, MACHINE);
    let running = running(&mut metal, &fleet);
    assert_eq!(update(&metal, "").0, 409, "a tenant has it");
    released(&mut metal, &fleet, &running);
    assert_eq!(update(&metal, "").0, 200);
}

#[test]
fn a_node_is_turned_from_slices_to_bare_metal_and_back() {
    both_engines(|db| {
        let (mut metal, fleet) = Metal::new(db);
        let desk = Desk::new(&metal);
        let path = format!("/api/v1/admin/nodes/{}/convert", metal.node_id());
        let held = metal.world.run(2);
        let (status, shown) = desk.post(&metal, &path, Some(json!({ "to": "gpuaas-profile-baremetal" })));
        assert_eq!(status, 200, "{shown}");
        assert_eq!(shown["profiles"], json!([]));
        assert_eq!(shown["converting_to"], "gpuaas-profile-baremetal");
        assert_eq!(desk.post(&metal, &path, Some(json!({ "to": "gpuaas-profile-baremetal" }))).0, 409);
        metal.ten_seconds(&fleet);
        let waiting = metal.node();
        assert!(waiting.promoted.is_none());
        assert_eq!(waiting.life.wait.unwrap().code, "conversion_holders");
        let refused = metal.launch();
        assert_eq!(metal.state(&refused), State::Refused, "nothing new comes onto it");
        released(&mut metal, &fleet, &held);
        metal.until(&fleet, "the conversion's end", |metal| metal.node().converting.is_none());
        let node = metal.node();
        assert_eq!(node.profiles, r#"["gpuaas-profile-baremetal"]"#);
        assert!(node.promoted.is_none() && node.readiness.is_none(), "evidence is asked for again");
        assert_eq!(node.desired.as_str(), "in_service");
        let whole = running(&mut metal, &fleet);
        released(&mut metal, &fleet, &whole);
        assert_eq!(desk.post(&metal, &path, Some(json!({ "to": "gpuaas-profile-slice-vm" }))).0, 200);
        metal.until(&fleet, "the conversion's end", |metal| metal.node().converting.is_none());
        let promote = format!("/api/v1/admin/nodes/{}/promote", metal.node_id());
        let (status, said) = desk.post(&metal, &promote, None);
        assert_eq!(status, 409, "{said}");
        assert!(said.to_string().contains("readiness"), "{said}");
        metal.world.check_history();
    });
}

#[test]
fn the_timeline_tells_the_whole_way() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    let id = running(&mut metal, &fleet);
    released(&mut metal, &fleet, &id);
    let desk = Desk::new(&metal);
    let (status, told) = desk.get(&metal, &format!("/api/v1/allocations/{id}/timeline?page_size=100"));
    assert_eq!(status, 200, "{told}");
    let steps: Vec<String> = told["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {}", entry["step"].as_str().unwrap(), entry["state"].as_str().unwrap()))
        .collect();
    let place =
        |wanted: &str| steps.iter().position(|step| step == wanted).unwrap_or_else(|| panic!("{wanted}: {steps:#?}"));
    let way = ["machine_free begun", "machine_install begun", "machine_install done", "running done"];
    assert!(way.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{steps:#?}");
    let back = [
        "running done",
        "machine_enroll begun",
        "machine_look begun",
        "machine_look done",
        "proof done",
        "released done",
    ];
    assert!(back.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{steps:#?}");
}

#[test]
fn a_look_that_is_overdue_is_no_alert_while_a_tenant_has_the_machine() {
    let (mut metal, fleet) = Metal::new(store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap());
    running(&mut metal, &fleet);
    metal.world.advance_s(3600);
    metal.world.settle();
    metal.world.advance_s(3600);
    let report = metal.world.step();
    assert_eq!(report.waits_over_budget, 0);
    let census = metal.world.read(|tx| living::census(tx, Living::Nodes));
    assert_eq!(census, [("handed_over".to_owned(), 1)], "and it is not counted among the silent");
    let next = metal.world.read(|tx| living::next_look(tx, Living::Nodes));
    assert!(next.is_some());
}

/// The front door with an operator's token.
struct Desk {
    door: FrontDoor,
    secret: String,
}

impl Desk {
    fn new(metal: &Metal) -> Self {
        let world = &metal.world;
        let config = FrontDoorConfig { authority_sha256: Some("ab".repeat(32)), ..FrontDoorConfig::default() };
        let door = FrontDoor::new(world.ports.clone(), config).unwrap();
        let ports = world.ports.clone();
        let made = world.write(move |tx, stamp| {
            let email = "root@platform.example".parse().unwrap();
            bootstrap::first_operator(tx, stamp, &ports, &email, (30 * 86_400).try_into().unwrap())
        });
        Self { door, secret: made.unwrap().unwrap().secret.reveal().to_owned() }
    }

    fn send(&self, metal: &Metal, request: Request) -> (u16, Value) {
        let world = &metal.world;
        let key: String = world.ports.id_bits().iter().map(|byte| format!("{byte:02x}")).collect();
        let response = self.door.perform(&world.db, request.bearer(&self.secret).key(&key));
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }

    fn get(&self, metal: &Metal, path: &str) -> (u16, Value) {
        let response = self.door.perform(&metal.world.db, Request::new("GET", path).bearer(&self.secret));
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }

    fn post(&self, metal: &Metal, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = Request::new("POST", path);
        self.send(metal, if let Some(body) = body { request.json(body.to_string()) } else { request })
    }

    fn patch(&self, metal: &Metal, path: &str, version: i64, body: Value) -> (u16, Value) {
        let request = Request::new("PATCH", path).json(body.to_string()).if_match(version);
        let response = self.door.perform(&metal.world.db, request.bearer(&self.secret));
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }
}
