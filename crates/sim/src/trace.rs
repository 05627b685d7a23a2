//! What happened in a world, line by line: a hash over all of it, and the last lines for people. Two runs of one seed must
//! have the same hash.

use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// Lines that a failure shows.
pub const LINES_KEPT: usize = 30;

/// The trace of one world.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    hash: Sha256,
    last: VecDeque<String>,
    aloud: bool,
    all: Vec<String>,
}

impl Trace {
    /// An empty one; `aloud` keeps every line.
    pub fn new(aloud: bool) -> Self {
        Self { aloud, ..Self::default() }
    }
    /// Adds a line.
    pub fn note(&mut self, line: String) {
        self.hash.update(line.as_bytes());
        self.hash.update(b"\n");
        if self.aloud {
            self.all.push(line);
            return;
        }
        if self.last.len() == LINES_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }
    /// The hash so far, in hexadecimal.
    pub fn hash(&self) -> String {
        self.hash.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
    /// The last lines, or all of them if they were kept.
    pub fn lines(&self) -> Vec<String> {
        if self.aloud { self.all.clone() } else { self.last.iter().cloned().collect() }
    }
}
