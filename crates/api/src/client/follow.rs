//! Following a stream: connect, read, and after any interruption go on behind the last event that was handed out.

use reqwest::{
    Response,
    header::{ACCEPT, AUTHORIZATION},
};
use serde::de::DeserializeOwned;
use std::{collections::VecDeque, time::Duration};

use super::{Client, ClientError, sse};
use crate::{
    endpoint::{Endpoint, Operation},
    event::{CloudEvent, EventStream},
    headers,
    timeline::{TimelineEntry, TimelineState, TimelineStream},
};

/// Without a byte for this long, comments included, the connection is taken for dead.
const SILENCE_S_MAX: u64 = 60;

/// A live stream of events. Each event is handed out once and in order, as long as the follower lives: what the server
/// sends again after a reconnect is left out.
#[derive(Debug)]
pub struct Follower {
    frames: Frames,
}

impl Follower {
    pub(super) fn new(client: Client, after: Option<i64>) -> Self {
        Self { frames: Frames::new(client, EventStream::OPERATION, EventStream::OPERATION.path.to_owned(), after) }
    }

    /// The position of the last event that was handed out; what to store in order to go on later.
    pub fn position(&self) -> Option<i64> {
        self.frames.after
    }

    /// The next event, however long that takes. Gives up after as many failures in a row as the client has patience for,
    /// and at once when the platform refuses for good; calling again tries again from the same position.
    pub async fn next(&mut self) -> Result<CloudEvent, ClientError> {
        loop {
            let event: CloudEvent = self.frames.next().await?;
            let not_one = || self.frames.bad_stream(format!("`{}` is not a sequence", event.sequence));
            let sequence: i64 = event.sequence.parse().map_err(|_| not_one())?;
            if self.frames.after.is_none_or(|after| sequence > after) {
                self.frames.after = Some(sequence);
                return Ok(event);
            }
        }
    }
}

/// The live timeline of one allocation, from behind a position to its end.
#[derive(Debug)]
pub struct TimelineFollower {
    frames: Frames,
    ended: bool,
}

impl TimelineFollower {
    pub(super) fn new(client: Client, path: String, after: i64) -> Self {
        Self { frames: Frames::new(client, TimelineStream::OPERATION, path, Some(after)), ended: false }
    }

    /// The next entry, however long that takes; nothing once the last one was handed out. Entries come once and in order;
    /// between them comes how far the step under way has come, as often as that changes.
    pub async fn next(&mut self) -> Result<Option<TimelineEntry>, ClientError> {
        while !self.ended {
            let entry: TimelineEntry = self.frames.next().await?;
            self.ended = entry.is_last();
            if entry.state == TimelineState::Progress {
                return Ok(Some(entry));
            }
            if self.frames.after.is_none_or(|after| entry.position > after) {
                self.frames.after = Some(entry.position);
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

/// The frames of one stream, across as many connections as it takes.
#[derive(Debug)]
struct Frames {
    client: Client,
    operation: Operation,
    path: String,
    after: Option<i64>,
    connection: Option<(Response, sse::Reader)>,
    ready: VecDeque<sse::Frame>,
    failures: u32,
}

impl Frames {
    fn new(client: Client, operation: Operation, path: String, after: Option<i64>) -> Self {
        Self { client, operation, path, after, connection: None, ready: VecDeque::new(), failures: 0 }
    }

    /// What the next frame carries.
    async fn next<T: DeserializeOwned>(&mut self) -> Result<T, ClientError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return serde_json::from_str(&frame.data)
                    .map_err(|e| self.bad_stream(format!("an event is not as declared: {e}")));
            }
            if let Err(error) = self.read_some().await {
                self.connection = None;
                self.rest(error).await?;
            }
        }
    }

    async fn read_some(&mut self) -> Result<(), ClientError> {
        let (mut response, mut reader) = match self.connection.take() {
            Some(connection) => connection,
            None => (self.connect().await?, sse::Reader::default()),
        };
        let silence = Duration::from_secs(SILENCE_S_MAX);
        let chunk = match tokio::time::timeout(silence, response.chunk()).await {
            Ok(read) => read.map_err(|e| self.client.transport(&e))?,
            Err(_) => return Err(self.lost(format!("no sign of life for {SILENCE_S_MAX} seconds"))),
        };
        let Some(chunk) = chunk else { return Err(self.lost("the stream ended".to_owned())) };
        self.ready.extend(reader.push(&chunk).map_err(|e| self.bad_stream(e.to_string()))?);
        // Any byte proves that the server serves; only then may the count of failures start again.
        self.failures = 0;
        self.connection = Some((response, reader));
        Ok(())
    }

    async fn connect(&self) -> Result<Response, ClientError> {
        let url = self.client.address(&self.path)?;
        let mut request = self
            .client
            .http
            .get(url)
            .header(AUTHORIZATION, self.client.authorization.clone())
            .header(ACCEPT, "text/event-stream, application/problem+json");
        if let Some(after) = self.after {
            request = request.header(headers::LAST_EVENT_ID, after);
        }
        let answer = tokio::time::timeout(Duration::from_secs(SILENCE_S_MAX), request.send()).await;
        let response = match answer {
            Ok(sent) => sent.map_err(|e| self.client.transport(&e))?,
            Err(_) => return Err(self.lost(format!("no answer for {SILENCE_S_MAX} seconds"))),
        };
        if response.status().as_u16() == self.operation.success.status() {
            Ok(response)
        } else {
            Err(self.client.refusal(response).await)
        }
    }

    /// Waits before the next try, or gives the error back.
    async fn rest(&mut self, error: ClientError) -> Result<(), ClientError> {
        if !error.may_try_again(&self.operation) {
            return Err(error);
        }
        self.failures += 1;
        match self.client.patience.wait_before(self.failures + 1, error.asked_wait()) {
            Some(wait) => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            None => {
                self.failures = 0;
                Err(error)
            }
        }
    }

    fn lost(&self, detail: String) -> ClientError {
        ClientError::Transport { address: self.client.base.as_str().to_owned(), detail, never_arrived: false }
    }

    fn bad_stream(&self, detail: String) -> ClientError {
        ClientError::Unexpected {
            address: self.client.base.as_str().to_owned(),
            status: self.operation.success.status(),
            detail,
        }
    }
}
