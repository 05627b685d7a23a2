//! Streams, as agents see them: they are told which are wanted of their node, and open each with an upgraded call, once. Only
//! the node that holds the guest gets it; what another node asks for does not exist for it, and is noted.

use api::{
    Code, Problem,
    node_plane::{FromControl, STREAM_PATH, STREAM_PROTOCOL, StreamRefused},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use model::{NodeId, StreamId, supply::IncidentKind};
use store::{StoreError, streams};

use super::{
    peer::Peer,
    service::{Answer, Connection, Door, read, refused, respond},
};
use crate::{
    front_door::JSON,
    streams::{NotTaken, wanted},
};

/// The stream that a path names; the inner none where it names none that could be.
pub(super) fn asked_for(path: &str) -> Option<Option<StreamId>> {
    let id = path.strip_prefix(STREAM_PATH)?.strip_prefix('/')?;
    Some(id.parse().ok())
}

impl Door {
    /// What a node is told about the streams that are wanted of it now.
    pub(super) async fn streams_wanted(&self, node: &NodeId) -> Result<Vec<FromControl>, Problem> {
        let (id, now) = (node.clone(), self.parts.ports.now());
        let read = move |tx: &mut store::Tx<'_>| streams::wanted_of_node(tx, &id, now);
        let store_down = |error: StoreError| crate::front_door::Refusal::from(error).into_problem();
        let rows = self.parts.db.read_async(read).await.map_err(store_down)?;
        self.board.told(rows.iter().map(|row| &row.id));
        Ok(rows.iter().map(|row| FromControl::StreamWanted(wanted(row))).collect())
    }

    /// A call that opens a stream, or says that it cannot be opened.
    pub(super) async fn stream(
        &self,
        request: hyper::Request<Incoming>,
        id: Option<StreamId>,
        connection: &Connection,
    ) -> Answer {
        match self.opened(request, id, connection).await {
            Ok(answer) => answer,
            Err(problem) => {
                let node = connection.node().map(tracing::field::display);
                tracing::debug!(node, %problem, "a stream was not opened");
                refused(&problem)
            }
        }
    }

    async fn opened(
        &self,
        mut request: hyper::Request<Incoming>,
        id: Option<StreamId>,
        connection: &Connection,
    ) -> Result<Answer, Problem> {
        if request.method() != http::Method::POST {
            return Err(Problem::new(Code::MethodNotAllowed, "This path takes POST."));
        }
        let peer = self.identified(connection).await?;
        if self.by_node.check_key(&peer.node_id).is_err() {
            return Err(Problem::new(Code::RateLimited, "Too many calls at once from one node.").with_retry_after(1));
        }
        let id = id.ok_or_else(Problem::not_found)?;
        let upgrade = request.headers().get(header::UPGRADE).cloned();
        let Some(protocol) = upgrade else {
            let body = self.body(request, Some(&peer.node_id)).await?;
            let why: StreamRefused = read(&body)?;
            let done = self.parts.gateway.refuse(&self.parts.db, &peer.node_id, &id, &why.detail).await;
            self.judged(peer, &id, done).await?;
            return Ok(respond(StatusCode::OK, JSON, b"{}".to_vec()));
        };
        if protocol != STREAM_PROTOCOL || request.version() != http::Version::HTTP_11 {
            let accepted = format!("{STREAM_PROTOCOL}, with Connection: Upgrade over HTTP/1.1");
            return Err(Problem::new(Code::UpgradeRequired, "This path opens a stream.")
                .with_field(api::headers::UPGRADE, accepted));
        }
        let upgrade = hyper::upgrade::on(&mut request);
        let (db, ports) = (&self.parts.db, &self.parts.ports);
        let taken = self.parts.gateway.take((db, ports), (&peer.node_id, &peer.serial), &id).await;
        let deliver = self.judged(peer, &id, taken).await?;
        tokio::spawn(async move {
            match upgrade.await {
                // A client that is gone by now takes the connection with it.
                Ok(guest) => drop(deliver.send(Ok(guest))),
                Err(error) => tracing::debug!(%error, stream = %id, "the connection of a host did not become a stream"),
            }
        });
        let nothing = Empty::<Bytes>::new().map_err(|never| match never {});
        let mut answer = hyper::Response::new(nothing.boxed());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        answer.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(STREAM_PROTOCOL));
        Ok(answer)
    }

    /// Notes a node that reached for another node's guest.
    async fn judged<T>(&self, peer: &Peer, id: &StreamId, done: Result<T, NotTaken>) -> Result<T, Problem> {
        if matches!(done, Err(NotTaken::NotYours)) {
            let detail = format!("It asked for the stream {id} to another node's guest.");
            self.suspect(&peer.node_id, IncidentKind::ActedForAnother, detail).await;
        }
        done.map_err(NotTaken::into_problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stream_s_own_path_names_it() {
        let id = StreamId::from_parts(model::Timestamp::from_micros(1), [3; 10]);
        assert_eq!(asked_for(&format!("{STREAM_PATH}/{id}")), Some(Some(id.clone())));
        assert_eq!(asked_for(&format!("{STREAM_PATH}/alc_1")), Some(None));
        for path in [STREAM_PATH.to_owned(), format!("{STREAM_PATH}s/{id}"), "/agent/v1/messages".to_owned()] {
            assert_eq!(asked_for(&path), None, "{path}");
        }
    }
}
