//! Windows by hand on real dates, and any windows against a minute-by-minute reading of them.

use super::{Change, Days, Timetable, TimetableFault, Window, minute_of};
use crate::{
    amount::Amount,
    cycle::{AnyFloor, Estate, Profile, Scheduler, Verdict, book::Pending},
    flavors::{Flavor, FlavorIx, Group, Offer, PodSet},
    order::Waiting,
    preempt::{PreemptionRules, QueuePolicy},
    share::{Resource, Shares},
    tree::{FlavorResource, NodeIx, NodeSpec, Quota, Tree, TreeFault},
};
use proptest::prelude::*;

const GPU: FlavorResource = FlavorResource(0);
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;
// Monday 2024-01-01, midnight in UTC.
const MONDAY: i64 = 1_704_067_200;

fn quota(units: i64) -> Quota {
    Quota { nominal: Amount::new(units), ..Quota::default() }
}

fn window(days: Days, hours: (u32, u32), node: u32, units: i64) -> Window {
    let changes = vec![Change { node: NodeIx(node), what: GPU, quota: quota(units) }];
    Window { days, from_minute: hours.0 * 60, to_minute: hours.1 * 60, utc_offset_minutes: 0, changes }
}

// A cohort with two queues of four.
fn estate() -> Estate {
    let queue = NodeSpec { parent: Some(0), is_queue: true, quotas: vec![(GPU, quota(4))], ..NodeSpec::default() };
    let tree = Tree::build(&[NodeSpec::default(), queue.clone(), queue], 1).unwrap();
    let group = Group { resources: vec![Resource(0)], flavors: vec![FlavorIx(0)], cells: vec![GPU] };
    Estate {
        shares: Shares::build(&tree, &[Resource(0)]),
        tree,
        catalog: vec![Some(Flavor::default())],
        offers: vec![Offer { groups: vec![group], ..Offer::default() }; 3],
        policies: vec![QueuePolicy::default(); 3],
        pods: None,
    }
}

fn nominal(table: &Timetable, time: i64) -> i64 {
    table.estate_at(&estate(), time).unwrap().tree.quota(NodeIx(1), GPU).nominal.units()
}

#[test]
fn a_window_lasts_from_its_first_minute_to_before_its_last() {
    let table = Timetable::new(vec![window(Days::WORKING, (8, 18), 1, 9)]).unwrap();
    for (time, units) in [(8 * HOUR - 1, 4), (8 * HOUR, 9), (18 * HOUR - 1, 9), (18 * HOUR, 4), (5 * DAY + 9 * HOUR, 4)]
    {
        assert_eq!(nominal(&table, MONDAY + time), units, "{time}");
    }
    assert_eq!(table.next_change_after(MONDAY), Some(MONDAY + 8 * HOUR));
    assert_eq!(table.next_change_after(MONDAY + 8 * HOUR), Some(MONDAY + 18 * HOUR));
    assert_eq!(table.next_change_after(MONDAY + 8 * HOUR - 1), Some(MONDAY + 8 * HOUR));
    // Friday evening to Monday morning.
    assert_eq!(table.next_change_after(MONDAY + 4 * DAY + 18 * HOUR), Some(MONDAY + WEEK + 8 * HOUR));
    // Before 1970 as well.
    assert_eq!(nominal(&table, MONDAY + 9 * HOUR - 3000 * WEEK), 9);
}

#[test]
fn a_night_goes_on_after_midnight_and_over_the_end_of_the_week() {
    let table = Timetable::new(vec![window(Days::one(6), (22, 6), 1, 0)]).unwrap();
    let sunday = MONDAY + 6 * DAY;
    let at = |time| nominal(&table, time);
    assert_eq!(
        [at(sunday), at(sunday + 22 * HOUR), at(sunday + DAY + 5 * HOUR), at(sunday + DAY + 6 * HOUR)],
        [4, 0, 0, 4]
    );
    assert_eq!(at(MONDAY), 0);
    assert_eq!(table.next_change_after(sunday + 23 * HOUR), Some(MONDAY + WEEK + 6 * HOUR));
}

#[test]
fn a_window_has_its_own_clock() {
    let mut early = window(Days::one(0), (0, 1), 1, 7);
    early.utc_offset_minutes = 330;
    let table = Timetable::new(vec![early]).unwrap();
    // Monday midnight where it is half past five ahead is Sunday half past six in the evening.
    let start = MONDAY - 5 * HOUR - HOUR / 2;
    assert_eq!([nominal(&table, start - 1), nominal(&table, start), nominal(&table, start + HOUR)], [4, 7, 4]);
}

#[test]
fn a_window_of_the_whole_week_never_changes() {
    for hours in [(0, 24), (9, 9)] {
        let table = Timetable::new(vec![window(Days::ALL, hours, 1, 7)]).unwrap();
        assert_eq!((nominal(&table, MONDAY + 9 * HOUR), table.next_change_after(MONDAY)), (7, None));
    }
    let none = Timetable::new(vec![]).unwrap();
    assert_eq!((nominal(&none, MONDAY), none.next_change_after(MONDAY)), (4, None));
}

#[test]
fn windows_that_touch_are_two_and_windows_that_overlap_are_refused() {
    let (day, night) = (window(Days::ALL, (6, 22), 1, 1), window(Days::ALL, (22, 6), 1, 8));
    let table = Timetable::new(vec![day.clone(), night]).unwrap();
    assert_eq!([nominal(&table, MONDAY), nominal(&table, MONDAY + 6 * HOUR)], [8, 1]);
    let late = window(Days::one(2), (21, 23), 1, 2);
    let overlap = TimetableFault::Overlap { first: 0, second: 1 };
    assert_eq!(Timetable::new(vec![day.clone(), late.clone()]), Err(overlap));
    // Another queue's quota may change at the same time.
    let other = window(Days::one(2), (21, 23), 2, 2);
    let table = Timetable::new(vec![day.clone(), other]).unwrap();
    assert_eq!(table.lasting_at(MONDAY + 2 * DAY + 21 * HOUR), [0, 1]);
    let mut twice = late;
    twice.changes.extend_from_within(..);
    assert_eq!(Timetable::new(vec![twice]), Err(TimetableFault::Overlap { first: 0, second: 0 }));
}

#[test]
fn what_is_no_window_is_refused() {
    let good = window(Days::ALL, (1, 2), 1, 0);
    let fault = |change: fn(&mut Window)| {
        let mut bad = good.clone();
        change(&mut bad);
        Timetable::new(vec![good.clone(), bad]).unwrap_err()
    };
    assert_eq!(fault(|window| window.days = Days::one(7)), TimetableFault::NoDays { window: 1 });
    assert_eq!(fault(|window| window.from_minute = 1440), TimetableFault::NoSuchMinute { window: 1 });
    assert_eq!(fault(|window| window.to_minute = 1441), TimetableFault::NoSuchMinute { window: 1 });
    assert_eq!(fault(|window| window.utc_offset_minutes = -1441), TimetableFault::NoSuchOffset { window: 1 });
    assert_eq!(Timetable::new(vec![good.clone(); 1001]), Err(TimetableFault::TooMany));
    let stranger = Timetable::new(vec![window(Days::ALL, (0, 24), 9, 1)]).unwrap();
    assert_eq!(stranger.estate_at(&estate(), 0).unwrap_err(), TreeFault::NoSuchNode { node: 9 });
}

#[test]
fn whoever_waits_starts_when_its_hour_comes() {
    let table = Timetable::new(vec![window(Days::ALL, (22, 6), 1, 12)]).unwrap();
    let evening = MONDAY + 20 * HOUR;
    let profile = Profile::own(PreemptionRules::own(None));
    let mut scheduler = Scheduler::new(table.estate_at(&estate(), evening).unwrap(), profile);
    let requests = vec![(Resource(0), Amount::new(1))];
    let shape = scheduler.shape(&[PodSet { count: 16, requests, ..PodSet::default() }]);
    let waiting = Waiting { local_usage: 0, priority: 0, queued_at: Some(evening), identity: 1 };
    let queue = NodeIx(1);
    scheduler.submit(Pending::new(queue, waiting, shape));
    let is_admitted = |scheduler: &mut Scheduler, now| {
        let decisions = scheduler.step(now, &mut AnyFloor);
        decisions.iter().any(|decision| matches!(decision.verdict, Verdict::Admitted { .. }))
    };
    assert!(!is_admitted(&mut scheduler, evening));
    let night = table.next_change_after(evening).unwrap();
    scheduler.set_estate(table.estate_at(&estate(), night).unwrap());
    assert!(is_admitted(&mut scheduler, night));
    // In the morning more is used than there is; it stays, and the share says so.
    let morning = table.next_change_after(night).unwrap();
    scheduler.set_estate(table.estate_at(&estate(), morning).unwrap());
    let Estate { tree, shares, .. } = scheduler.estate();
    assert_eq!(tree.available(scheduler.usage(), queue, GPU), Amount::new(-8));
    assert_eq!(shares.of(tree, scheduler.usage(), queue).per_mille_ceil(), 1500);
}

fn any_window() -> impl Strategy<Value = Window> {
    (1_u8..128, 0_u32..1440, 0_u32..=1440, -720_i32..=840, 1_u32..3).prop_map(|(days, from, to, offset, node)| Window {
        days: (0..7).filter(|day| days & (1 << day) != 0).map(Days::one).fold(Days::default(), Days::and),
        from_minute: from,
        to_minute: to,
        utc_offset_minutes: offset,
        changes: vec![Change { node: NodeIx(node), what: GPU, quota: quota(i64::from(from)) }],
    })
}

// Reads a window as a person would: is its clock in it, or was it yesterday and is it still?
fn lasts(window: &Window, minute: u32) -> bool {
    let local = i64::from(minute) + i64::from(window.utc_offset_minutes);
    let (day, of_day) = (local.div_euclid(1440).rem_euclid(7), local.rem_euclid(1440));
    let begins_on = |day: i64| window.days.and(Days::one(u8::try_from(day.rem_euclid(7)).unwrap())) == window.days;
    let (from, to) = (i64::from(window.from_minute), i64::from(window.to_minute));
    if from < to {
        begins_on(day) && (from..to).contains(&of_day)
    } else {
        (begins_on(day) && of_day >= from) || (begins_on(day - 1) && of_day < to)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn every_minute_of_the_week_is_as_read_and_the_next_change_is_the_next(
        windows in prop::collection::vec(any_window(), 0..3)
    ) {
        let by_hand = |time: i64| -> Vec<usize> {
            let minute = minute_of(time);
            (0..windows.len()).filter(|at| lasts(&windows[*at], minute)).collect()
        };
        let clash = |time: i64| match by_hand(time).as_slice() {
            [one, other] => windows[*one].changes[0].node == windows[*other].changes[0].node,
            _ => false,
        };
        let minutes = || (0..7 * 1440).map(|minute| MONDAY + minute * 60);
        let refused = minutes().any(clash);
        let table = Timetable::new(windows.clone());
        prop_assert_eq!(table.is_err(), refused);
        let Ok(table) = table else { return Ok(()) };
        for time in minutes() {
            prop_assert_eq!(table.lasting_at(time), by_hand(time));
        }
        // Going from change to change, nothing changes in between, and something does at each.
        let mut time = MONDAY;
        while let Some(next) = table.next_change_after(time).filter(|_| time < MONDAY + WEEK) {
            prop_assert!(next > time && next % 60 == 0);
            prop_assert_ne!(table.lasting_at(next - 1), table.lasting_at(next));
            prop_assert_eq!(table.lasting_at(next - 1), table.lasting_at(time));
            time = next;
        }
    }
}
