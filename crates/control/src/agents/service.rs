//! One call of an agent from head to answer: who is it, is that identity still good, is the body within its limits; then
//! enroll, renew, or hand messages to the node plane and hold the poll among them until there is an order.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use api::{
    Code, Problem,
    node_plane::{
        ENROLL_PATH, EnrollRequest, FromControl, MESSAGES_BYTES_MAX, MESSAGES_MAX, MESSAGES_PATH, Poll, RENEW_PATH,
        RenewRequest, SESSION_HEADER, TasksOffered, ToControl, WAIT_S_MAX,
    },
};
use bytes::Bytes;
use futures::FutureExt as _;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Body as _, Incoming};
use model::{NodeId, supply::IncidentKind};
use serde::de::DeserializeOwned;
use store::StoreError;
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};

use super::{
    AgentsConfig, AgentsParts,
    board::{Board, Orders},
    enroll::{Fault, Registrar, incident},
    images,
    peer::Peer,
    streams,
};
use crate::{
    authority::Authority,
    front_door::{JSON, PROBLEM_JSON, internal},
    image_files::ImageFiles,
    node_plane::NodeRefusal,
};

/// What an answer carries: bytes that are there, or an image that is read as it is sent.
pub(super) type AnswerBody = BoxBody<Bytes, std::io::Error>;
pub(super) type Answer = hyper::Response<AnswerBody>;

/// One connection: who is at the other end does not change while it lasts.
#[derive(Debug)]
pub(super) struct Connection {
    /// Nobody without a certificate; `Some(None)` for one that names no node.
    peer: Option<Option<Peer>>,
    address: IpAddr,
    // What was handed out before may not have arrived: the first poll of a connection is told again.
    polled: AtomicBool,
}

impl Connection {
    pub(super) fn new(peer: Option<Option<Peer>>, address: SocketAddr) -> Self {
        Self { peer, address: address.ip(), polled: AtomicBool::new(false) }
    }

    /// The node that its certificate names.
    pub(super) fn node(&self) -> Option<&NodeId> {
        self.peer.as_ref()?.as_ref().map(|peer| &peer.node_id)
    }
}

/// Everything that a call may need.
pub(super) struct Door {
    pub(super) parts: AgentsParts,
    registrar: Arc<Registrar>,
    pub(super) board: Board,
    store_calls: Semaphore,
    pub(super) by_node: DefaultKeyedRateLimiter<NodeId>,
    by_address: DefaultKeyedRateLimiter<IpAddr>,
    arrival: Duration,
    images: Option<ImageFiles>,
    stopping: watch::Receiver<bool>,
}

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Enroll,
    Renew,
    Messages,
    Image,
}

// More than a busy agent says, and less than would be felt.
const CALLS_PER_NODE_S: NonZeroU32 = NonZeroU32::new(50).unwrap();
const CALLS_PER_NODE_BURST: NonZeroU32 = NonZeroU32::new(200).unwrap();
// Many hosts may stand behind one address.
const ENROLLMENTS_PER_ADDRESS_S: NonZeroU32 = NonZeroU32::new(50).unwrap();
const ENROLLMENTS_PER_ADDRESS_BURST: NonZeroU32 = NonZeroU32::new(1000).unwrap();
const LEARN_EVERY: Duration = Duration::from_secs(30);

impl Door {
    pub(super) fn new(config: &AgentsConfig, parts: AgentsParts, stopping: watch::Receiver<bool>) -> Self {
        let by_node = Quota::per_second(CALLS_PER_NODE_S).allow_burst(CALLS_PER_NODE_BURST);
        let by_address = Quota::per_second(ENROLLMENTS_PER_ADDRESS_S).allow_burst(ENROLLMENTS_PER_ADDRESS_BURST);
        let registrar = Registrar::new(parts.db.clone(), parts.ports.clone(), Arc::clone(&parts.authority));
        Self {
            parts,
            registrar: Arc::new(registrar),
            board: Board::default(),
            store_calls: Semaphore::new(config.store_calls_at_once.max(1)),
            by_node: RateLimiter::keyed(by_node),
            by_address: RateLimiter::keyed(by_address),
            arrival: config.arrival,
            images: config.images.clone(),
            stopping,
        }
    }

    pub(super) fn authority(&self) -> &Authority {
        &self.parts.authority
    }

    pub(super) fn connections(&self, open: usize) {
        self.parts.metrics.agent_connections(open);
    }

    /// Learns what the store knows of the fleet, before anybody is let in.
    pub(super) async fn prepare(&self) -> Result<(), StoreError> {
        self.learn().await?;
        self.board.read(&self.parts.db, &self.parts.ports).await;
        Ok(())
    }

    /// Keeps what is held in memory current, for as long as the future lives.
    pub(super) async fn keep_current(&self) {
        let AgentsParts { db, ports, node_plane, poke, .. } = &self.parts;
        let learn = async {
            loop {
                tokio::time::sleep(LEARN_EVERY).await;
                self.by_node.retain_recent();
                self.by_address.retain_recent();
                if let Err(error) = self.learn().await {
                    tracing::warn!(%error, "it could not be read who speaks for the nodes");
                }
            }
        };
        tokio::select! {
            () = self.board.follow((db, ports), node_plane, poke, self.stopping.clone()) => {}
            () = self.parts.revocations.follow(db, ports) => {}
            () = learn => {}
        }
    }

    async fn learn(&self) -> Result<(), StoreError> {
        let (db, plane) = (self.parts.db.clone(), Arc::clone(&self.parts.node_plane));
        self.aside(move || plane.learn_sessions(&db)).await?
    }

    /// Runs what waits for the store on a thread that may wait.
    async fn aside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
        let place = self.store_calls.acquire().await;
        let _place = place.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| StoreError::Panicked(error.to_string()))
    }

    pub(super) async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        connection: &Connection,
    ) -> Result<Answer, Infallible> {
        if let Some(id) = streams::asked_for(request.uri().path()) {
            let answer = self.stream(request, id, connection).await;
            self.parts.metrics.agent_call("stream", answer.status().as_u16());
            return Ok(answer);
        }
        let (call, name) = match request.uri().path() {
            ENROLL_PATH => (Some(Call::Enroll), "enroll"),
            RENEW_PATH => (Some(Call::Renew), "renew"),
            MESSAGES_PATH => (Some(Call::Messages), "messages"),
            path if images::asked(path).is_some() => (Some(Call::Image), "image"),
            _ => (None, "none"),
        };
        let serving = AssertUnwindSafe(self.serve(request, call, connection)).catch_unwind();
        let answer = match serving.await {
            Ok(Ok(answer)) => answer,
            Ok(Err(problem)) => {
                let node = connection.node().map(tracing::field::display);
                tracing::debug!(node, address = %connection.address, call = name, %problem, "a call was refused");
                refused(&problem)
            }
            Err(_) => {
                tracing::error!("a call of an agent panicked");
                refused(&internal())
            }
        };
        self.parts.metrics.agent_call(name, answer.status().as_u16());
        Ok(answer)
    }

    async fn serve(
        &self,
        request: hyper::Request<Incoming>,
        call: Option<Call>,
        connection: &Connection,
    ) -> Result<Answer, Problem> {
        let call = call.ok_or_else(|| Problem::new(Code::RouteNotFound, "Agents have no call at this path."))?;
        let method = if call == Call::Image { http::Method::GET } else { http::Method::POST };
        if request.method() != method {
            return Err(Problem::new(Code::MethodNotAllowed, format!("This path takes {method}.")));
        }
        if call == Call::Enroll {
            return self.enroll(request, connection.address).await.map(said);
        }
        let peer = self.identified(connection).await?;
        if self.by_node.check_key(&peer.node_id).is_err() {
            let detail = format!("More than {CALLS_PER_NODE_S} calls a second.");
            return Err(Problem::new(Code::RateLimited, detail).with_retry_after(1));
        }
        if call == Call::Image {
            let digest = images::asked(request.uri().path()).unwrap_or_default();
            let range = request.headers().get(header::RANGE).and_then(|range| range.to_str().ok());
            return images::send(&self.parts.db, self.images.as_ref(), digest, range).await;
        }
        let session = header_text(&request, SESSION_HEADER);
        if call == Call::Renew {
            let body = self.body(request, Some(&peer.node_id)).await?;
            return self.renew(peer, &body).await.map(said);
        }
        let wait = wait_asked(request.uri().query())?;
        let version = agent_version(&request);
        let body = self.body(request, Some(&peer.node_id)).await?;
        let said: Vec<ToControl> = read(&body)?;
        if said.len() > MESSAGES_MAX {
            let detail = format!("A call has {MESSAGES_MAX} messages at most.");
            return Err(Problem::new(Code::InvalidBody, detail));
        }
        let answers = self.messages(peer, connection, Said { said, session, version, wait }).await?;
        written(&answers).map(self::said)
    }

    /// Who calls, if the identity is still good.
    pub(super) async fn identified<'a>(&self, connection: &'a Connection) -> Result<&'a Peer, Problem> {
        let refuse = |why: &str| Problem::new(Code::NodeIdentityRefused, why);
        let peer = match &connection.peer {
            None => return Err(refuse("No certificate was shown.")),
            Some(None) => return Err(refuse("The certificate does not name a node of this platform.")),
            Some(Some(peer)) => peer,
        };
        if self.parts.ports.now() >= peer.not_after {
            return Err(refuse("The certificate has expired."));
        }
        if self.parts.revocations.contains(&self.parts.db, &self.parts.ports, &peer.serial).await {
            self.suspect(&peer.node_id, IncidentKind::RevokedIdentity, "It used a certificate that was revoked.").await;
            return Err(refuse("The certificate was revoked."));
        }
        Ok(peer)
    }

    pub(super) async fn suspect(&self, node: &NodeId, kind: IncidentKind, detail: impl Into<String>) {
        let detail = detail.into();
        let (db, plane, node) = (self.parts.db.clone(), Arc::clone(&self.parts.node_plane), node.clone());
        if let Err(error) = self.aside(move || plane.suspect(&db, &node, (kind, &detail))).await {
            tracing::warn!(%error, "an incident could not be written down");
        }
    }

    async fn enroll(&self, request: hyper::Request<Incoming>, address: IpAddr) -> Result<Vec<u8>, Problem> {
        if self.by_address.check_key(&address).is_err() {
            return Err(Problem::new(Code::RateLimited, "Too many hosts at once from one address.").with_retry_after(1));
        }
        let body = self.body(request, None).await?;
        let asked: EnrollRequest = read(&body)?;
        let registrar = Arc::clone(&self.registrar);
        let done = self.aside(move || registrar.enroll(&asked)).await.unwrap_or_else(|error| Err(Fault::Store(error)));
        let enrolled = done.map_err(Fault::into_problem)?;
        if enrolled.again {
            self.parts.revocations.outdate();
        }
        self.parts.node_plane.forget_session(&enrolled.answer.node_id);
        tracing::info!(node = %enrolled.answer.node_id, again = enrolled.again, "a host was enrolled");
        written(&enrolled.answer)
    }

    async fn renew(&self, peer: &Peer, body: &[u8]) -> Result<Vec<u8>, Problem> {
        let asked: RenewRequest = read(body)?;
        let (registrar, who) = (Arc::clone(&self.registrar), peer.clone());
        let done = self.aside(move || registrar.renew(&who, &asked)).await;
        let done = done.unwrap_or_else(|error| Err(Fault::Store(error)));
        if let Some((kind, detail)) = done.as_ref().err().and_then(incident) {
            self.suspect(&peer.node_id, kind, detail).await;
        }
        written(&done.map_err(Fault::into_problem)?)
    }

    /// Collects a body within its limits of size and time.
    pub(super) async fn body(
        &self,
        request: hyper::Request<Incoming>,
        node: Option<&NodeId>,
    ) -> Result<Vec<u8>, Problem> {
        let mut incoming = request.into_body();
        let mut found = Vec::new();
        let collect = async {
            if incoming.size_hint().lower() > MESSAGES_BYTES_MAX as u64 {
                return Err(too_large());
            }
            while let Some(frame) = incoming.frame().await {
                let cut = |_| Problem::new(Code::MalformedRequest, "The body ended early.");
                let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
                if found.len() + data.len() > MESSAGES_BYTES_MAX {
                    return Err(too_large());
                }
                found.extend_from_slice(&data);
            }
            Ok(())
        };
        let late = |_| Err(Problem::new(Code::RequestTimeout, "The body took too long to arrive.").with_retry_after(1));
        let collected = tokio::time::timeout(self.arrival, collect).await.unwrap_or_else(late);
        if let (Err(problem), Some(node)) = (&collected, node)
            && problem.code == Code::BodyTooLarge
        {
            self.suspect(node, IncidentKind::OversizedOutput, "It sent a body that is larger than it may be.").await;
        }
        collected.map(|()| found)
    }

    async fn messages(
        &self,
        peer: &Peer,
        connection: &Connection,
        mut call: Said,
    ) -> Result<Vec<FromControl>, Problem> {
        let plane = &self.parts.node_plane;
        let greets = call.said.iter().any(|message| matches!(message, ToControl::Heartbeat(_)));
        // A heartbeat is judged by itself; without one the header tells who speaks.
        if !greets && plane.is_replaced(&peer.node_id, call.session.as_deref(), None) {
            return Err(problem(&NodeRefusal::IdentityShared));
        }
        let mut poll = None;
        // The poll last: what is answered in the same call is not offered again.
        call.said.retain(|message| match message {
            ToControl::Poll(said) if said.node_id == peer.node_id => {
                poll = Some(said.clone());
                false
            }
            _ => true,
        });
        let mut answers = self.take(peer, call.said, call.version.as_deref()).await?;
        if let Some(poll) = poll {
            let wait = if answers.is_empty() { call.wait } else { Duration::ZERO };
            answers.extend(self.poll(peer, connection, poll, wait).await?);
        }
        Ok(answers)
    }

    /// Hands messages over, in order. The first that is refused ends the call.
    async fn take(
        &self,
        peer: &Peer,
        said: Vec<ToControl>,
        version: Option<&str>,
    ) -> Result<Vec<FromControl>, Problem> {
        let (db, plane) = (&self.parts.db, &self.parts.node_plane);
        if said.is_empty() {
            return Ok(vec![]);
        }
        let hand_over = |node: &NodeId,
                         said: Vec<ToControl>,
                         version: Option<&str>,
                         db: &store::Db,
                         plane: &crate::node_plane::NodePlane| {
            let mut answers = Vec::new();
            for message in said {
                answers.extend(plane.handle_from(db, node, version, message)?);
            }
            Ok::<_, NodeRefusal>(answers)
        };
        let taken = if said.iter().any(|message| plane.needs_store(&peer.node_id, message)) {
            let (db, plane, node) = (db.clone(), Arc::clone(plane), peer.node_id.clone());
            let version = version.map(str::to_owned);
            let done = self.aside(move || hand_over(&node, said, version.as_deref(), &db, &plane)).await;
            done.unwrap_or_else(|error| Err(error.into()))
        } else {
            hand_over(&peer.node_id, said, version, db, plane)
        };
        taken.map_err(|refusal| problem(&refusal))
    }

    /// Answers a poll: at once when there is an order that was not handed out, else when one is given or the time is up.
    async fn poll(
        &self,
        peer: &Peer,
        connection: &Connection,
        poll: Poll,
        wait: Duration,
    ) -> Result<Vec<FromControl>, Problem> {
        let (node, plane) = (&peer.node_id, &self.parts.node_plane);
        let mut tell_again = !connection.polled.swap(true, Ordering::AcqRel);
        if wait.is_zero() {
            let mut answers = self.offers(peer, &poll).await?;
            answers.extend(self.streams_wanted(node).await?);
            return Ok(answers);
        }
        if plane.is_replaced(node, None, Some(poll.boot)) {
            return Err(problem(&NodeRefusal::Superseded));
        }
        plane.heard(node);
        let (held, until) = (self.board.hold(node), Instant::now() + wait);
        let mut stopping = self.stopping.clone();
        loop {
            let worth_asking = match self.board.orders(node) {
                Some(Orders::None) => false,
                Some(Orders::HandedOut) | None => tell_again,
                Some(Orders::Waiting) => true,
            };
            let over = Instant::now() >= until || *stopping.borrow();
            if self.board.stream_waits(node, tell_again) {
                let wanted = self.streams_wanted(node).await?;
                if !wanted.is_empty() {
                    return Ok(wanted);
                }
            }
            if worth_asking {
                let offers = self.offers(peer, &poll).await?;
                self.board.handed_out(node);
                if over || offers.iter().any(has_orders) {
                    return Ok(offers);
                }
            } else if over {
                return Ok(vec![FromControl::TasksOffered(TasksOffered { tasks: vec![] })]);
            }
            tell_again = false;
            tokio::select! {
                () = held.ordered() => {}
                // At the end what was handed out before is handed out once more: the agent may have dropped it.
                () = tokio::time::sleep_until(until) => tell_again = true,
                _ = stopping.wait_for(|stop| *stop) => {}
            }
            // A poll may have been held for long.
            self.identified(connection).await?;
        }
    }

    async fn offers(&self, peer: &Peer, poll: &Poll) -> Result<Vec<FromControl>, Problem> {
        self.take(peer, vec![ToControl::Poll(poll.clone())], None).await
    }
}

/// A call that brings messages.
struct Said {
    said: Vec<ToControl>,
    session: Option<String>,
    version: Option<String>,
    wait: Duration,
}

fn has_orders(answer: &FromControl) -> bool {
    matches!(answer, FromControl::TasksOffered(offered) if !offered.tasks.is_empty())
}

/// What an agent is told when its message is not taken.
fn problem(refusal: &NodeRefusal) -> Problem {
    let code = match refusal {
        NodeRefusal::WrongNode | NodeRefusal::ClockFarOff(_) => Code::NodeMessageRefused,
        NodeRefusal::UnknownNode => Code::NodeIdentityRefused,
        NodeRefusal::Superseded | NodeRefusal::IdentityShared => Code::AgentSuperseded,
        NodeRefusal::Oversized => Code::BodyTooLarge,
        NodeRefusal::Store(error) => return crate::front_door::Refusal::from(error.clone()).into_problem(),
    };
    let text = refusal.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    Problem::new(code, format!("{}{}.", first.unwrap_or_default(), letters.as_str()))
}

fn too_large() -> Problem {
    Problem::new(Code::BodyTooLarge, format!("The body has more than {MESSAGES_BYTES_MAX} bytes."))
}

pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        let code = if error.is_data() { Code::InvalidBody } else { Code::MalformedJson };
        Problem::new(code, format!("The body cannot be read: {error}."))
    })
}

fn written(answer: &impl serde::Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(answer).map_err(|error| {
        tracing::error!(%error, "an answer has no JSON form");
        internal()
    })
}

fn wait_asked(query: Option<&str>) -> Result<Duration, Problem> {
    let Some(query) = query else { return Ok(Duration::ZERO) };
    let seconds = query.strip_prefix("wait_s=").and_then(|number| number.parse::<u64>().ok());
    let wrong = || {
        let accepted = format!("a whole number from 0 to {WAIT_S_MAX}");
        Problem::new(Code::InvalidParameter, "Agents may ask for wait_s alone.").with_field("wait_s", accepted)
    };
    seconds.filter(|seconds| *seconds <= WAIT_S_MAX).map(Duration::from_secs).ok_or_else(wrong)
}

fn header_text(request: &hyper::Request<Incoming>, name: &str) -> Option<String> {
    request.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// The version in `User-Agent: gpuaas-agent/1.2.3`.
fn agent_version(request: &hyper::Request<Incoming>) -> Option<String> {
    let text = request.headers().get(header::USER_AGENT)?.to_str().ok()?;
    let version = text.strip_prefix("gpuaas-agent/")?;
    Some(version.chars().take_while(|c| c.is_ascii_graphic()).take(64).collect())
}

pub(super) fn respond(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Answer {
    let whole = Full::new(Bytes::from(body)).map_err(|never| match never {});
    let mut answer = hyper::Response::new(BoxBody::new(whole));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An answer in JSON.
fn said(body: Vec<u8>) -> Answer {
    respond(StatusCode::OK, JSON, body)
}

pub(super) fn refused(problem: &Problem) -> Answer {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = respond(status, PROBLEM_JSON, serde_json::to_vec(problem).unwrap_or_default());
    if let Some(seconds) = problem.retry_after_s {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}
