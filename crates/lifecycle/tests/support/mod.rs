//! What tests of several nouns ask of a decision.

use lifecycle::{
    Next,
    order::{OrderView, Orders},
};
use model::{Timestamp, task::TaskState};

/// So many orders, the last of which came to this long ago.
#[allow(dead_code, reason = "not every noun gives orders")]
pub fn ended(state: TaskState, given: i64) -> Orders {
    Orders { newest: Some(OrderView { state, since: Timestamp::from_micros(0) }), given }
}

/// The code of a wait that says its reason and is bounded; anything else is no wait.
pub fn wait_code<S: std::fmt::Debug, E: std::fmt::Debug>(next: Next<S, E>) -> String {
    match next {
        Next::Wait(wait) => {
            assert!(wait.at_most_s >= 0 && wait.look_again_s > 0 && wait.because.ends_with('.'), "{wait:?}");
            wait.code
        }
        other => panic!("{other:?}"),
    }
}
