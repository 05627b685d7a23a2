//! The events, read as they come: numbers without gap from 1, no event twice, none renumbered by a crash.

use super::{
    PATIENCE,
    book::{Book, made},
    ground::{Asker, Ground},
};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Mutex,
    time::{Duration, Instant},
};

#[derive(Debug, Default)]
pub struct Chronicle {
    /// The id of event n is at n - 1.
    ids: Vec<String>,
    known: HashSet<String>,
    created: HashSet<String>,
    pub launched: usize,
    pub ran: BTreeSet<String>,
    pub ended: BTreeSet<String>,
}

impl Chronicle {
    pub fn head(&self) -> usize {
        self.ids.len()
    }

    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Takes one event in.
    pub fn add(&mut self, event: &serde_json::Value) {
        let text = |field: &str| event[field].as_str().unwrap_or_else(|| panic!("no {field} in {event}")).to_owned();
        let (sequence, subject, id) = (text("sequence"), text("subject"), text("id"));
        assert_eq!(sequence, (self.ids.len() + 1).to_string(), "a gap or a repetition before {event}");
        assert!(self.known.insert(id.clone()), "the same event under two numbers: {event}");
        self.ids.push(id);
        let data = &event["data"];
        if data["change"] == "created" {
            assert!(self.created.insert(subject.clone()), "created twice: {event}");
        }
        if data["noun"] == "allocation" {
            match data["state_to"].as_str() {
                Some("running") => drop(self.ran.insert(subject)),
                Some("released") => drop(self.ended.insert(subject)),
                _ => {}
            }
        }
    }

    /// Reads what is new. Says how many that was.
    pub async fn read(&mut self, asker: &mut Asker, ground: &Ground) -> usize {
        let before = self.head();
        loop {
            let path = format!("/api/v1/events?after={}&page_size=200", self.head());
            let page = asker.get(&path, &ground.operator).await;
            let items = page["items"].as_array().unwrap();
            items.iter().for_each(|event| self.add(event));
            if items.is_empty() {
                return self.head() - before;
            }
        }
    }

    /// Waits until everything that was acknowledged as made has its event, and then reads all of them again: no number may
    /// have changed hands.
    pub async fn complete(&mut self, asker: &mut Asker, ground: &Ground, book: &Mutex<Book>) {
        let (wanted, begun) = (made(&book.lock().unwrap()), Instant::now());
        loop {
            self.read(asker, ground).await;
            let missing: Vec<&String> = wanted.iter().filter(|id| !self.created.contains(*id)).collect();
            if missing.is_empty() {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "made without an event: {} such as {:?}", missing.len(), missing[0]);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let mut again = Self::default();
        again.read(asker, ground).await;
        assert!(again.ids.len() >= self.ids.len(), "events were lost");
        assert!(again.ids[..self.ids.len()] == self.ids[..], "events were renumbered");
    }
}
