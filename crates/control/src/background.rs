//! A thread that does something over and over until it is asked to stop. What it does says how long to rest before the next
//! time; being asked to stop ends the rest, never the doing.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// A running thread. Dropping the handle stops it and waits for what it is doing.
#[derive(Debug)]
pub struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts it under a name; `once` does it once and says how long to rest.
    pub fn start(name: &str, mut once: impl FnMut() -> Duration + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let body = move || {
            while !asked.load(Ordering::Acquire) {
                thread::park_timeout(once());
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Stops it, and waits for what it is doing.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end();
    }
}
