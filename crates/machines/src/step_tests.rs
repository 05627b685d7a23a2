//! The walk of one machine, step by step, and that it always comes to rest, whatever the provider does.

use super::*;
use crate::machine::PowerState;
use proptest::prelude::*;

const LATE: i64 = 1_000_000_000;

fn mark() -> OrderMark {
    "mine".parse().unwrap()
}

fn seen(status: MachineStatus, mark: Option<&str>) -> Machine {
    Machine {
        id: "abc".parse().unwrap(),
        hostname: String::new(),
        serial: None,
        status,
        message: String::new(),
        power: PowerState::Unknown,
        tags: Default::default(),
        pool: None,
        zone: None,
        owner: None,
        mark: mark.map(str::to_owned),
        locked: false,
        gpus: None,
    }
}

fn all_statuses() -> Vec<MachineStatus> {
    use MachineStatus::*;
    vec![
        New,
        Commissioning,
        FailedCommissioning,
        Missing,
        Ready,
        Reserved,
        Allocated,
        Deploying,
        Deployed,
        Retired,
        Broken,
        FailedDeployment,
        Releasing,
        FailedReleasing,
        DiskErasing,
        FailedDiskErasing,
        Rescue,
        Testing,
        FailedTesting,
        Other("Melted".to_owned()),
    ]
}

fn deployed() -> Wanted {
    Wanted::Deployed { mark: mark() }
}

fn free() -> Wanted {
    Wanted::Free { held_by: Some(mark()), erase: Erase::Secure }
}

fn step(wanted: &Wanted, status: MachineStatus, mark: Option<&str>) -> Step {
    next_step(wanted, &seen(status, mark), Elapsed::default(), &Budgets::default())
}

#[test]
fn a_free_machine_is_taken_installed_and_left_in_peace() {
    use MachineStatus::*;
    assert_eq!(step(&deployed(), Ready, None), Step::Allocate);
    assert_eq!(step(&deployed(), Allocated, None), Step::Allocate);
    assert_eq!(step(&deployed(), Allocated, Some("mine")), Step::Deploy);
    assert!(matches!(step(&deployed(), Deploying, Some("mine")), Step::Wait { .. }));
    assert_eq!(step(&deployed(), Deployed, Some("mine")), Step::Rest);
}

#[test]
fn a_machine_is_given_back_erased() {
    use MachineStatus::*;
    for status in [Allocated, Deploying, Deployed, FailedDeployment] {
        assert_eq!(step(&free(), status, Some("mine")), Step::Release { erase: Erase::Secure });
    }
    assert!(matches!(step(&free(), DiskErasing, Some("mine")), Step::Wait { .. }));
    assert!(matches!(step(&free(), Releasing, None), Step::Wait { .. }));
    assert_eq!(step(&free(), Ready, None), Step::Rest);
}

#[test]
fn an_installation_that_never_ends_is_a_fault_with_how_long_it_took() {
    let budgets = Budgets::default();
    let elapsed = |in_status_s| Elapsed { in_status_s, since_wanted_s: in_status_s };
    let machine = seen(MachineStatus::Deploying, Some("mine"));
    let just = next_step(&deployed(), &machine, elapsed(budgets.deploy_s - 1), &budgets);
    assert!(matches!(just, Step::Wait { waited_s: 2_699, at_most_s: 2_700, .. }), "{just:?}");
    let Step::MarkBroken(trouble) = next_step(&deployed(), &machine, elapsed(3_000), &budgets) else { panic!() };
    assert_eq!(trouble.to_string(), "the installation was expected to take at most 2700 s, but lasts 3000 s already");
}

#[test]
fn what_failed_is_taken_out_of_service_and_not_tried_again() {
    use MachineStatus::*;
    let Step::MarkBroken(trouble) = step(&deployed(), FailedDeployment, Some("mine")) else { panic!() };
    assert_eq!(trouble.to_string(), "the machine was expected to become Deployed, but it is Failed deployment");
    assert!(matches!(step(&deployed(), Broken, None), Step::GiveUp(Trouble::Failed { .. })));
    for status in [FailedReleasing, FailedDiskErasing] {
        assert!(matches!(step(&free(), status, None), Step::MarkBroken(Trouble::Failed { .. })));
    }
}

#[test]
fn a_stranger_s_machine_and_a_locked_one_are_never_acted_on() {
    for status in all_statuses().into_iter().filter(MachineStatus::is_taken) {
        for wanted in [deployed(), free()] {
            let step = step(&wanted, status.clone(), Some("other"));
            assert!(matches!(step, Step::GiveUp(_)), "{status}: {step:?}");
        }
    }
    for status in all_statuses() {
        for wanted in [deployed(), free()] {
            let machine = Machine { locked: true, ..seen(status.clone(), Some("mine")) };
            let step = next_step(&wanted, &machine, Elapsed::default(), &Budgets::default());
            assert!(!matches!(step, Step::Allocate | Step::Deploy | Step::Release { .. }), "{status}: {step:?}");
        }
    }
}

#[test]
fn a_call_without_effect_is_not_made_for_ever() {
    let budgets = Budgets::default();
    let cases = [
        (deployed(), seen(MachineStatus::Ready, None)),
        (deployed(), seen(MachineStatus::Allocated, Some("mine"))),
        (free(), seen(MachineStatus::Deployed, Some("mine"))),
    ];
    for (wanted, machine) in cases {
        let after =
            |in_status_s| next_step(&wanted, &machine, Elapsed { in_status_s, since_wanted_s: in_status_s }, &budgets);
        assert!(matches!(after(budgets.act_s - 1), Step::Allocate | Step::Deploy | Step::Release { .. }));
        assert!(matches!(after(budgets.act_s), Step::GiveUp(Trouble::TooLong { took_s: 300, budget_s: 300, .. })));
    }
}

#[test]
fn no_state_is_two_things_at_once() {
    for status in all_statuses() {
        let kinds = [status.is_going_back(), status.is_taken(), status == MachineStatus::Ready];
        assert!(kinds.iter().filter(|is| **is).count() <= 1, "{status}");
        assert!(!(status.is_failed() && (status.is_going_back() || status == MachineStatus::Ready)), "{status}");
    }
}

#[test]
fn every_state_comes_to_an_end_in_time() {
    let over = Elapsed { in_status_s: LATE, since_wanted_s: LATE };
    for status in all_statuses() {
        for mark in [None, Some("mine"), Some("other")] {
            for wanted in [deployed(), free(), Wanted::Free { held_by: None, erase: Erase::None }] {
                let step = next_step(&wanted, &seen(status.clone(), mark), over, &Budgets::default());
                assert!(matches!(step, Step::Rest | Step::GiveUp(_)), "{status} {mark:?}: {step:?}");
            }
        }
    }
}

/// How a provider answers each step: what the machine is afterwards.
fn provider() -> impl Strategy<Value = Vec<(MachineStatus, Option<&'static str>, i64)>> {
    let status = proptest::sample::select(all_statuses());
    let mark = proptest::sample::select(vec![None, Some("mine"), Some("other")]);
    proptest::collection::vec((status, mark, 1_i64..20_000), 1..40)
}

proptest! {
    /// The provider does whatever it likes, for ever: the walk ends all the same.
    #[test]
    fn the_walk_comes_to_rest_whatever_the_provider_does(moods in provider(), give_back in any::<bool>()) {
        let (wanted, budgets) = (if give_back { free() } else { deployed() }, Budgets::default());
        let (mut since_wanted_s, mut in_status_s) = (0_i64, 0_i64);
        let mut last: Option<MachineStatus> = None;
        let mut ended = false;
        for (status, mark, later_s) in moods.iter().cycle().take(200_000) {
            in_status_s = if last.as_ref() == Some(status) { in_status_s } else { 0 };
            last = Some(status.clone());
            let elapsed = Elapsed { in_status_s, since_wanted_s };
            match next_step(&wanted, &seen(status.clone(), *mark), elapsed, &budgets) {
                Step::Rest => {
                    let as_wanted = match &wanted {
                        Wanted::Deployed { .. } => *status == MachineStatus::Deployed && *mark == Some("mine"),
                        Wanted::Free { .. } => *status == MachineStatus::Ready,
                    };
                    prop_assert!(as_wanted);
                    ended = true;
                }
                Step::GiveUp(_) => ended = true,
                Step::Wait { waited_s, at_most_s, .. } => prop_assert!(waited_s < at_most_s),
                Step::Allocate | Step::Deploy | Step::Release { .. } | Step::MarkBroken(_) => {}
            }
            if ended {
                break;
            }
            (since_wanted_s, in_status_s) = (since_wanted_s + later_s, in_status_s + later_s);
        }
        prop_assert!(ended, "it never ends");
    }
}
