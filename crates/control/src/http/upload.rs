//! The bytes of an image on their way in. Who brings them is asked before the first of them is read, and they go straight to
//! the disk; only when they are whole and are what the entry says is the request carried out like any other.

use std::time::Duration;

use api::{Code, Endpoint as _, Problem, headers as names, image::ImageUpload};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use model::image::ImageSpec;
use tokio::sync::mpsc;

use crate::{
    authz::token::Secret,
    front_door::{FrontDoor, Request},
    image_files::{ContentFault, ImageFiles, Received},
};
use store::Db;

/// Whether a request brings the bytes of an image.
pub(super) fn is_upload(operation: &str) -> bool {
    operation == ImageUpload::OPERATION.id
}

/// Chunks on their way to the disk at most.
const CHUNKS_MAX: usize = 16;

/// What an upload needs.
pub(super) struct Upload<'a> {
    pub(super) door: &'a FrontDoor,
    pub(super) db: &'a Db,
    pub(super) token: Option<Secret>,
    /// How long the next bytes may take to come.
    pub(super) stall: Duration,
}

impl Upload<'_> {
    /// Takes the bytes in. What is left of the body comes back with a refusal, so that it can be read and dropped.
    pub(super) async fn take(
        &self,
        request: &Request,
        mut body: Incoming,
    ) -> Result<Received, (Problem, Option<Incoming>)> {
        let admitted = match &self.token {
            Some(token) => self.door.upload_allowed(self.db, token, request).await,
            None => Err(crate::authz::unauthenticated()),
        };
        let (entry, files) = match admitted {
            Ok(admitted) => admitted,
            Err(problem) => return Err((problem, Some(body))),
        };
        let Some(_place) = files.place() else {
            let problem = Problem::new(Code::RateLimited, "Other images are being uploaded.").with_retry_after(5);
            return Err((problem, Some(body)));
        };
        if let Some(length) = body.size_hint().exact().filter(|length| *length != entry.size_bytes) {
            let fault = ContentFault::Short { expected: entry.size_bytes, found: length };
            return Err((refused(&fault), Some(body)));
        }
        let (send, chunks) = mpsc::channel(CHUNKS_MAX);
        let name = self.door.request_id(&request.headers);
        let writing = tokio::task::spawn_blocking(move || write(&files, &entry, &name, chunks));
        let brought = self.pump(&mut body, send).await;
        let written = writing.await.unwrap_or_else(|error| Err(internal(&error)));
        match (brought, written) {
            // Who was late or broke off is told that, not that bytes are missing.
            (Err(problem), _) => Err((problem, None)),
            (Ok(()), Ok(received)) => Ok(received),
            (Ok(()), Err(problem)) => Err((problem, Some(body))),
        }
    }

    /// Hands chunks on until they end, or until nobody takes them any more.
    async fn pump(&self, body: &mut Incoming, send: mpsc::Sender<Bytes>) -> Result<(), Problem> {
        loop {
            let late = |_| Problem::new(Code::RequestTimeout, "The bytes took too long to arrive.").with_retry_after(1);
            let frame = tokio::time::timeout(self.stall, body.frame()).await.map_err(late)?;
            let Some(frame) = frame else { return Ok(()) };
            let cut = |_| Problem::new(Code::RequestTimeout, "The connection ended before the bytes did.");
            let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
            if send.send(data).await.is_err() {
                return Ok(());
            }
        }
    }
}

fn write(
    files: &ImageFiles,
    entry: &ImageSpec,
    name: &str,
    chunks: mpsc::Receiver<Bytes>,
) -> Result<Received, Problem> {
    files.receive(entry, name, chunks).map_err(|fault| match &fault {
        ContentFault::Disk(error) => internal(error),
        _ => refused(&fault),
    })
}

fn refused(fault: &ContentFault) -> Problem {
    let detail = "The bytes are not what the entry of the image says; nothing of them was kept.";
    Problem::new(Code::ImageRefused, detail).with_field("content", fault.to_string())
}

fn internal(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, alert = "image_not_written", header = names::REQUEST_ID, "an image could not be written");
    crate::front_door::internal()
}
