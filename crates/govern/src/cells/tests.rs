//! Cells by hand, and the promise in made-up worlds.

use super::{Cell, Cells, CellsFault, JobIx, Level, Outcome, Refusal, TenantIx, trial};

const A: TenantIx = TenantIx(0);
const B: TenantIx = TenantIx(1);

fn placed(outcome: &Outcome) -> (JobIx, Cell) {
    match outcome {
        Outcome::Placed { job, cell, .. } => (*job, *cell),
        Outcome::Refused(why) => panic!("refused: {why:?}"),
    }
}

fn victims(outcome: Outcome) -> Vec<JobIx> {
    match outcome {
        Outcome::Placed { victims, .. } => victims,
        Outcome::Refused(why) => panic!("refused: {why:?}"),
    }
}

#[test]
fn small_requests_of_one_do_not_keep_out_the_whole_node_of_another() {
    // Two nodes. One tenant owns eight single devices, the other one a node.
    let mut cells = Cells::new(2, &[[8, 0, 0, 0], [0, 0, 0, 1]]).unwrap();
    let singles: Vec<_> = (0..8).map(|_| placed(&cells.admit(A, Level::One, true))).collect();
    assert!(singles.iter().all(|(_, cell)| cell.node == singles[0].1.node));
    assert_eq!(cells.admit(A, Level::One, true), Outcome::Refused(Refusal::BeyondGuarantee));
    let (_, node) = placed(&cells.admit(B, Level::Eight, true));
    assert_eq!((node.level, node.first), (Level::Eight, 0));
    assert_ne!(node.node, singles[0].1.node);
    assert_eq!(cells.used(), (16, 16));
}

#[test]
fn a_cell_is_halved_for_its_owner_and_whole_again_when_all_of_it_is_released() {
    let mut cells = Cells::new(1, &[[0, 0, 0, 1]]).unwrap();
    let (two, _) = placed(&cells.admit(A, Level::Two, true));
    let (four, cell) = placed(&cells.admit(A, Level::Four, true));
    assert_eq!(cell, Cell { node: 0, first: 4, level: Level::Four });
    assert_eq!(cells.admit(A, Level::Four, true), Outcome::Refused(Refusal::BeyondGuarantee));
    assert_eq!(cells.release(four), Some(cell));
    assert_eq!(cells.release(four), None);
    cells.release(two);
    assert_eq!(placed(&cells.admit(A, Level::Eight, true)).1.level, Level::Eight);
}

#[test]
fn opportunistic_work_uses_what_is_left_and_gives_way() {
    let mut cells = Cells::new(2, &[[0, 0, 1, 0], [0, 0, 0, 1]]).unwrap();
    let (one, spot) = placed(&cells.admit(B, Level::One, false));
    let (eight, whole) = placed(&cells.admit(A, Level::Eight, false));
    assert_ne!(spot.node, whole.node);
    assert_eq!(cells.admit(A, Level::Eight, false), Outcome::Refused(Refusal::Full));
    // The guarantee goes where it pushes out least: to the half of the first node where nobody is.
    let four = cells.admit(A, Level::Four, true);
    assert_eq!((placed(&four).1, victims(four)), (Cell { node: 0, first: 4, level: Level::Four }, vec![]));
    // There is no choice for the other one.
    assert_eq!(victims(cells.admit(B, Level::Eight, true)), [eight]);
    assert_eq!((cells.release(eight), cells.release(one)), (None, Some(spot)));
    assert_eq!(cells.used(), (12, 12));
}

#[test]
fn devices_of_a_bound_cell_that_are_not_in_use_are_open_to_others() {
    let mut cells = Cells::new(1, &[[0, 0, 0, 1], [0; 4]]).unwrap();
    placed(&cells.admit(A, Level::One, true));
    assert_eq!(cells.admit(B, Level::One, true), Outcome::Refused(Refusal::BeyondGuarantee));
    let (four, _) = placed(&cells.admit(B, Level::Four, false));
    assert_eq!(cells.used(), (5, 1));
    assert_eq!(victims(cells.admit(A, Level::Four, true)), [four]);
}

#[test]
fn what_cannot_be_promised_is_refused() {
    let fault = CellsFault::PromisedTooMuch { promised: 17, there: 16 };
    assert_eq!(Cells::new(2, &[[1, 0, 0, 0], [0, 0, 4, 0]]).unwrap_err(), fault);
    assert!(Cells::new(2, &[[0, 4, 0, 0], [0, 0, 2, 0]]).is_ok());
    assert_eq!(Cells::new(1 << 21, &[]).unwrap_err(), CellsFault::TooManyNodes);
    assert!(matches!(Cells::new(1, &[[u32::MAX; 4]; 9]), Err(CellsFault::PromisedTooMuch { .. })));
    let mut none = Cells::new(0, &[]).unwrap();
    assert_eq!(none.admit(A, Level::One, false), Outcome::Refused(Refusal::NoSuchTenant));
    assert_eq!([0, 1, 3, 5, 8, 9].map(Level::for_gpus), {
        [None, Some(Level::One), Some(Level::Four), Some(Level::Eight), Some(Level::Eight), None]
    });
}

#[test]
fn no_tenant_is_worse_off_than_in_a_cluster_of_its_own() {
    let tally = trial::run(7, 20, 5_000);
    assert_eq!((tally.steps, tally.violations, tally.unsafe_steps), (100_000, 0, 0));
    assert!(tally.covered > 10_000, "{tally:?}");
    // The trial can fail: quota that only counts devices does.
    assert!(tally.violations_by_count > 100, "{tally:?}");
    let (cells, by_count) = tally.utilisation();
    assert!(cells + 200 >= by_count, "{cells} against {by_count} hundredths of a per cent");
}
