//! Where an HTTP connection becomes a stream to a guest, and where the recordings of consoles are handed out.

use api::{Code, Problem, node_plane::STREAM_PROTOCOL};
use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{Empty, StreamBody, combinators::BoxBody};
use hyper::{
    body::{Frame, Incoming},
    upgrade::OnUpgrade,
};
use tokio::io::AsyncReadExt as _;

use super::service::{Answer, Service, plain};
use crate::{
    authz::token::Secret,
    front_door::{RecordingFile, Response, internal},
    streams::Opening,
};

/// What the connection of a request becomes, if the request asks for that.
pub(super) fn upgrade_of(request: &mut hyper::Request<Incoming>) -> Option<OnUpgrade> {
    let asked = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let says_so = asked(header::CONNECTION)
        .is_some_and(|words| words.split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade")));
    let may = request.version() == http::Version::HTTP_11 && says_so && asked(header::UPGRADE).is_some();
    may.then(|| hyper::upgrade::on(request))
}

impl Service {
    /// Waits for the host of a guest, and answers once both ends are there.
    pub(super) async fn open(
        &self,
        opening: Opening,
        token: Secret,
        upgrade: Option<OnUpgrade>,
    ) -> Result<Answer, Problem> {
        let (parts, gateway) = (&self.parts, &self.parts.door.config().gateway);
        let expected = gateway.expect(&parts.db, parts.door.ports(), opening, token);
        // Only now: the node must not find a stream that nobody waits for.
        parts.poke.poke();
        // The door refused already what cannot be upgraded.
        let client = upgrade.ok_or_else(internal)?;
        let arrived = expected.arrived().await?;
        arrived.carry(client, parts.metrics.guest_stream_opened());
        let mut answer = hyper::Response::new(BoxBody::new(Empty::new()));
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = answer.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static(STREAM_PROTOCOL));
        Ok(answer)
    }

    /// A recording as it is on the disk.
    pub(super) async fn recording(&self, file: &RecordingFile) -> Result<Answer, Problem> {
        let elsewhere = || {
            let detail = format!("The recording is kept by the replica {}; ask there.", file.replica);
            Problem::new(Code::StateConflict, detail)
        };
        let path = self.parts.door.config().gateway.recording_path(&file.stream_id).ok_or_else(elsewhere)?;
        let kept = match tokio::fs::File::open(&path).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "a recording cannot be read");
                return Err(elsewhere());
            }
        };
        let length = kept.metadata().await.map_err(|_| elsewhere())?.len();
        let mut answer = plain(Response { content_type: "application/octet-stream", ..Response::empty(200) });
        *answer.body_mut() = BoxBody::new(StreamBody::new(pieces(kept).map(|piece| Ok(Frame::data(piece)))));
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        let name = format!("attachment; filename=\"{}.log\"", file.stream_id);
        headers.extend(HeaderValue::from_str(&name).ok().map(|name| (header::CONTENT_DISPOSITION, name)));
        Ok(answer)
    }
}

const PIECE_BYTES: usize = 64 * 1024;

/// A file in pieces. One that cannot be read on ends early, which the length in the head gives away.
fn pieces(file: tokio::fs::File) -> impl futures::Stream<Item = Bytes> + Send {
    futures::stream::unfold(file, |mut file| async move {
        let mut piece = vec![0; PIECE_BYTES];
        match file.read(&mut piece).await {
            Ok(bytes @ 1..) => {
                piece.truncate(bytes);
                Some((Bytes::from(piece), file))
            }
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "a recording could not be read to its end");
                None
            }
        }
    })
}
