//! Reading a tree with suspicion: every value has a shape and a length, and what breaks them becomes a note instead of a
//! value.

use super::DiscoveryNote;
use crate::tree::Tree;
use serde::de::DeserializeOwned;
use std::{collections::BTreeSet, str::FromStr};

/// The longest value that is passed on.
const LINE_BYTES_MAX: usize = 256;
/// More notes than this are counted, not listed.
const NOTES_MAX: usize = 200;

pub(super) struct Scan<'a> {
    pub(super) tree: &'a Tree,
    notes: BTreeSet<DiscoveryNote>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        Self { tree, notes: BTreeSet::new() }
    }

    pub(super) fn note(&mut self, path: &str, reason: &str) {
        self.notes.insert(DiscoveryNote { path: brief(path), reason: brief(reason) });
    }

    pub(super) fn notes(self) -> Vec<DiscoveryNote> {
        let more = self.notes.len().saturating_sub(NOTES_MAX);
        let mut notes: Vec<DiscoveryNote> = self.notes.into_iter().take(NOTES_MAX).collect();
        if more > 0 {
            notes.push(DiscoveryNote { path: String::new(), reason: format!("{more} more notes were left out") });
        }
        notes
    }

    /// One line of printable text. An empty file has no value.
    pub(super) fn line(&mut self, path: &str) -> Option<String> {
        let text = self.tree.text(path).filter(|text| !text.is_empty())?;
        self.printable(path, text)
    }

    /// A value that was found inside a file.
    pub(super) fn printable(&mut self, path: &str, text: &str) -> Option<String> {
        if text.len() > LINE_BYTES_MAX {
            self.note(path, &format!("expected at most {LINE_BYTES_MAX} bytes on one line, found {}", text.len()));
            return None;
        }
        if text.chars().any(|c| c.is_control() || c == char::REPLACEMENT_CHARACTER) {
            self.note(path, "expected one line of printable text");
            return None;
        }
        Some(text.trim().to_owned())
    }

    /// A decimal number.
    pub(super) fn number<N: FromStr>(&mut self, path: &str) -> Option<N> {
        let line = self.line(path)?;
        let number = line.parse().ok();
        if number.is_none() {
            self.note(path, &format!("expected a number, found `{line}`"));
        }
        number
    }

    /// A hexadecimal number such as `0x10de`.
    pub(super) fn hex(&mut self, path: &str) -> Option<u32> {
        let line = self.line(path)?;
        let number = u32::from_str_radix(line.strip_prefix("0x").unwrap_or(&line), 16).ok();
        if number.is_none() {
            self.note(path, &format!("expected a hexadecimal number, found `{line}`"));
        }
        number
    }

    /// An answer that the agent put into the tree. `None` when there is none, or when it cannot be read.
    pub(super) fn probe<P: DeserializeOwned>(&mut self, path: &str) -> Option<P> {
        match serde_json::from_str(self.tree.text(path)?) {
            Ok(probe) => Some(probe),
            Err(fault) => {
                self.note(path, &format!("cannot be read: {fault}"));
                None
            }
        }
    }
}

fn brief(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LINE_BYTES_MAX).collect()
}
