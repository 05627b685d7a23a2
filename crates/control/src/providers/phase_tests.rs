//! Every decision about one order to a provider: whose machine is touched, what is done once, and what ends it.

#![allow(clippy::unwrap_used)]
use super::*;
use machines::PowerState;

fn seen(status: MachineStatus, mark: Option<&str>) -> Machine {
    Machine {
        id: "abc123".parse().unwrap(),
        hostname: "host".to_owned(),
        serial: None,
        status,
        message: String::new(),
        power: PowerState::On,
        tags: BTreeSet::new(),
        pool: None,
        zone: None,
        owner: None,
        mark: mark.map(str::to_owned),
        locked: false,
        gpus: None,
    }
}

struct Ground {
    mark: OrderMark,
    ours: BTreeSet<String>,
    budgets: Budgets,
}

impl Ground {
    fn new() -> Self {
        let ours = ["tsk_deploy", "tsk_before"].map(str::to_owned).into_iter().collect();
        Self { mark: "tsk_mine".parse().unwrap(), ours, budgets: Budgets::default() }
    }
    fn facts<'a>(&'a self, deploy: bool, phase: Phase, looked: &'a Looked) -> Facts<'a> {
        Facts {
            deploy,
            mark: &self.mark,
            ours: &self.ours,
            installed: None,
            phase,
            in_phase_s: 0,
            elapsed: Elapsed::default(),
            enrolled: false,
            online: false,
            looked,
            erase: Erase::Secure,
            budgets: &self.budgets,
            host: HostBudgets::default(),
        }
    }
}

fn failed(what: &Do) -> Option<TaskFailure> {
    match what {
        Do::Fail(failure, detail) => {
            assert!(detail.contains("expected"), "{detail}");
            Some(*failure)
        }
        _ => None,
    }
}

#[test]
fn whoever_of_us_has_it_gives_it_back_and_a_stranger_does_not() {
    let ground = Ground::new();
    for deploy in [true, false] {
        let facts = ground.facts(deploy, Phase::Free, &Looked::NotOrdered);
        let held = seen(MachineStatus::Deployed, Some("tsk_deploy"));
        assert_eq!(decide(&held, &facts), Do::Release(Some("tsk_deploy".parse().unwrap())));
        assert_eq!(decide(&seen(MachineStatus::Deployed, None), &facts), Do::Release(None), "installed by a person");
        let strange = decide(&seen(MachineStatus::Deployed, Some("somebody")), &facts);
        assert_eq!(failed(&strange), Some(TaskFailure::MachineFailed), "{strange:?}");
        assert!(matches!(decide(&seen(MachineStatus::DiskErasing, None), &facts), Do::Wait(_)));
        assert_eq!(decide(&seen(MachineStatus::Ready, None), &facts), Do::Enter(Phase::Install));
        let mine = seen(MachineStatus::Allocated, Some("tsk_mine"));
        assert_eq!(decide(&mine, &facts), Do::Enter(Phase::Install), "a crash after it was taken");
    }
}

#[test]
fn a_machine_is_taken_and_installed_once() {
    let ground = Ground::new();
    for deploy in [true, false] {
        let facts = ground.facts(deploy, Phase::Install, &Looked::NotOrdered);
        assert_eq!(decide(&seen(MachineStatus::Ready, None), &facts), Do::Allocate);
        assert_eq!(decide(&seen(MachineStatus::Allocated, Some("tsk_mine")), &facts), Do::Deploy);
        assert!(matches!(decide(&seen(MachineStatus::Deploying, Some("tsk_mine")), &facts), Do::Wait(_)));
        let done = if deploy { Do::Succeed } else { Do::Enter(Phase::Enroll) };
        assert_eq!(decide(&seen(MachineStatus::Deployed, Some("tsk_mine")), &facts), done);
        let late = seen(MachineStatus::Allocated, Some("tsk_before"));
        assert_eq!(decide(&late, &facts), Do::Enter(Phase::Free), "a late call of an earlier order");
        let broken = decide(&seen(MachineStatus::Broken, None), &facts);
        assert_eq!(failed(&broken), Some(TaskFailure::MachineFailed));
    }
}

#[test]
fn an_installation_that_fails_or_never_ends_is_given_up() {
    let ground = Ground::new();
    let unlucky = seen(MachineStatus::FailedDeployment, Some("tsk_mine"));
    let deploy = ground.facts(true, Phase::Install, &Looked::NotOrdered);
    assert_eq!(failed(&decide(&unlucky, &deploy)), Some(TaskFailure::MachineFailed), "taken back next");
    let reclaim = ground.facts(false, Phase::Install, &Looked::NotOrdered);
    assert!(matches!(decide(&unlucky, &reclaim), Do::MarkBroken(_)), "a person must look");
    let hanging = seen(MachineStatus::Deploying, Some("tsk_mine"));
    let long = Elapsed { in_status_s: ground.budgets.deploy_s, since_wanted_s: ground.budgets.deploy_s };
    assert!(failed(&decide(&hanging, &Facts { elapsed: long, ..deploy })).is_some());
    assert!(matches!(decide(&hanging, &Facts { elapsed: long, ..reclaim }), Do::MarkBroken(_)));
}

#[test]
fn a_host_that_came_back_is_enrolled_and_looked_at_and_only_then_the_platforms() {
    let ground = Ground::new();
    let mine = seen(MachineStatus::Deployed, Some("tsk_mine"));
    let enroll = ground.facts(false, Phase::Enroll, &Looked::NotOrdered);
    assert!(matches!(decide(&mine, &enroll), Do::Wait(_)));
    assert_eq!(decide(&mine, &Facts { enrolled: true, ..enroll.clone() }), Do::Enter(Phase::Look));
    let late = Facts { in_phase_s: enroll.host.enroll_s, ..enroll.clone() };
    assert!(failed(&decide(&mine, &late)).is_some());
    assert_eq!(
        decide(&seen(MachineStatus::Broken, None), &enroll),
        Do::Enter(Phase::Install),
        "it is looked into there"
    );
    let look =
        |looked, online| Facts { installed: Some("tsk_mine"), online, ..ground.facts(false, Phase::Look, looked) };
    assert!(matches!(decide(&mine, &look(&Looked::NotOrdered, false)), Do::Wait(_)));
    assert_eq!(decide(&mine, &look(&Looked::NotOrdered, true)), Do::OrderLooks);
    assert!(matches!(decide(&mine, &look(&Looked::Waiting, true)), Do::Wait(_)));
    assert_eq!(decide(&mine, &look(&Looked::AsApproved, true)), Do::Succeed);
    assert!(matches!(decide(&mine, &look(&Looked::AsApproved, false)), Do::Wait(_)), "it is heard of");
    let drifted = Looked::Drifted(vec!["slot 1 shows another disk".to_owned()]);
    assert_eq!(failed(&decide(&mine, &look(&drifted, true))), Some(TaskFailure::MachineDrifted));
    let blind = Looked::Failed("it said nothing".to_owned());
    assert_eq!(failed(&decide(&mine, &look(&blind, true))), Some(TaskFailure::MachineFailed));
    let over = Facts { in_phase_s: enroll.host.look_s, ..look(&Looked::Waiting, true) };
    assert!(failed(&decide(&mine, &over)).is_some());
}

#[test]
fn a_host_that_is_the_platforms_again_is_not_installed_anew_when_only_the_look_failed() {
    let ground = Ground::new();
    let before = seen(MachineStatus::Deployed, Some("tsk_before"));
    let reclaim = Facts { installed: Some("tsk_before"), ..ground.facts(false, Phase::Free, &Looked::NotOrdered) };
    assert_eq!(decide(&before, &reclaim), Do::Enter(Phase::Look));
    // The same machine for the next tenant is given back first.
    let deploy = Facts { deploy: true, ..reclaim.clone() };
    assert_eq!(decide(&before, &deploy), Do::Release(Some("tsk_before".parse().unwrap())));
    // Somebody took it away between two looks.
    let look = Facts { phase: Phase::Look, online: true, ..reclaim };
    assert_eq!(decide(&seen(MachineStatus::Ready, None), &look), Do::Enter(Phase::Free));
}

mod walk {
    use super::*;
    use proptest::prelude::*;

    const STATES: &[MachineStatus] = &[
        MachineStatus::New,
        MachineStatus::Ready,
        MachineStatus::Allocated,
        MachineStatus::Deploying,
        MachineStatus::Deployed,
        MachineStatus::Broken,
        MachineStatus::FailedDeployment,
        MachineStatus::Releasing,
        MachineStatus::DiskErasing,
        MachineStatus::FailedDiskErasing,
        MachineStatus::Rescue,
    ];

    proptest! {
        #[test]
        fn nothing_of_a_strangers_is_touched_and_nothing_is_done_before_its_time(
            state in prop::sample::select(STATES), mark in prop::option::of(prop::sample::select(&["tsk_mine", "tsk_before", "x"][..])),
            deploy in any::<bool>(), phase in prop::sample::select(Phase::ALL), waited in 0i64..200_000,
            flags in prop::array::uniform2(any::<bool>()), installed in prop::option::of(Just("tsk_before")),
        ) {
            let ground = Ground::new();
            let machine = seen(state.clone(), mark);
            let looked = if flags[0] { Looked::AsApproved } else { Looked::NotOrdered };
            let elapsed = Elapsed { in_status_s: waited, since_wanted_s: waited };
            let facts = Facts {
                elapsed, in_phase_s: waited, enrolled: flags[1], online: flags[0], installed,
                ..ground.facts(deploy, phase, &looked)
            };
            match decide(&machine, &facts) {
                Do::Release(by) => {
                    prop_assert!(mark != Some("x") && by.as_ref().map(OrderMark::as_str) == mark);
                    prop_assert!(phase == Phase::Free);
                }
                Do::Deploy => prop_assert!(machine.carries(&ground.mark)),
                Do::Allocate => prop_assert!(mark.is_none() || state == MachineStatus::Ready),
                Do::Succeed => {
                    prop_assert!(state == MachineStatus::Deployed);
                    let tenants = deploy && phase == Phase::Install && machine.carries(&ground.mark);
                    let platforms = phase == Phase::Look && mark == installed && facts.online && flags[0];
                    prop_assert!(tenants || platforms);
                }
                Do::Enter(to) => prop_assert!(to != phase),
                Do::Wait(_) => prop_assert!(waited < ground.budgets.total_s.max(facts.host.enroll_s)),
                _ => {}
            }
        }
    }
}
