//! Runs a [`ControlPlane`] for ever on a thread of its own: step, sleep until the next look or poke, again. It decides
//! nothing. A step that panics is logged and followed by a fresh one; a store that no longer knows what it holds ends the
//! run, and the caller hears of it, because only the caller may end the process.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::plane::{ControlPlane, Poke, StepReport};

/// Why a run ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// It was asked to.
    Stopped,
    /// A COMMIT ended unknown on an embedded store: the process must end and start again (exit code 75).
    StorePoisoned,
}

/// A running plane. Dropping the handle stops it and waits.
#[derive(Debug)]
pub struct RunnerHandle {
    poke: Poke,
    stop: Arc<AtomicBool>,
    latest: Arc<Mutex<StepReport>>,
    thread: Option<JoinHandle<RunEnd>>,
}

impl RunnerHandle {
    /// Asks for a look soon.
    pub fn poke(&self) {
        self.poke.poke();
    }

    /// What the latest step said.
    pub fn latest(&self) -> StepReport {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops after the current step, gives the lease back, and waits for the end.
    pub fn stop(mut self) -> RunEnd {
        self.end()
    }

    fn end(&mut self) -> RunEnd {
        self.stop.store(true, Ordering::Release);
        self.poke.poke();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or(RunEnd::Stopped)
    }
}

impl Drop for RunnerHandle {
    fn drop(&mut self) {
        self.end();
    }
}

// A plane whose steps panic must not burn a core.
const PAUSE_AFTER_PANIC: Duration = Duration::from_secs(1);

/// Starts the thread. `on_poisoned` runs on it when the store is poisoned.
pub fn spawn(plane: ControlPlane, on_poisoned: impl FnOnce() + Send + 'static) -> std::io::Result<RunnerHandle> {
    spawn_observed(plane, |_| {}, on_poisoned)
}

/// The same, with `on_step` told what every step did. It runs between steps, so it must be quick.
pub fn spawn_observed(
    plane: ControlPlane,
    on_step: impl Fn(&StepReport) + Send + 'static,
    on_poisoned: impl FnOnce() + Send + 'static,
) -> std::io::Result<RunnerHandle> {
    let (stop, latest) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(StepReport::default())));
    let (poke, asked, shown) = (plane.poke(), Arc::clone(&stop), Arc::clone(&latest));
    let body = move || {
        let end = run(plane, &asked, &shown, &on_step);
        if end == RunEnd::StorePoisoned {
            on_poisoned();
        }
        end
    };
    let thread = thread::Builder::new().name("control-plane".to_owned()).spawn(body)?;
    Ok(RunnerHandle { poke, stop, latest, thread: Some(thread) })
}

fn run(
    mut plane: ControlPlane,
    stop: &AtomicBool,
    latest: &Mutex<StepReport>,
    on_step: &dyn Fn(&StepReport),
) -> RunEnd {
    let poke = plane.poke();
    while !stop.load(Ordering::Acquire) {
        let report = catch_unwind(AssertUnwindSafe(|| plane.step_now()));
        if plane.store_poisoned() {
            return RunEnd::StorePoisoned;
        }
        let pause = match report {
            Ok(report) => {
                on_step(&report);
                let pause = plane.pause_after(&report);
                *latest.lock().unwrap_or_else(PoisonError::into_inner) = report;
                pause
            }
            Err(_) => {
                tracing::error!(alert = "step_panicked", "a step of the control plane panicked");
                PAUSE_AFTER_PANIC
            }
        };
        poke.wait(pause);
    }
    plane.resign();
    RunEnd::Stopped
}
