//! Progress on standard error: a spinner on a terminal, one line a step elsewhere, nothing with `--quiet`. Whatever takes
//! longer than a second shows that it is alive.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{future::Future, pin::pin, time::Duration};

use crate::{output, safe};

/// After this long a person should see that something is going on.
const PATIENCE: Duration = Duration::from_secs(1);

/// One piece of work that is being shown.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    last: String,
}

impl Progress {
    /// Starts to show work.
    pub fn start(quiet: bool) -> Self {
        let bar = (!quiet && output::can_draw()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar, quiet, last: String::new() }
    }

    /// Says what is being done now.
    pub fn step(&mut self, text: &str) {
        if self.quiet || self.last == text {
            return;
        }
        text.clone_into(&mut self.last);
        match &self.bar {
            Some(bar) => bar.set_message(safe::line(text).into_owned()),
            None => output::note(&safe::line(text)),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Does the work, and shows `what` once it has taken longer than a person waits without wondering.
pub async fn patiently<T>(quiet: bool, what: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    let mut progress = Progress::start(quiet);
    progress.step(what);
    work.await
}
