//! Server-sent events: numbered events in order, each frame with the number as its `id`, so that a client that comes back
//! with `Last-Event-ID` misses nothing. Delivery is at least once.
//!
//! A stream reads the store in batches, and only as fast as its client takes them: between two batches nothing is held.
//! Every batch, and every heartbeat, authenticates the token again, so a stream ends soon after its token does.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures::stream::{self, Stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use store::Db;
use tokio::sync::watch;

use crate::{authz::token::Secret, front_door::FrontDoor};

struct State {
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
pub(super) fn body(source: Source, secret: Secret, after: i64) -> StreamBody<impl Stream<Item = Chunk> + Send> {
    let Source { door, db, head, stop, heartbeat } = source;
    let state = State { door, db, secret, after, head, stop, heartbeat, opened: false, beat: false };
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
            tokio::select! {
                () = stopped => return None,
                changed = state.head.changed() => changed.ok()?,
                () = tokio::time::sleep(state.heartbeat) => state.beat = true,
            }
            continue;
        }
        let batch = match state.door.stream_batch(&state.db, &state.secret, state.after).await {
            Ok(batch) => batch,
            Err(problem) => {
                // A comment, since a frame would be taken for an event; the next request is told what is wrong.
                return Some((format!(": {}\n\n", problem.code), None));
            }
        };
        let beat = std::mem::take(&mut state.beat);
        state.after = state.after.max(batch.through);
        let mut text = String::new();
        for event in &batch.events {
            let data = serde_json::to_string(event).unwrap_or_default();
            text.push_str(&format!("id: {}\nevent: {}\ndata: {data}\n\n", event.sequence, event.event_type));
        }
        if !text.is_empty() {
            return Some((text, Some(state)));
        }
        if beat {
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
