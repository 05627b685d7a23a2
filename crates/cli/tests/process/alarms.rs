//! What the code that runs inside the test process would have logged as an error.

use std::{
    fmt::{Debug, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

static RAISED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn raised() -> MutexGuard<'static, Vec<String>> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to listen. Once for the whole process; later calls change nothing.
pub fn listen() {
    let _ = tracing::subscriber::set_global_default(Listener);
}

/// Fails when there was one that no fault of the surroundings explains.
pub fn none_raised() {
    let bad: Vec<String> = raised().iter().filter(|line| is_never_right(line)).cloned().collect();
    assert!(bad.is_empty(), "errors inside the test process:\n{}", bad.join("\n"));
}

/// Whether a line of a log tells of a broken rule, a panic, or an embedded store in doubt: nothing that is done to the
/// processes in these tests is a reason for any of them.
pub fn is_never_right(line: &str) -> bool {
    ["a rule was broken", "panicked", "store_poisoned"].iter().any(|word| line.contains(word))
}

struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        raised().push(line.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}
