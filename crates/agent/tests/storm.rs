//! The agent in bad weather: orders lost, doubled, late and out of order, answers lost, crashes anywhere. The world checks
//! after every step that nothing is done twice and that no fence goes down; here it is checked where things end.

mod world;

use model::task::{Task, TaskKind};
use proptest::prelude::*;
use std::{sync::Arc, thread};
use world::{Middle, World, allocation_id, order};

#[derive(Debug, Clone)]
enum Weather {
    /// These orders arrive, by number.
    Arrive(Vec<usize>),
    /// Time passes; what the agent says is heard or lost.
    Pass {
        steps: usize,
        heard: bool,
    },
    Crash,
}

fn any_weather() -> impl Strategy<Value = Weather> {
    prop_oneof![
        3 => prop::collection::vec(0usize..ORDERS, 1..4).prop_map(Weather::Arrive),
        4 => (1usize..12, any::<bool>()).prop_map(|(steps, heard)| Weather::Pass { steps, heard }),
        1 => Just(Weather::Crash),
    ]
}

const ORDERS: usize = 9;

// Three uses of the same two slots, with repeated attempts: what a control plane might have sent over a bad afternoon.
fn afternoon(last_use_ends: bool) -> Vec<Task> {
    let plan = [
        (TaskKind::SliceVmProvision, 1, 1),
        (TaskKind::SliceVmProvision, 1, 2),
        (TaskKind::SliceVmRelease, 1, 3),
        (TaskKind::SliceVmRelease, 1, 4),
        (TaskKind::SliceVmProvision, 2, 1),
        (TaskKind::SliceVmRelease, 2, 2),
        (TaskKind::SliceVmRelease, 2, 3),
        (TaskKind::SliceVmProvision, 3, 1),
        if last_use_ends { (TaskKind::SliceVmRelease, 3, 2) } else { (TaskKind::SliceVmProvision, 3, 2) },
    ];
    plan.iter().zip(1..).map(|((kind, generation, attempt), n)| order(n, *kind, *generation, *attempt)).collect()
}

/// How many afternoons: the full count is for long campaigns.
fn afternoons() -> u32 {
    if std::env::var_os("GPUAAS_SOAK").is_some() { 10_000 } else { 1000 }
}

// What happens between the storm and the end, and where things have to stand then.
fn weathered(mut world: World, weather: Vec<Weather>, last_use_ends: bool) -> Result<(), TestCaseError> {
    let orders = afternoon(last_use_ends);
    for event in weather {
        match event {
            Weather::Arrive(numbers) => {
                world.offer(&numbers.into_iter().map(|n| orders[n].clone()).collect::<Vec<_>>())
            }
            Weather::Pass { steps, heard } => (0..steps).for_each(|_| drop(world.step(heard))),
            Weather::Crash => world.restart(),
        }
    }
    // The sky clears. Before the last use, the one before it has ended: a control plane claims a slot only after that.
    world.orders = orders[..7].to_vec();
    world.settle();
    world.orders = orders.clone();
    world.settle();
    let left: Vec<_> = world.guests().iter().map(|guest| guest.allocation_id.clone()).collect();
    let newest = world.result(&orders[ORDERS - 1]);
    if newest.failure.is_none() {
        prop_assert_eq!(left, if last_use_ends { vec![] } else { vec![allocation_id(3)] });
    } else {
        // It arrived while the guest of an earlier use still sat there; it says so, and nobody was started beside it.
        prop_assert!(!last_use_ends && left.len() <= 1, "{:?} {:?}", newest, left);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(afternoons()))]

    // The control plane itself offers nothing while the storm lasts.
    #[test]
    fn the_host_ends_where_the_newest_order_wants_it(
        weather in prop::collection::vec(any_weather(), 0..40), last_use_ends in any::<bool>(),
    ) {
        weathered(World::new(vec![]), weather, last_use_ends)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(afternoons() / 20))]

    #[test]
    fn threads_change_nothing_about_that(
        weather in prop::collection::vec(any_weather(), 0..40), last_use_ends in any::<bool>(),
    ) {
        let middle: Middle = Arc::new(|_, _| {
            thread::yield_now();
            Ok(())
        });
        weathered(World::threaded(vec![], 8, middle), weather, last_use_ends)?;
    }
}
