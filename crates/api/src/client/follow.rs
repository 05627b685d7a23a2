//! Following the event stream: connect, read, and after any interruption go on behind the last event that was handed out.

use reqwest::{
    Response,
    header::{ACCEPT, AUTHORIZATION},
};
use std::{collections::VecDeque, time::Duration};

use super::{Client, ClientError, sse};
use crate::{
    endpoint::Endpoint,
    event::{CloudEvent, EventStream},
    headers,
};

/// Without a byte for this long, comments included, the connection is taken for dead.
const SILENCE_S_MAX: u64 = 60;

/// A live stream of events. Each event is handed out once and in order, as long as the follower lives: what the server
/// sends again after a reconnect is left out.
#[derive(Debug)]
pub struct Follower {
    client: Client,
    after: Option<i64>,
    connection: Option<(Response, sse::Reader)>,
    ready: VecDeque<CloudEvent>,
    failures: u32,
}

impl Follower {
    pub(super) fn new(client: Client, after: Option<i64>) -> Self {
        Self { client, after, connection: None, ready: VecDeque::new(), failures: 0 }
    }

    /// The position of the last event that was handed out; what to store in order to go on later.
    pub fn position(&self) -> Option<i64> {
        self.after
    }

    /// The next event, however long that takes. Gives up after as many failures in a row as the client has patience for,
    /// and at once when the platform refuses for good; calling again tries again from the same position.
    pub async fn next(&mut self) -> Result<CloudEvent, ClientError> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                if let Some(event) = self.take(event)? {
                    return Ok(event);
                }
            }
            if let Err(error) = self.read_some().await {
                self.connection = None;
                self.rest(error).await?;
            }
        }
    }

    /// Hands out an event unless it was handed out before.
    fn take(&mut self, event: CloudEvent) -> Result<Option<CloudEvent>, ClientError> {
        let sequence: i64 =
            event.sequence.parse().map_err(|_| self.bad_stream(format!("`{}` is not a sequence", event.sequence)))?;
        if self.after.is_some_and(|after| sequence <= after) {
            return Ok(None);
        }
        self.after = Some(sequence);
        Ok(Some(event))
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
        for frame in reader.push(&chunk).map_err(|e| self.bad_stream(e.to_string()))? {
            let event = serde_json::from_str(&frame.data)
                .map_err(|e| self.bad_stream(format!("an event is not as declared: {e}")))?;
            self.ready.push_back(event);
        }
        // Any byte proves that the server serves; only then may the count of failures start again.
        self.failures = 0;
        self.connection = Some((response, reader));
        Ok(())
    }

    async fn connect(&self) -> Result<Response, ClientError> {
        let url = self.client.address(EventStream::OPERATION.path)?;
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
        if response.status().as_u16() == EventStream::OPERATION.success.status() {
            Ok(response)
        } else {
            Err(self.client.refusal(response).await)
        }
    }

    /// Waits before the next try, or gives the error back.
    async fn rest(&mut self, error: ClientError) -> Result<(), ClientError> {
        if !error.may_try_again(&EventStream::OPERATION) {
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
            status: EventStream::OPERATION.success.status(),
            detail,
        }
    }
}
