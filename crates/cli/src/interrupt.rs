//! Ctrl-C. A command ends at once with code 130 and, when it was waiting for work that goes on without it, says how to take
//! up the wait again. The control plane ends in its own time instead: it asks for that with [`leave_to_command`].

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::signal::unix::{SignalKind, signal};

use crate::{exit::Exit, output};

static LAST_WORD: Mutex<Option<String>> = Mutex::new(None);
static LEFT_TO_COMMAND: AtomicBool = AtomicBool::new(false);

/// Takes the word back when the wait is over.
pub struct Word(());

impl Drop for Word {
    fn drop(&mut self) {
        *LAST_WORD.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// What to say should Ctrl-C come while the answer lives.
pub fn leave_word(text: String) -> Word {
    *LAST_WORD.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    Word(())
}

/// From here on the command itself sees to Ctrl-C.
pub fn leave_to_command() {
    LEFT_TO_COMMAND.store(true, Ordering::SeqCst);
}

/// Watches for Ctrl-C on a thread of its own, so that it is heard while a question waits for its answer. It is watched for
/// when this returns, not some time later.
pub fn watch(runtime: &tokio::runtime::Runtime) {
    let _inside = runtime.enter();
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else { return };
    runtime.spawn(async move {
        while interrupts.recv().await.is_some() {
            if LEFT_TO_COMMAND.load(Ordering::SeqCst) {
                continue;
            }
            let word = LAST_WORD.lock().unwrap_or_else(PoisonError::into_inner).take();
            output::note(&word.map_or("\ninterrupted".to_owned(), |word| format!("\ninterrupted; {word}")));
            std::process::exit(i32::from(Exit::Interrupted.number()));
        }
    });
}
