//! Every call of the MAAS client against a server that follows the published API: what it sends, what it reads, and that
//! doing it twice is doing it once.

use crate::server::{Quirk, Server, status_name};
use machines::{
    BreakOrder, Budgets, DeployOrder, Elapsed, Erase, Fault, Hold, KnownMachine, MachineProvider, MachineStatus,
    OrderMark, PowerState, ProviderId, ReleaseOrder, Step, TagName, UserData, Wanted, drift, maas::Maas, next_step,
};
use model::supply::NodeProfile;

fn mark() -> OrderMark {
    "alloc_01".parse().unwrap()
}

fn order() -> DeployOrder {
    let data = UserData::try_from(b"#cloud-config\nssh_authorized_keys: [ssh-ed25519 AAAA me]\n".to_vec()).unwrap();
    DeployOrder::new(mark(), "custom", "h200-host", data).unwrap().with_kernel("hwe-22.04").unwrap()
}

fn giving_back(erase: Erase) -> ReleaseOrder {
    ReleaseOrder { held_by: Some(mark()), erase, comment: "order ended & gone".to_owned() }
}

/// Does what it is told until it comes to rest. Time is counted in looks: a minute each.
async fn walk(provider: &dyn MachineProvider, id: &ProviderId, wanted: &Wanted) -> Step {
    let mut last: Option<(MachineStatus, i64)> = None;
    for look in 0..200 {
        let Ok(seen) = provider.machine(id).await else { continue };
        let since = match &last {
            Some((status, since)) if *status == seen.status => *since,
            _ => look,
        };
        last = Some((seen.status.clone(), since));
        let elapsed = Elapsed { in_status_s: (look - since) * 60, since_wanted_s: look * 60 };
        let step = next_step(wanted, &seen, elapsed, &Budgets::default());
        // A call that failed is tried again at the next look.
        let _ = match &step {
            Step::Rest | Step::GiveUp(_) => return step,
            Step::Wait { .. } => continue,
            Step::Allocate => provider.allocate(id, &mark()).await,
            Step::Deploy => provider.deploy(id, &order()).await,
            Step::Release { erase } => provider.release(id, &giving_back(*erase)).await,
            Step::MarkBroken(trouble) => {
                let order = BreakOrder { held_by: Some(mark()), comment: trouble.to_string() };
                provider.mark_broken(id, &order).await
            }
        };
    }
    panic!("it never comes to rest")
}

async fn taken() -> (Server, Maas, ProviderId) {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    client.allocate(&id, &mark()).await.unwrap();
    (server, client, id)
}

#[tokio::test]
async fn machines_are_listed_as_they_are() {
    let server = Server::start().await;
    server.add("abc123");
    server.add("def456");
    server.change("def456", |node| {
        node.hostname = "evil\u{1b}[2J\r\n\u{202e}host<script>".to_owned();
        node.serial = "Unknown".to_owned();
        node.tags.insert(NodeProfile::Baremetal.as_str().to_owned());
        node.take("somebody", "");
    });
    let listed = server.client().list().await.unwrap();
    assert_eq!(listed.iter().map(|machine| machine.id.as_str()).collect::<Vec<_>>(), ["abc123", "def456"]);
    let (first, second) = (&listed[0], &listed[1]);
    assert_eq!((first.serial.as_deref(), first.owner.as_deref()), (Some("SN-abc123"), None));
    assert_eq!((first.pool.as_deref(), first.zone.as_deref()), (Some("default"), Some("east")));
    assert_eq!((&first.status, first.power, first.gpus), (&MachineStatus::Ready, PowerState::Off, None));
    assert_eq!((second.serial.as_deref(), second.owner.as_deref()), (None, Some("somebody")));
    assert_eq!(second.profiles(), [NodeProfile::Baremetal]);
    assert_eq!(second.hostname, "evil\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}host<script>");
}

#[tokio::test]
async fn every_status_of_the_api_is_known_and_any_other_is_kept_by_name() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    for number in 0..=22 {
        server.change("abc123", |node| node.status = number);
        let status = client.machine(&id).await.unwrap().status;
        assert!(!matches!(status, MachineStatus::Other(_)), "{number}");
        if !(16..=20).contains(&number) {
            assert_eq!(status.name(), status_name(number));
        }
    }
    for number in [23, 99, -1, i64::MAX] {
        server.change("abc123", |node| node.status = number);
        assert_eq!(client.machine(&id).await.unwrap().status, MachineStatus::Other("Melted".to_owned()), "{number}");
    }
}

#[tokio::test]
async fn a_machine_goes_out_with_what_was_ordered_and_comes_back_erased() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    assert_eq!(walk(&client, &id, &Wanted::Deployed { mark: mark() }).await, Step::Rest);
    let node = server.node("abc123");
    let sent = |name: &str| node.deployed_with.get(name).map(String::as_str);
    assert_eq!((sent("osystem"), sent("distro_series")), (Some("custom"), Some("h200-host")));
    assert_eq!((sent("hwe_kernel"), sent("comment")), (Some("hwe-22.04"), Some("gpuaas order alloc_01")));
    assert!(sent("user_data").unwrap().starts_with("I2Nsb3VkLWNvbmZpZw"));
    assert_eq!((node.annotations["gpuaas-order"].as_str(), node.agent_name.as_str()), ("alloc_01", "alloc_01"));
    let free = Wanted::Free { held_by: Some(mark()), erase: Erase::Secure };
    assert_eq!(walk(&client, &id, &free).await, Step::Rest);
    let node = server.node("abc123");
    let sent = |name: &str| node.released_with.get(name).map(String::as_str);
    assert_eq!((sent("erase"), sent("secure_erase"), sent("quick_erase")), (Some("true"), Some("true"), Some("false")));
    assert_eq!(sent("comment"), Some("order ended & gone"));
    assert_eq!((node.status, node.annotations.len(), node.installations), (4, 0, 1));
}

#[tokio::test]
async fn each_way_to_erase_is_said_in_full() {
    for (erase, wanted) in [
        (Erase::None, ["false", "false", "false"]),
        (Erase::Quick, ["true", "false", "true"]),
        (Erase::Secure, ["true", "true", "false"]),
    ] {
        let (server, client, id) = taken().await;
        client.release(&id, &giving_back(erase)).await.unwrap();
        let sent = server.node("abc123").released_with;
        assert_eq!(["erase", "secure_erase", "quick_erase"].map(|name| sent[name].as_str()), wanted);
    }
}

#[tokio::test]
async fn every_call_can_be_repeated() {
    let (server, client, id) = taken().await;
    client.allocate(&id, &mark()).await.unwrap();
    assert_eq!(server.calls("allocate"), 1);
    for _ in 0..3 {
        client.deploy(&id, &order()).await.unwrap();
    }
    client.allocate(&id, &mark()).await.unwrap();
    assert_eq!((server.calls("deploy"), server.node("abc123").installations), (1, 1));
    for _ in 0..3 {
        client.release(&id, &giving_back(Erase::Secure)).await.unwrap();
    }
    assert_eq!(server.calls("release"), 1);
    let order = BreakOrder { held_by: None, comment: "bad fan".to_owned() };
    for _ in 0..3 {
        assert_eq!(client.mark_broken(&id, &order).await.unwrap().message, "bad fan");
    }
    assert_eq!(server.calls("mark_broken"), 1);
}

#[tokio::test]
async fn a_lost_answer_never_deploys_twice() {
    for lost in ["hangs", "cut", "hangs before"] {
        let (server, _, id) = taken().await;
        let client = server.hasty_client();
        server.plan(
            "deploy",
            match lost {
                "hangs" => Quirk::DoneSilently,
                "cut" => Quirk::DoneThenCut,
                _ => Quirk::Silent,
            },
        );
        let fault = client.deploy(&id, &order()).await.unwrap_err();
        assert!(matches!(fault, Fault::TimedOut { .. } | Fault::Unreachable { .. }), "{fault}");
        assert!(fault.may_try_again());
        assert_eq!(client.deploy(&id, &order()).await.unwrap().status, MachineStatus::Deploying, "{lost}");
        assert_eq!(server.node("abc123").installations, 1, "{lost}");
    }
}

#[tokio::test]
async fn an_allocation_whose_answer_was_lost_is_recognised() {
    for quirk in [Quirk::DoneSilently, Quirk::DoneThenCut] {
        let server = Server::start().await;
        let (client, id) = (server.hasty_client(), server.add("abc123"));
        server.plan("allocate", quirk);
        assert!(client.allocate(&id, &mark()).await.unwrap_err().may_try_again());
        assert!(server.node("abc123").annotations.is_empty());
        assert!(client.allocate(&id, &mark()).await.unwrap().carries(&mark()));
        assert_eq!(server.calls("allocate"), 1);
    }
}

#[tokio::test]
async fn a_machine_taken_by_hand_with_the_same_key_is_not_ours() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.change("abc123", |node| node.take("gpuaas", ""));
    let fault = client.allocate(&id, &mark()).await.unwrap_err();
    assert!(matches!(fault, Fault::Conflict { .. }), "{fault}");
    assert!(server.node("abc123").annotations.is_empty());
}

#[tokio::test]
async fn a_filter_that_the_server_ignores_proves_nothing() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.add("def456");
    server.change("abc123", |node| node.take("gpuaas", ""));
    let all = format!("[{},{}]", server.node("abc123").json(), server.node("def456").json());
    server.plan("list", Quirk::Body(all.into_bytes()));
    assert!(matches!(client.allocate(&id, &mark()).await, Err(Fault::Conflict { .. })));
}

#[tokio::test]
async fn somebody_else_s_machine_is_never_touched() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    for status in [10, 9, 6, 11] {
        server.change("abc123", |node| {
            node.take("gpuaas", "alloc_02");
            node.annotations.insert("gpuaas-order".to_owned(), "alloc_02".to_owned());
            node.status = status;
        });
        let breaking = BreakOrder { held_by: Some(mark()), comment: String::new() };
        let faults = [
            client.allocate(&id, &mark()).await.unwrap_err(),
            client.deploy(&id, &order()).await.unwrap_err(),
            client.release(&id, &giving_back(Erase::Secure)).await.unwrap_err(),
            client.mark_broken(&id, &breaking).await.unwrap_err(),
        ];
        for fault in faults {
            assert!(fault.to_string().contains("it carries the mark alloc_02"), "{fault}");
        }
    }
    for operation in ["allocate", "deploy", "release", "mark_broken", "set_workload_annotations"] {
        assert_eq!(server.calls(operation), 0, "{operation}");
    }
}

#[tokio::test]
async fn a_free_machine_is_not_deployed_without_being_taken() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    assert!(matches!(client.deploy(&id, &order()).await, Err(Fault::Conflict { status, .. }) if status == "Ready"));
    assert_eq!(server.node("abc123").installations, 0);
}

#[tokio::test]
async fn a_virtual_machine_made_instead_is_given_back() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.plan("allocate", Quirk::Composes);
    let fault = client.allocate(&id, &mark()).await.unwrap_err();
    assert_eq!(fault, Fault::WrongMachine { expected: id, found: "vm9999".parse().unwrap(), given_back: true });
    assert_eq!(server.node("vm9999").status, 12);
    assert_eq!(server.node("abc123").status, 4);
}

#[tokio::test]
async fn a_change_that_answers_with_nothing_is_looked_up() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    for operation in ["set_workload_annotations", "deploy", "release"] {
        server.plan(operation, Quirk::DoneWithout);
    }
    assert!(client.allocate(&id, &mark()).await.unwrap().carries(&mark()));
    assert_eq!(client.deploy(&id, &order()).await.unwrap().status, MachineStatus::Deploying);
    assert_eq!(client.release(&id, &giving_back(Erase::Secure)).await.unwrap().status, MachineStatus::DiskErasing);
}

#[tokio::test]
async fn a_mark_counts_only_when_it_is_read_back() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.plan("set_workload_annotations", Quirk::DoneButOld);
    assert!(client.allocate(&id, &mark()).await.unwrap().carries(&mark()));
    let other = server.add("def456");
    server.change("def456", |node| node.take("gpuaas", "alloc_01"));
    let unmarked = server.node("def456").json().into_bytes();
    server.plan("set_workload_annotations", Quirk::Body(unmarked));
    let fault = client.allocate(&other, &mark()).await.unwrap_err();
    assert!(matches!(&fault, Fault::Conflict { expected, .. } if expected == "marked with this order"), "{fault}");
}

#[tokio::test]
async fn a_refusal_that_another_call_explains_is_none() {
    let (server, client, id) = taken().await;
    // Between our look and our call, an earlier call of ours arrives: the server refuses the second.
    server.plan("deploy", Quirk::Says(409, "Can't deploy a machine that is in the 'Deploying' state"));
    let fault = client.deploy(&id, &order()).await.unwrap_err();
    assert!(matches!(&fault, Fault::Conflict { status, .. } if status == "Allocated"), "{fault}");
    server.plan("read", Quirk::Body(server.node("abc123").json().into_bytes()));
    server.change("abc123", |node| (node.status, node.installations) = (9, 1));
    assert_eq!(client.deploy(&id, &order()).await.unwrap().status, MachineStatus::Deploying);
    assert_eq!(server.node("abc123").installations, 1);
}

#[tokio::test]
async fn a_failed_installation_ends_broken_and_is_not_tried_again() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.change("abc123", |node| node.deploys_to = 11);
    let end = walk(&client, &id, &Wanted::Deployed { mark: mark() }).await;
    assert!(matches!(end, Step::GiveUp(_)), "{end:?}");
    let node = server.node("abc123");
    assert_eq!((node.status, node.installations), (8, 1));
    assert_eq!(node.message, "the machine was expected to become Deployed, but it is Failed deployment");
}

#[tokio::test]
async fn disks_that_were_not_erased_never_come_back_free() {
    let (server, client, id) = taken().await;
    server.change("abc123", |node| node.erases_to = 15);
    let end = walk(&client, &id, &Wanted::Free { held_by: Some(mark()), erase: Erase::Secure }).await;
    assert!(matches!(end, Step::GiveUp(_)), "{end:?}");
    assert_eq!(server.node("abc123").status, 8);
}

#[tokio::test]
async fn tags_are_made_put_on_and_taken_off() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    let tag = TagName::from(NodeProfile::SliceVm);
    client.untag(&id, &tag).await.unwrap();
    for _ in 0..2 {
        client.tag(&id, &tag).await.unwrap();
    }
    assert_eq!(client.tags().await.unwrap(), [tag.as_str()]);
    assert_eq!(client.machine(&id).await.unwrap().profiles(), [NodeProfile::SliceVm]);
    assert_eq!(server.calls("tag_make"), 1);
    for _ in 0..2 {
        client.untag(&id, &tag).await.unwrap();
    }
    assert!(client.machine(&id).await.unwrap().tags.is_empty());
    let stranger: ProviderId = "zzz999".parse().unwrap();
    assert_eq!(client.tag(&stranger, &tag).await, Err(Fault::NotFound { what: "machine zzz999".to_owned() }));
    client.untag(&stranger, &tag).await.unwrap();
}

#[tokio::test]
async fn a_tag_that_somebody_else_just_made_is_used() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.plan("update_nodes", Quirk::Says(404, "No Tag matches the given query."));
    server.state().tags.insert("rack-7".to_owned());
    client.tag(&id, &"rack-7".parse().unwrap()).await.unwrap();
    assert!(server.node("abc123").tags.contains("rack-7"));
}

#[tokio::test]
async fn drift_is_seen_through_the_client() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.add("new777");
    client.tag(&id, &TagName::from(NodeProfile::SliceVm)).await.unwrap();
    let known = KnownMachine {
        id,
        node: "node-1".to_owned(),
        serial: Some("SN-other".to_owned()),
        profile: NodeProfile::Baremetal,
        hold: Hold::Order(mark()),
        gpus: Some(8),
    };
    let said: Vec<String> = drift(&client.list().await.unwrap(), &[known]).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "machine new777 (host-new777) was expected to be a node, but the platform does not know it",
            "machine abc123 was expected to have serial SN-other, but the provider says SN-abc123",
            "machine abc123 was expected to be tagged gpuaas-profile-baremetal, but it is tagged gpuaas-profile-slice-vm",
            "machine abc123 was expected to be Deployed for alloc_01, but it is Ready",
        ]
    );
}
