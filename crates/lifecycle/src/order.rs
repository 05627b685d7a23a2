//! What a decider sees of the orders given to a node for one thing, and when it may give another.

use model::{Timestamp, lifecycle::Wait, task::TaskState, time::MICROS_PER_SECOND};

/// The newest order of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderView {
    /// Where it stands.
    pub state: TaskState,
    /// Since when.
    pub since: Timestamp,
}

/// Orders of one kind given for one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Orders {
    /// The newest.
    pub newest: Option<OrderView>,
    /// How many were given since the state was entered, or since an operator had it begun anew; bounded by the decider.
    pub given: i64,
}

impl Orders {
    /// Whether the newest is still being worked on.
    pub fn is_open(&self) -> bool {
        self.newest.is_some_and(|order| !order.state.is_terminal())
    }
    /// Whether the newest ended in this state.
    pub fn ended(&self, state: TaskState) -> bool {
        self.newest.is_some_and(|order| order.state == state)
    }

    /// Whether another may be given now: not past the limit, not to a silent node, and not right after a failure (an order
    /// that ran out of time has waited long enough already). `Err` is the wait to answer with.
    pub(crate) fn next_allowed(&self, rule: &Rule<'_>, node_online: bool, now: Timestamp) -> Result<(), Wait> {
        if self.given >= rule.given_max {
            let because = format!(
                "{} orders to {} ended without success; an operator has to look at the node.",
                self.given, rule.purpose
            );
            return Err(Wait::new(rule.exhausted_code, because, 0, OPERATOR_LOOK_S));
        }
        if !node_online {
            let because = format!(
                "The node has not been heard of lately; the order to {} goes out when it is back.",
                rule.purpose
            );
            return Err(Wait::new("node_silent", because, SILENT_BUDGET_S, SILENT_LOOK_S));
        }
        let Some(failed) = self.newest.filter(|order| order.state == TaskState::Failed) else { return Ok(()) };
        let pause_s = pause_after_failure_s(self.given);
        let left_us = failed.since.plus_seconds(pause_s).micros_since(now);
        if left_us <= 0 {
            return Ok(());
        }
        let because =
            format!("The order to {} failed {} times; it is repeated after {pause_s} s.", rule.purpose, self.given);
        Err(Wait::new("retry_pause", because, pause_s, whole_seconds(left_us).min(pause_s)))
    }
}

/// How orders of one kind are repeated.
pub(crate) struct Rule<'a> {
    /// What the order is for, to follow "to".
    pub purpose: &'a str,
    /// No more than this many.
    pub given_max: i64,
    /// The wait code once there are that many.
    pub exhausted_code: &'a str,
}

const OPERATOR_LOOK_S: i64 = 3600;
const SILENT_BUDGET_S: i64 = 600;
const SILENT_LOOK_S: i64 = 30;
const PAUSE_FIRST_S: i64 = 5;
const PAUSE_DOUBLINGS_MAX: i64 = 6;

// 5, 10, 20 … 320 seconds.
fn pause_after_failure_s(given: i64) -> i64 {
    PAUSE_FIRST_S << (given - 1).clamp(0, PAUSE_DOUBLINGS_MAX)
}

/// Microseconds as seconds, rounded up so that the next look is not a moment too early.
pub(crate) fn whole_seconds(us: i64) -> i64 {
    us.div_euclid(MICROS_PER_SECOND) + i64::from(us.rem_euclid(MICROS_PER_SECOND) > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RULE: Rule<'static> = Rule { purpose: "start the guest", given_max: 3, exhausted_code: "exhausted" };

    fn orders(state: TaskState, given: i64) -> Orders {
        Orders { newest: Some(OrderView { state, since: Timestamp::from_micros(1_000_000) }), given }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000).plus_seconds(seconds)
    }

    #[test]
    fn a_failed_order_is_repeated_after_a_pause_that_doubles() {
        let wait = orders(TaskState::Failed, 2).next_allowed(&RULE, true, at(4)).unwrap_err();
        assert_eq!((wait.code.as_str(), wait.look_again_s), ("retry_pause", 6));
        assert_eq!(orders(TaskState::Failed, 2).next_allowed(&RULE, true, at(10)), Ok(()));
    }

    #[test]
    fn an_expired_order_is_repeated_at_once() {
        assert_eq!(orders(TaskState::Expired, 1).next_allowed(&RULE, true, at(0)), Ok(()));
    }

    #[test]
    fn the_limit_counts_before_everything_else() {
        let wait = orders(TaskState::Expired, 3).next_allowed(&RULE, false, at(0)).unwrap_err();
        assert_eq!(wait.code, "exhausted");
    }

    #[test]
    fn a_silent_node_gets_no_orders() {
        let wait = Orders::default().next_allowed(&RULE, false, at(0)).unwrap_err();
        assert_eq!(wait.code, "node_silent");
    }

    #[test]
    fn a_clock_that_jumped_back_delays_by_one_pause_at_most() {
        let wait = orders(TaskState::Failed, 1).next_allowed(&RULE, true, Timestamp::from_micros(0)).unwrap_err();
        assert_eq!(wait.look_again_s, 5);
    }
}
