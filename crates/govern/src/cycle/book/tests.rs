//! Where workloads wait, and what moves them.

use super::{Book, Pending, PendingIx, Requeue, ShapeIx, Strategy, Where};
use crate::{
    order::{Order, Waiting},
    tree::{NodeIx, NodeSpec, Tree},
};

const QUEUE: NodeIx = NodeIx(1);

fn pending(shape: u32, priority: i64, identity: u64) -> Pending {
    let waiting = Waiting { local_usage: 0, priority, queued_at: None, identity };
    Pending::new(QUEUE, waiting, ShapeIx(shape))
}

fn book(strategy: Strategy) -> Book {
    let mut book = Book::new(true);
    book.set_queue(QUEUE, strategy, Order::PriorityThenAge);
    book.begin_cycle();
    book
}

fn names(book: &Book, at: Where) -> Vec<u64> {
    let here = book.line_up(QUEUE).into_iter().filter(|(_, place)| *place == at);
    here.map(|(place, _)| book.get(place).unwrap().waiting.identity).collect()
}

#[test]
fn the_next_one_is_the_first_in_order() {
    let mut book = book(Strategy::BestEffort);
    let places: Vec<PendingIx> =
        [(0, 0, 1), (1, 5, 2), (0, 9, 3)].map(|(shape, priority, id)| book.submit(pending(shape, priority, id))).into();
    assert_eq!(names(&book, Where::Active), [3, 2, 1]);
    assert_eq!(book.pop(QUEUE), Some(places[2]));
    assert_eq!(book.place_of(places[2]), Some(Where::InFlight));
    book.change(places[0], |it| it.waiting.priority = 7);
    assert_eq!(book.pop(QUEUE), Some(places[0]));
    book.put_back(places[2]);
    assert_eq!(book.pop(QUEUE), Some(places[2]));
    assert_eq!(book.withdraw(places[1]).unwrap().waiting.identity, 2);
    assert_eq!((book.pop(QUEUE), book.ready().count()), (None, 0));
}

#[test]
fn a_strict_queue_keeps_its_first_in_front() {
    let mut book = book(Strategy::Strict);
    let place = book.submit(pending(0, 0, 1));
    for why in [Requeue::NoFit, Requeue::NoCandidates, Requeue::Barred, Requeue::Gated] {
        book.begin_cycle();
        assert_eq!(book.pop(QUEUE), Some(place));
        assert_eq!(book.requeue(place, why, None), Some(Where::Active));
        // Nobody is next until something changes; somebody who comes before it is.
        assert_eq!((book.pop(QUEUE), book.ready().count()), (None, 0));
        let urgent = book.submit(pending(0, 9, 2));
        assert_eq!((book.ready().count(), book.pop(QUEUE)), (1, Some(urgent)));
        book.withdraw(urgent);
        book.begin_cycle();
        book.wake(QUEUE);
        assert_eq!(book.ready().count(), 1);
    }
    book.begin_cycle();
    book.pop(QUEUE);
    assert_eq!(book.requeue(place, Requeue::NotAllowedHere, None), Some(Where::Parked));
}

#[test]
fn a_best_effort_queue_parks_what_does_not_fit_until_something_changes() {
    let mut book = book(Strategy::BestEffort);
    let places: Vec<PendingIx> = (1..=3).map(|id| book.submit(pending(u32::try_from(id).unwrap(), 0, id))).collect();
    for (place, why) in places.iter().zip([Requeue::NoFit, Requeue::NotAllowedHere, Requeue::Skipped]) {
        assert_eq!(book.pop(QUEUE), Some(*place));
        book.requeue(*place, why, None);
    }
    assert_eq!((names(&book, Where::Active), names(&book, Where::Parked)), (vec![3], vec![1, 2]));
    book.wake(QUEUE);
    assert_eq!((names(&book, Where::Active), names(&book, Where::Parked)), (vec![1, 2, 3], vec![]));
}

#[test]
fn what_asks_for_the_same_is_parked_and_woken_together() {
    let mut book = book(Strategy::BestEffort);
    let first = book.submit(pending(0, 0, 1));
    for (shape, priority, id) in [(0, 0, 2), (0, 1, 3), (1, 0, 4)] {
        book.submit(pending(shape, priority, id));
    }
    let urgent = book.pop(QUEUE).unwrap();
    book.requeue(urgent, Requeue::Skipped, None);
    book.hold(urgent);
    assert_eq!(book.pop(QUEUE), Some(first));
    assert_eq!(book.requeue(first, Requeue::NoFit, None), Some(Where::Parked));
    assert_eq!((names(&book, Where::Active), names(&book, Where::Parked)), (vec![4], vec![1, 2]));
    // One more of the same need not be looked at either.
    let late = book.submit(pending(0, 0, 5));
    assert_eq!(book.place_of(late), Some(Where::Parked));
    book.wake(QUEUE);
    assert_eq!((names(&book, Where::Active), book.pop(QUEUE)), (vec![1, 2, 4, 5], Some(first)));
}

#[test]
fn a_change_between_looking_and_putting_back_is_not_lost() {
    let mut book = book(Strategy::BestEffort);
    let place = book.submit(pending(0, 0, 1));
    book.pop(QUEUE);
    book.wake(QUEUE);
    assert_eq!(book.requeue(place, Requeue::NoFit, None), Some(Where::Active));
    book.begin_cycle();
    book.pop(QUEUE);
    assert_eq!(book.requeue(place, Requeue::NoFit, None), Some(Where::Parked));
}

#[test]
fn who_told_others_to_go_stays_first_until_it_has_its_quota() {
    let mut book = book(Strategy::BestEffort);
    let place = book.submit(pending(0, 0, 1));
    book.pop(QUEUE);
    assert_eq!(book.requeue(place, Requeue::PendingPreemption, None), Some(Where::Active));
    let urgent = book.submit(pending(1, 9, 2));
    assert_eq!(book.pop(QUEUE), Some(place));
    book.requeue(place, Requeue::Skipped, None);
    assert_eq!(book.pop(QUEUE), Some(urgent));
}

#[test]
fn a_search_with_flavors_left_goes_on_in_the_next_cycle_and_no_later() {
    let mut book = book(Strategy::BestEffort);
    let place = book.submit(pending(0, 0, 1));
    book.pop(QUEUE);
    let progress = vec![vec![(crate::share::Resource(0), 0)]];
    assert_eq!(book.requeue(place, Requeue::NoCandidates, Some(progress.clone())), Some(Where::Active));
    book.begin_cycle();
    assert_eq!(book.progress(place), Some(&progress));
    book.begin_cycle();
    assert_eq!(book.progress(place), None);
    book.pop(QUEUE);
    book.requeue(place, Requeue::NoCandidates, Some(progress));
    book.offer_changed(QUEUE);
    assert_eq!(book.progress(place), None);
}

#[test]
fn stopped_queues_and_held_workloads_are_not_looked_at() {
    let mut book = book(Strategy::BestEffort);
    let place = book.submit(pending(0, 0, 1));
    book.set_stopped(QUEUE, true);
    assert_eq!((book.pop(QUEUE), names(&book, Where::Active)), (None, vec![1]));
    book.set_stopped(QUEUE, false);
    book.hold(place);
    assert_eq!((book.pop(QUEUE), book.place_of(place)), (None, Some(Where::Held)));
    book.change(place, |it| it.waiting.priority = 1);
    assert_eq!(book.pop(QUEUE), None);
    book.release(place);
    assert_eq!(book.pop(QUEUE), Some(place));
}

#[test]
fn only_queues_of_the_same_root_are_woken() {
    let queue = |parent| NodeSpec { parent, is_queue: true, ..NodeSpec::default() };
    let tree = Tree::build(&[NodeSpec::default(), queue(Some(0)), queue(Some(0)), queue(None)], 0).unwrap();
    let mut book = book(Strategy::BestEffort);
    let places = [1, 3].map(|node| {
        let place = book.submit(Pending { queue: NodeIx(node), ..pending(0, 0, u64::from(node)) });
        book.pop(NodeIx(node));
        book.requeue(place, Requeue::NoFit, None);
        place
    });
    book.wake_around(&tree, NodeIx(2));
    assert_eq!(places.map(|place| book.place_of(place)), [Some(Where::Active), Some(Where::Parked)]);
}

#[test]
fn who_is_gone_in_time_is_looked_at_while_the_others_of_its_class_are_parked() {
    let mut book = book(Strategy::BestEffort);
    let runs = [Some(500), None, Some(100), Some(50)];
    let places: Vec<PendingIx> =
        (1..).zip(runs).map(|(id, max_run_s)| book.submit(Pending { max_run_s, ..pending(0, 0, id) })).collect();
    assert_eq!(book.pop(QUEUE), Some(places[0]));
    assert_eq!(book.requeue(places[0], Requeue::Reserved { unless_run_s: Some(100) }, None), Some(Where::Parked));
    assert_eq!((names(&book, Where::Parked), names(&book, Where::Active)), (vec![1, 2], vec![3, 4]));
    // A tighter limit counts, a looser one does not; without one nobody is left.
    for (place, unless_run_s, left) in [(2, Some(60), vec![4]), (3, None, vec![])] {
        assert_eq!(book.pop(QUEUE), Some(places[place]));
        book.requeue(places[place], Requeue::Reserved { unless_run_s }, None);
        assert_eq!(names(&book, Where::Active), left);
    }
    let late = book.submit(Pending { max_run_s: Some(1), ..pending(0, 0, 5) });
    assert_eq!((book.place_of(late), book.pop(QUEUE)), (Some(Where::Parked), None));
    book.begin_cycle();
    book.wake(QUEUE);
    assert_eq!(names(&book, Where::Active), [1, 2, 3, 4, 5]);
}

#[test]
fn a_paused_class_is_not_looked_at_until_it_is_resumed() {
    let mut book = book(Strategy::BestEffort);
    let places: Vec<PendingIx> =
        [0, 0, 1].into_iter().zip(1..).map(|(shape, id)| book.submit(pending(shape, 0, id))).collect();
    assert_eq!(book.pop(QUEUE), Some(places[0]));
    book.pause(places[0]);
    assert_eq!((book.pop(QUEUE), book.pop(QUEUE)), (Some(places[2]), None));
    book.requeue(places[0], Requeue::Skipped, None);
    assert_eq!(book.pop(QUEUE), None);
    book.resume(places[0]);
    assert_eq!((book.pop(QUEUE), book.pop(QUEUE)), (Some(places[0]), Some(places[1])));
}
