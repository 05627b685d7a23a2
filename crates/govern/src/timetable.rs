//! Quotas that follow the week: more for research at night, all of it for serving at the end of the quarter's Fridays.
//!
//! A [`Timetable`] is a list of windows, each with days, a time of day, an offset from UTC and the quotas that hold while it
//! lasts; outside all windows the quotas are as they were described. Two windows may last at the same time as long as they
//! change different quotas. Nothing here waits for a time to come: the caller asks what holds at a time, and when that
//! changes next.
//!
//! ```text
//!   week in UTC, from Monday   0 ......... 1440 ......... 2880 .......... 10080, and round again
//!   "nights", 22:00 to 06:00        ├─────────┤    ├─────────┤      the changes of quota at every edge
//! ```

use crate::{
    cycle::Estate,
    tree::{FlavorResource, NodeIx, Quota, TreeFault},
};
use thiserror::Error;

const DAY_MINUTES: u32 = 24 * 60;
const WEEK_MINUTES: u32 = 7 * DAY_MINUTES;
// The first day of 1970 was a Thursday, three days after a Monday.
const EPOCH_MINUTES: i64 = 3 * 24 * 60;
const OFFSET_MINUTES_MAX: i32 = 24 * 60;
const WINDOWS_MAX: usize = 1000;

/// Days of the week, Monday the lowest of seven bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Days(u8);

impl Days {
    /// All seven.
    pub const ALL: Self = Self(0b111_1111);
    /// Monday to Friday.
    pub const WORKING: Self = Self(0b001_1111);

    /// One day, Monday is zero. Nothing for a day after Sunday.
    #[must_use]
    pub const fn one(day: u8) -> Self {
        if day < 7 { Self(1 << day) } else { Self(0) }
    }

    /// All days of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn each(self) -> impl Iterator<Item = u32> {
        (0..7).filter(move |day| self.0 & (1 << day) != 0)
    }
}

/// A quota that holds while a window lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Of this node.
    pub node: NodeIx,
    /// Of this.
    pub what: FlavorResource,
    /// In place of the quota that was described.
    pub quota: Quota,
}

/// A time of day on some days of the week, and what is different then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The days on which it begins.
    pub days: Days,
    /// The minute of the day at which it begins, below 1440.
    pub from_minute: u32,
    /// The minute before which it ends, at most 1440. Not after the beginning: that of the next day.
    pub to_minute: u32,
    /// How far its clock is ahead of UTC, in minutes.
    pub utc_offset_minutes: i32,
    /// What holds while it lasts.
    pub changes: Vec<Change>,
}

/// Why a list of windows is no timetable. Windows are named by their place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TimetableFault {
    /// There are too many.
    #[error("a timetable has at most {WINDOWS_MAX} windows")]
    TooMany,
    /// It begins on no day.
    #[error("window {window} has no days")]
    NoDays {
        /// Which window.
        window: usize,
    },
    /// A minute that no day has.
    #[error("window {window} names a minute that no day has")]
    NoSuchMinute {
        /// Which window.
        window: usize,
    },
    /// A clock that is more than a day off.
    #[error("window {window} has a clock that is more than a day from UTC")]
    NoSuchOffset {
        /// Which window.
        window: usize,
    },
    /// Two windows, or one of them twice, change one quota at the same time.
    #[error("windows {first} and {second} change the same quota at the same time")]
    Overlap {
        /// The earlier one in the list.
        first: usize,
        /// The later one, or the same.
        second: usize,
    },
}

/// Windows that go together, worked out for a week.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timetable {
    windows: Vec<Window>,
    // From this minute of the week in UTC on, these windows last. In order of time; each differs from the one before it, and
    // the first from the last. Empty where nothing ever changes; then `always` lasts.
    edges: Vec<(u32, Vec<usize>)>,
    always: Vec<usize>,
}

impl Window {
    fn check(&self, window: usize) -> Result<(), TimetableFault> {
        if self.days == Days::default() {
            return Err(TimetableFault::NoDays { window });
        }
        if self.from_minute >= DAY_MINUTES || self.to_minute > DAY_MINUTES {
            return Err(TimetableFault::NoSuchMinute { window });
        }
        if self.utc_offset_minutes.abs() > OFFSET_MINUTES_MAX {
            return Err(TimetableFault::NoSuchOffset { window });
        }
        let changes = || self.changes.iter().map(|change| (change.node, change.what));
        let twice = changes().enumerate().any(|(at, this)| changes().skip(at + 1).any(|other| other == this));
        if twice { Err(TimetableFault::Overlap { first: window, second: window }) } else { Ok(()) }
    }

    // Beginnings and lengths in minutes of the week in UTC. No two of one window have a minute in common.
    fn spans(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let longer = if self.to_minute > self.from_minute { 0 } else { DAY_MINUTES };
        let length = self.to_minute + longer - self.from_minute;
        self.days.each().map(move |day| {
            let local = i64::from(day * DAY_MINUTES + self.from_minute);
            (of_week(local - i64::from(self.utc_offset_minutes)), length)
        })
    }

    fn lasts_at(&self, minute: u32) -> bool {
        self.spans().any(|(from, length)| (minute + WEEK_MINUTES - from) % WEEK_MINUTES < length)
    }

    fn shares_a_quota_with(&self, other: &Self) -> bool {
        let same = |one: &Change| other.changes.iter().any(|two| (one.node, one.what) == (two.node, two.what));
        self.changes.iter().any(same)
    }
}

impl Timetable {
    /// Works out the week.
    ///
    /// # Errors
    /// When a window is none, or two of them contradict each other.
    pub fn new(windows: Vec<Window>) -> Result<Self, TimetableFault> {
        if windows.len() > WINDOWS_MAX {
            return Err(TimetableFault::TooMany);
        }
        for (at, window) in windows.iter().enumerate() {
            window.check(at)?;
        }
        let ends = |(from, length): (u32, u32)| [from, (from + length) % WEEK_MINUTES];
        let mut minutes: Vec<u32> = windows.iter().flat_map(Window::spans).flat_map(ends).collect();
        minutes.sort_unstable();
        minutes.dedup();
        let mut edges: Vec<(u32, Vec<usize>)> = vec![];
        for minute in minutes {
            let lasting = |(at, window): (usize, &Window)| window.lasts_at(minute).then_some(at);
            let now: Vec<usize> = windows.iter().enumerate().filter_map(lasting).collect();
            no_overlap(&windows, &now)?;
            if edges.last().is_none_or(|(_, before)| *before != now) {
                edges.push((minute, now));
            }
        }
        // The end of the week goes on at its beginning.
        if edges.len() > 1 && edges.first().map(|(_, now)| now) == edges.last().map(|(_, now)| now) {
            edges.remove(0);
        }
        let always = if edges.len() == 1 { edges.pop().map(|(_, now)| now) } else { None };
        Ok(Self { windows, edges, always: always.unwrap_or_default() })
    }

    /// The windows.
    #[must_use]
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The windows that last at a time, in seconds since 1970, by their place in the list.
    #[must_use]
    pub fn lasting_at(&self, time: i64) -> &[usize] {
        let minute = minute_of(time);
        let before = self.edges.iter().rev().find(|(from, _)| *from <= minute);
        before.or(self.edges.last()).map_or(&self.always, |(_, now)| now)
    }

    /// The quotas that differ from what was described, at a time.
    pub fn changes_at(&self, time: i64) -> impl Iterator<Item = &Change> {
        self.lasting_at(time).iter().filter_map(|at| self.windows.get(*at)).flat_map(|window| &window.changes)
    }

    /// What holds at a time, where `described` is what holds outside all windows.
    ///
    /// # Errors
    /// When a window changes a quota that is not there.
    pub fn estate_at(&self, described: &Estate, time: i64) -> Result<Estate, TreeFault> {
        let changes: Vec<_> = self.changes_at(time).map(|change| (change.node, change.what, change.quota)).collect();
        let tree = described.tree.with_quotas(&changes)?;
        Ok(Estate { shares: described.shares.on(&tree), tree, ..described.clone() })
    }

    /// When that changes next, after this time; nothing where it never does.
    #[must_use]
    pub fn next_change_after(&self, time: i64) -> Option<i64> {
        let minute = minute_of(time);
        let next = self.edges.iter().find(|(from, _)| *from > minute).or(self.edges.first())?;
        let wait = (next.0 + WEEK_MINUTES - minute - 1) % WEEK_MINUTES + 1;
        time.checked_sub(time.rem_euclid(60))?.checked_add(i64::from(wait) * 60)
    }
}

fn no_overlap(windows: &[Window], lasting: &[usize]) -> Result<(), TimetableFault> {
    for (at, first) in lasting.iter().enumerate() {
        for second in lasting.iter().skip(at + 1) {
            let pair = windows.get(*first).zip(windows.get(*second));
            if pair.is_some_and(|(one, other)| one.shares_a_quota_with(other)) {
                return Err(TimetableFault::Overlap { first: *first, second: *second });
            }
        }
    }
    Ok(())
}

fn of_week(minute: i64) -> u32 {
    u32::try_from(minute.rem_euclid(i64::from(WEEK_MINUTES))).unwrap_or(0)
}

// The minute of the week in UTC.
fn minute_of(time: i64) -> u32 {
    of_week(time.div_euclid(60).saturating_add(EPOCH_MINUTES))
}

#[cfg(test)]
mod tests;
