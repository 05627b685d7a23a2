//! Server-sent events: numbered events in order, each frame with the number as its `id`, so that a client that comes back
//! with `Last-Event-ID` misses nothing. Delivery is at least once.
//!
//! A stream reads the store in batches, and only as fast as its client takes them: between two batches nothing is held.
//! Every batch, and every heartbeat, authenticates the token again, so a stream ends soon after its token does.
//!
//! The timeline of an allocation is a stream of the same form. It ends behind its last entry; while an order is under way it
//! is looked at more often, because how far a host has come is no event.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures::stream::{self, Stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use store::Db;
use tokio::{sync::watch, time::Instant};

use api::{
    Problem,
    asyncapi::ENTRY_TYPE,
    timeline::{TimelineEntry, TimelineState},
};

use crate::{
    authz::token::Secret,
    front_door::{FrontDoor, StreamOf, StreamStart},
};

/// How often a timeline is looked at while nothing is known to be new.
const LOOK: Duration = Duration::from_millis(500);

struct State {
    of: StreamOf,
    // The step under way, as it was last told.
    told: Option<TimelineEntry>,
    spoke: Instant,
    door: FrontDoor,
    db: Db,
    secret: Secret,
    after: i64,
    head: watch::Receiver<i64>,
    stop: watch::Receiver<bool>,
    heartbeat: Duration,
    opened: bool,
    // A heartbeat is due: look, though nothing is known to be new.
    beat: bool,
}

/// What a stream needs of the server.
pub(super) struct Source {
    pub(super) door: FrontDoor,
    pub(super) db: Db,
    pub(super) head: watch::Receiver<i64>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) heartbeat: Duration,
}

type Chunk = Result<Frame<Bytes>, Infallible>;

/// The body of a stream that starts after a position.
pub(super) fn body(source: Source, secret: Secret, start: StreamStart) -> StreamBody<impl Stream<Item = Chunk> + Send> {
    let (Source { door, db, head, stop, heartbeat }, StreamStart { after, of }) = (source, start);
    let state = State {
        of,
        told: None,
        spoke: Instant::now(),
        door,
        db,
        secret,
        after,
        head,
        stop,
        heartbeat,
        opened: false,
        beat: false,
    };
    StreamBody::new(stream::unfold(Some(state), |state| async move {
        let (text, state) = next(state?).await?;
        Some((Ok(Frame::data(Bytes::from(text))), state))
    }))
}

/// The next piece of text, and the state to go on with; no state ends the stream after this piece.
async fn next(mut state: State) -> Option<(String, Option<State>)> {
    if !state.opened {
        // Sent at once, so that a client knows it is connected before anything happens.
        state.opened = true;
        state.beat = true;
        return Some((": connected\nretry: 2000\n\n".to_owned(), Some(state)));
    }
    loop {
        if !state.beat && *state.head.borrow_and_update() <= state.after {
            let stopped = async {
                // An error means that the server is gone, which is as good a reason.
                let _ = state.stop.wait_for(|stop| *stop).await;
            };
            let pause = if state.of == StreamOf::Events { state.heartbeat } else { LOOK.min(state.heartbeat) };
            tokio::select! {
                () = stopped => return None,
                changed = state.head.changed() => changed.ok()?,
                () = tokio::time::sleep(pause) => state.beat = true,
            }
            continue;
        }
        let batch = match state.batch().await {
            Ok(batch) => batch,
            Err(problem) => {
                // A comment, since a frame would be taken for an event; the next request is told what is wrong.
                return Some((format!(": {}\n\n", problem.code), None));
            }
        };
        let beat = std::mem::take(&mut state.beat);
        if batch.ended {
            return Some((batch.text + ": ended\n\n", None));
        }
        if !batch.text.is_empty() {
            state.spoke = Instant::now();
            return Some((batch.text, Some(state)));
        }
        if beat && state.quiet_for_long() {
            // An id without data moves the reader's position past events that were not for them.
            return Some((format!(": alive\nid: {}\n\n", state.after), Some(state)));
        }
        // What is new is not for this caller; wait for more. A reader's snapshot may lag behind the number that was
        // announced, and must not be asked for it in a tight loop.
        if *state.head.borrow() > state.after {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Some frames, and whether they were the last.
#[derive(Default)]
struct Batch {
    text: String,
    ended: bool,
}

impl State {
    // Looks are more frequent than signs of life where percents are looked for.
    fn quiet_for_long(&mut self) -> bool {
        let long = self.of == StreamOf::Events || self.spoke.elapsed() >= self.heartbeat;
        if long {
            self.spoke = Instant::now();
        }
        long
    }

    async fn batch(&mut self) -> Result<Batch, Problem> {
        match self.of.clone() {
            StreamOf::Events => self.events().await,
            StreamOf::Timeline(id) => self.timeline(&id).await,
        }
    }

    async fn events(&mut self) -> Result<Batch, Problem> {
        let batch = self.door.stream_batch(&self.db, &self.secret, self.after).await?;
        self.after = self.after.max(batch.through);
        let mut text = String::new();
        for event in &batch.events {
            let data = serde_json::to_string(event).unwrap_or_default();
            text.push_str(&format!("id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.event_type));
        }
        Ok(Batch { text, ended: false })
    }

    async fn timeline(&mut self, id: &model::AllocationId) -> Result<Batch, Problem> {
        let page = self.door.timeline_batch(&self.db, &self.secret, id, self.after).await?;
        self.after = self.after.max(page.next_after);
        let mut text = String::new();
        for entry in &page.items {
            if entry.state == TimelineState::Progress && !self.is_news(entry) {
                continue;
            }
            let data = serde_json::to_string(entry).unwrap_or_default();
            text.push_str(&format!("id: {}\nevent: {ENTRY_TYPE}\ndata: {data}\n\n", entry.position));
        }
        Ok(Batch { text, ended: page.ended })
    }

    // The same percent is not told again and again; a reader who waits is told that it still goes on by the heartbeat.
    fn is_news(&mut self, entry: &TimelineEntry) -> bool {
        let told = self
            .told
            .as_ref()
            .is_some_and(|told| (told.step, told.percent, told.attempt) == (entry.step, entry.percent, entry.attempt));
        if !told {
            self.told = Some(entry.clone());
        }
        !told
    }
}
