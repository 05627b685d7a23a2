//! The same way with a MAAS server that follows its published API: slow installations, errors of proxies, and answers that are
//! lost. What the server was told is what a real host would find.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use model::{
    AllocationId,
    allocation::State,
    supply::SlotState,
    task::{TaskKind, TaskState},
};

use crate::{
    metal::{MACHINE, Metal, token_in},
    server::{Quirk, Server},
    world::World,
};

const DEPLOYED: i64 = 6;

struct Rack {
    metal: Metal,
    server: Arc<Server>,
}

impl Rack {
    fn new() -> Self {
        let db = store::Db::open(&store::DbConfig::new("sqlite::memory:")).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = Arc::new(runtime.block_on(Server::start()));
        server.add(MACHINE);
        server.change(MACHINE, |node| {
            node.take("a-person", "");
            node.status = DEPLOYED;
        });
        let mut metal = Metal::on(World::new(db, 1), Arc::new(server.hasty_client()));
        metal.keep(runtime);
        Self { metal, server }
    }

    fn ten_seconds(&mut self) {
        self.metal.world.advance_s(10);
        let node = self.server.node(MACHINE);
        let told = node.deployed_with.get("user_data").map(|text| STANDARD.decode(text).unwrap());
        let installed = told.filter(|_| node.status == DEPLOYED).map(|told| token_in(&told));
        self.metal.play_host(installed);
        self.metal.world.settle();
        self.metal.machine_step();
        self.metal.world.advance_s(1);
        self.metal.world.settle();
    }

    fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        for _ in 0..400 {
            if so(self) {
                return;
            }
            self.ten_seconds();
        }
        panic!("it never came to this: {what}; {:#?}; {:?}", self.metal.told(), self.server.state().log);
    }

    fn until_state(&mut self, id: &AllocationId, state: State) {
        let wanted = id.clone();
        self.until(state.as_str(), move |rack| rack.metal.state(&wanted) == state);
    }
}

#[test]
fn a_machine_goes_to_a_tenant_and_back_through_maas() {
    let mut rack = Rack::new();
    let id = rack.metal.launch();
    rack.until_state(&id, State::Running);
    let node = rack.server.node(MACHINE);
    let deploy = rack.metal.world.orders(&id)[0].id.to_string();
    assert_eq!(node.agent_name, deploy, "the order's id is the mark");
    assert_eq!(
        (node.deployed_with["osystem"].as_str(), node.deployed_with["distro_series"].as_str()),
        ("ubuntu", "noble")
    );
    assert_eq!((node.released_with["erase"].as_str(), node.released_with["secure_erase"].as_str()), ("true", "true"));
    rack.metal.world.release(&id).unwrap();
    rack.until_state(&id, State::Released);
    rack.until("eight proved slots", |rack| rack.metal.world.slots_in(SlotState::Available) == 8);
    let node = rack.server.node(MACHINE);
    assert_eq!(
        (node.deployed_with["osystem"].as_str(), node.deployed_with["distro_series"].as_str()),
        ("custom", "gpuaas-host")
    );
    assert_eq!(node.installations, 2);
    assert_eq!(node.tags.iter().map(String::as_str).collect::<Vec<_>>(), ["gpuaas-profile-slice-vm"]);
    rack.metal.world.check_history();
}

#[test]
fn errors_slow_calls_and_lost_answers_are_lived_through() {
    let mut rack = Rack::new();
    let trouble = |rack: &Rack| {
        let server = &rack.server;
        server.plan("read", Quirk::Says(503, "Service Unavailable"));
        server.plan("read", Quirk::Says(502, "Bad Gateway"));
        server.plan("release", Quirk::Says(504, "Gateway Time-out"));
        server.plan("release", Quirk::DoneThenCut);
        server.plan("allocate", Quirk::DoneThenCut);
        server.plan("deploy", Quirk::Says(503, "Service Unavailable"));
        server.plan("deploy", Quirk::DoneSilently);
        server.plan("read", Quirk::Body(b"<html>proxy</html>".to_vec()));
    };
    trouble(&rack);
    let id = rack.metal.launch();
    rack.until_state(&id, State::Running);
    trouble(&rack);
    rack.metal.world.release(&id).unwrap();
    rack.until_state(&id, State::Released);
    rack.until("eight proved slots", |rack| rack.metal.world.slots_in(SlotState::Available) == 8);
    assert_eq!(rack.server.node(MACHINE).installations, 2, "never twice for one order");
    let orders = rack.metal.world.orders(&id);
    let of_kind = |kind| orders.iter().filter(|task| task.kind == kind).count();
    assert_eq!((of_kind(TaskKind::MachineDeploy), of_kind(TaskKind::MachineReclaim)), (1, 1));
    rack.metal.world.check_history();
}

#[test]
fn a_key_that_is_not_known_is_waited_for_and_a_machine_that_is_gone_is_not() {
    let mut rack = Rack::new();
    for _ in 0..5 {
        rack.server.plan("read", Quirk::Says(401, "Authorization Error"));
    }
    let id = rack.metal.launch();
    rack.until_state(&id, State::Running);
    rack.server.state().nodes.remove(MACHINE);
    rack.metal.world.release(&id).unwrap();
    // The host is gone with the machine.
    for _ in 0..400 {
        let waits =
            rack.metal.world.allocation(&id).life.wait.is_some_and(|wait| wait.code == "reclaim_needs_operator");
        if waits {
            break;
        }
        rack.metal.world.advance_s(10);
        rack.metal.world.settle();
        rack.metal.machine_step();
        rack.metal.world.settle();
    }
    let last = rack.metal.world.orders(&id).pop().unwrap();
    assert_eq!((last.kind, last.state), (TaskKind::MachineReclaim, TaskState::Failed));
    assert!(last.result.unwrap().detail.contains("expected to know machine"));
    assert_eq!(rack.metal.world.slots_in(SlotState::Available), 0);
}
