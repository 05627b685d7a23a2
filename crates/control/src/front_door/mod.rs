//! One door for every request, be it from a socket or from a simulated client.
//!
//! ```text
//! route → read headers, parameters and body → [ transaction: authenticate → token scope → kept answer? →
//!   use case (authorizes itself) → audit → keep the answer ] → answer
//! ```
//!
//! The part in brackets is one closure on one store transaction: what the caller is told and what is durable cannot differ.
//! A refusal undoes everything, leaves no audit row and, except where the wish itself was decided on (a taken name, a full
//! quota), is not kept under the Idempotency-Key. Authentication comes before anything else is said about the request.

mod body;
mod context;
mod headers;
mod idempotency;
mod page;
mod parameters;
mod pipeline;
mod refusal;
mod request;
mod routes;
mod stranger;

use std::sync::Arc;

use api::{
    Code, Endpoint as _, Operation, Problem,
    image::{ImagePath, ImageUpload},
    supply::NodeRevokeIdentity,
    timeline::TimelinePage,
};
use model::{AllocationId, StreamId, image::ImageSpec, stream::StreamEnding};
use store::{Db, StoreError, Tx};

pub use context::{About, Answer, Ctx, Input, Work};
pub(crate) use page::Cursor;
pub use refusal::Refusal;
pub(crate) use refusal::internal;
pub use request::{Headers, JSON, PROBLEM_JSON, RecordingFile, Request, Response, StreamOf, StreamStart};
pub use routes::BadRoutes;
pub(crate) use routes::{Route, public_route, route};
pub use stranger::Stranger;

use crate::{
    Ports,
    agents::Revocations,
    authz::{BadPolicies, Policies, token::Secret},
    availability::AvailabilityMemo,
    image_files::ImageFiles,
    queues::BookMemo,
    sign_in::SignIn,
    streams::{self, Gateway, Watched},
};
use idempotency::{Busy, InFlight};
use pipeline::Parsed;
use routes::{Found, Routes};

/// How this replica is set up.
#[derive(Debug, Clone)]
pub struct FrontDoorConfig {
    /// The name of this replica.
    pub replica: String,
    /// The version of the program.
    pub program_version: String,
    /// SHA-256 of the authority that signs nodes' certificates, in hexadecimal; none where no agents are let in.
    pub authority_sha256: Option<String>,
    /// Who is told at once when a node's identity was revoked here.
    pub revocations: Revocations,
    /// The way in to guests.
    pub gateway: Gateway,
    /// Where the bytes of images are; without it none are taken in here.
    pub images: Option<ImageFiles>,
    /// How people in browsers sign in.
    pub sign_in: SignIn,
    /// Whether this is a laboratory: then there is a model of GPU that is none, which is never for sale.
    pub lab: bool,
    /// Where events may be sent.
    pub webhook_reach: crate::webhooks::Reach,
}

impl Default for FrontDoorConfig {
    fn default() -> Self {
        Self {
            replica: "replica-1".to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            authority_sha256: None,
            revocations: Revocations::default(),
            gateway: Gateway::default(),
            images: None,
            sign_in: SignIn::default(),
            lab: false,
            webhook_reach: crate::webhooks::Reach::default(),
        }
    }
}

/// Why a front door cannot open.
#[derive(Debug, thiserror::Error)]
pub enum BadFrontDoor {
    /// The policies.
    #[error(transparent)]
    Policies(#[from] BadPolicies),
    /// The routes.
    #[error(transparent)]
    Routes(#[from] BadRoutes),
}

struct Inner {
    ports: Ports,
    config: FrontDoorConfig,
    policies: Policies,
    routes: Routes,
    in_flight: InFlight,
    availability: AvailabilityMemo,
    books: BookMemo,
}

/// The front door. Cheap to clone.
#[derive(Clone)]
pub struct FrontDoor(Arc<Inner>);

impl std::fmt::Debug for FrontDoor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrontDoor").field("config", &self.0.config).finish_non_exhaustive()
    }
}

/// What runs inside a transaction. May run several times; only the last one counts.
type Closure = Arc<dyn Fn(&mut Tx<'_>) -> Result<Response, Refusal> + Send + Sync>;

/// A request that needs the store.
pub struct Job {
    run: Closure,
    version_given: bool,
    operation: &'static str,
    request_id: String,
    // Held until the answer is known, so that a second request with the same key waits for it.
    _busy: Option<Busy>,
}

/// A request, as far as it can be taken without the store.
pub enum Prepared {
    /// Answered already.
    Immediate(Response),
    /// To run on a snapshot.
    Read(Job),
    /// To run in a write transaction.
    Write(Job),
}

/// How often a request that lost a race runs again before the caller is asked to.
const RACES_MAX: u32 = 4;

impl FrontDoor {
    /// Opens the door: every operation of the contract must be carried out, and the policies must be valid.
    pub fn new(ports: Ports, config: FrontDoorConfig) -> Result<Self, BadFrontDoor> {
        let (policies, routes) = (Policies::load()?, Routes::new(crate::use_cases::routes())?);
        let availability = AvailabilityMemo::new(config.lab);
        let (in_flight, books) = (InFlight::default(), BookMemo::default());
        Ok(Self(Arc::new(Inner { ports, config, policies, routes, in_flight, availability, books })))
    }

    /// How this replica is set up.
    pub fn config(&self) -> &FrontDoorConfig {
        &self.0.config
    }

    pub(crate) fn ports(&self) -> &Ports {
        &self.0.ports
    }

    /// Which of these streams must end now, and why.
    pub(crate) async fn streams_standing(
        &self,
        db: &Db,
        watched: Vec<Watched>,
    ) -> Result<Vec<(StreamId, StreamEnding)>, StoreError> {
        let door = self.clone();
        let read = move |tx: &mut Tx<'_>| {
            let now = door.0.ports.now();
            let mut over = Vec::new();
            for one in &watched {
                over.extend(streams::ending(tx, &door.0.policies, one, now)?.map(|how| (one.id.clone(), how)));
            }
            Ok(over)
        };
        db.read_async(read).await
    }

    /// The operation that a request asks for, if there is one.
    pub fn operation_of(&self, method: &str, path: &str) -> Option<&Operation> {
        match self.0.routes.find(method, path) {
            Found::Route(route, _) | Found::Undecodable(route, _) => Some(&route.operation),
            Found::OtherMethods(_) | Found::Nothing => None,
        }
    }

    /// The token or session of a request, if it has the form of one.
    pub fn credential_of(headers: &Headers) -> Option<Secret> {
        headers::credential(headers)
    }

    /// The value of a cookie that a request came with.
    pub(crate) fn cookie_of<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
        headers::cookie(headers, name)
    }

    /// The id a request goes by: the caller's if it can be repeated safely, a fresh one otherwise.
    pub fn request_id(&self, headers: &Headers) -> String {
        match &headers.request_id {
            Some(given) if request::is_request_id(given) => given.clone(),
            _ => request::request_id(self.0.ports.now(), self.0.ports.id_bits()),
        }
    }

    /// Takes a request as far as possible without the store.
    pub fn prepare(&self, request: Request) -> Prepared {
        let request_id = self.request_id(&request.headers);
        match self.prepared(request, &request_id) {
            Ok(prepared) => prepared,
            Err(problem) => Prepared::Immediate(Response::problem(&problem).with("X-Request-Id", request_id)),
        }
    }

    fn prepared(&self, request: Request, request_id: &str) -> Result<Prepared, Problem> {
        let (route, path) = match self.0.routes.find(&request.method, &request.path) {
            Found::Route(route, pairs) => (route, Ok(pairs)),
            Found::Undecodable(route, problem) => (route, Err(problem)),
            Found::OtherMethods(methods) => {
                let refusal = Response::problem(&routes::method_not_allowed(&methods));
                let refusal = refusal.with("Allow", methods.join(", ")).with("X-Request-Id", request_id);
                return Ok(Prepared::Immediate(refusal));
            }
            Found::Nothing => return Err(routes::route_not_found()),
        };
        let operation = route.operation;
        if operation.public {
            return Ok(self.for_anybody(route, path, request, request_id));
        }
        let secret = headers::credential(&request.headers).ok_or_else(crate::authz::unauthenticated);
        let secret = match secret {
            Ok(secret) => secret,
            Err(problem) => {
                let mut refusal = Response::problem(&problem).with("X-Request-Id", request_id);
                refusal.operation = Some(operation.id);
                return Ok(Prepared::Immediate(refusal));
            }
        };
        let own = headers::own_wish(&request.headers, &operation, &self.0.config.sign_in.site);
        let work = own.and(path).and_then(|path| pipeline::read(route, path, &request));
        let busy = match &work {
            Ok(Parsed { headers: headers::Read { idempotency_key: Some(key), .. }, .. }) => {
                Some(self.0.in_flight.take(&secret.hash(), key).ok_or_else(idempotency::in_flight)?)
            }
            _ => None,
        };
        let version_given = work.as_ref().is_ok_and(|work| work.headers.if_match.is_some());
        let writes = work.is_ok() && operation.is_mutating();
        let (door, request_id) = (self.clone(), request_id.to_owned());
        let call = pipeline::Call { operation, secret, request, request_id: request_id.clone(), work };
        let run: Closure = Arc::new(move |tx: &mut Tx<'_>| call.run(&door.0, tx));
        let job = Job { run, version_given, operation: operation.id, request_id, _busy: busy };
        Ok(if writes { Prepared::Write(job) } else { Prepared::Read(job) })
    }

    /// Takes a request that anybody may make as far as possible without the store.
    fn for_anybody(
        &self,
        route: &Route,
        path: Result<Vec<(String, String)>, Problem>,
        request: Request,
        request_id: &str,
    ) -> Prepared {
        let operation = route.operation;
        let own = headers::own_wish(&request.headers, &operation, &self.0.config.sign_in.site);
        let work = match own.and(path).and_then(|path| pipeline::read(route, path, &request)) {
            Ok(work) => work,
            Err(problem) => {
                let mut refusal = Response::problem(&problem).with("X-Request-Id", request_id);
                refusal.operation = Some(operation.id);
                return Prepared::Immediate(refusal);
            }
        };
        let (door, request_id) = (self.clone(), request_id.to_owned());
        let call = stranger::PublicCall { operation, request, request_id: request_id.clone(), work };
        let run: Closure = Arc::new(move |tx: &mut Tx<'_>| call.run(&door.0, tx));
        let job = Job { run, version_given: false, operation: operation.id, request_id, _busy: None };
        if operation.is_mutating() { Prepared::Write(job) } else { Prepared::Read(job) }
    }

    /// Carries a request out and waits for the durable answer. Blocks; for the simulator and for tests.
    pub fn perform(&self, db: &Db, request: Request) -> Response {
        let (job, writes) = match self.prepare(request) {
            Prepared::Immediate(response) => return response,
            Prepared::Read(job) => (job, false),
            Prepared::Write(job) => (job, true),
        };
        let mut races = 0;
        loop {
            let run = Arc::clone(&job.run);
            let early: Arc<std::sync::Mutex<Option<Response>>> = Arc::default();
            let told = Arc::clone(&early);
            let closure = move |tx: &mut Tx<'_>| {
                let answer = run(tx);
                if model::planted!(AckBeforeCommit)
                    && let (Ok(response), Ok(mut told)) = (&answer, told.lock())
                {
                    *told = Some(response.clone());
                }
                answer
            };
            let result = if writes { db.write(closure) } else { db.read(closure) };
            if let (Err(Refusal::Store(_)), Some(told)) = (&result, early.lock().ok().and_then(|told| told.clone())) {
                return told;
            }
            match job.settle(result, &mut races) {
                Some(response) => return self.told(response),
                None => continue,
            }
        }
    }

    /// Carries a request out for async code.
    pub async fn serve(&self, db: &Db, request: Request) -> Response {
        let (job, writes) = match self.prepare(request) {
            Prepared::Immediate(response) => return response,
            Prepared::Read(job) => (job, false),
            Prepared::Write(job) => (job, true),
        };
        let mut races = 0;
        loop {
            let run = Arc::clone(&job.run);
            let closure = move |tx: &mut Tx<'_>| run(tx);
            let result = if writes { db.write_async(closure).await } else { db.read_async(closure).await };
            if let Some(response) = job.settle(result, &mut races) {
                return self.told(response);
            }
        }
    }

    /// Passes on what others in this process must know before the caller does.
    fn told(&self, response: Response) -> Response {
        if response.is_success() && response.operation == Some(NodeRevokeIdentity::OPERATION.id) {
            self.0.config.revocations.outdate();
        }
        response
    }

    /// What a request would be answered, with everything it would do undone. `look` sees the store as it would be left,
    /// if the request would change it at all.
    pub fn rehearse<T: Send + 'static>(
        &self,
        db: &Db,
        request: Request,
        mut look: impl FnMut(&mut Tx<'_>) -> T + Send + 'static,
    ) -> (Response, Option<T>) {
        let job = match self.prepare(request) {
            Prepared::Immediate(response) => return (response, None),
            Prepared::Read(job) | Prepared::Write(job) => job,
        };
        let run = Arc::clone(&job.run);
        let answer: Result<(), Undone<T>> = db.write(move |tx: &mut Tx<'_>| {
            let response = run(tx).map_err(Undone::Refused)?;
            let seen = look(tx);
            Err(Undone::Answered(response, seen))
        });
        let (result, seen) = match answer {
            Ok(()) => (Err(Refusal::Problem(internal())), None),
            Err(Undone::Refused(refusal)) => (Err(refusal), None),
            Err(Undone::Answered(response, seen)) => (Ok(response), Some(seen)),
        };
        let mut races = RACES_MAX;
        let response = job.settle(result, &mut races).unwrap_or_else(|| Response::problem(&internal()));
        (response, seen)
    }

    /// The entry that a request brings bytes for, and where they go, if the caller may bring them.
    pub(crate) async fn upload_allowed(
        &self,
        db: &Db,
        secret: &Secret,
        request: &Request,
    ) -> Result<(ImageSpec, ImageFiles), Problem> {
        let path = match self.0.routes.find(&request.method, &request.path) {
            Found::Route(_, pairs) => pairs,
            Found::Undecodable(_, problem) => return Err(problem),
            Found::OtherMethods(_) | Found::Nothing => return Err(routes::route_not_found()),
        };
        // The bytes would be taken in before the request is looked at as a whole.
        headers::own_wish(&request.headers, &ImageUpload::OPERATION, &self.0.config.sign_in.site)?;
        let ImagePath { image_id } = parameters::typed(&path)?;
        let (door, secret) = (self.clone(), secret.clone());
        let read = move |tx: &mut Tx<'_>| pipeline::upload_entry(&door.0, tx, &secret, &image_id);
        let entry = db.read_async(read).await.map_err(Refusal::into_problem)?;
        let files = self.0.config.images.clone().ok_or_else(|| {
            Problem::new(Code::StateConflict, "This replica has no folder for images; serve it with --image-dir.")
        })?;
        Ok((entry, files))
    }

    /// What is new in the timeline of an allocation, for as long as the token is good and may see it.
    pub async fn timeline_batch(
        &self,
        db: &Db,
        secret: &Secret,
        id: &AllocationId,
        after: i64,
    ) -> Result<TimelinePage, Problem> {
        let (door, secret, id) = (self.clone(), secret.clone(), id.clone());
        let read = move |tx: &mut Tx<'_>| pipeline::timeline_batch(&door.0, tx, &secret, &id, after);
        db.read_async(read).await.map_err(Refusal::into_problem)
    }

    /// The next events of a stream, for as long as its token is good.
    pub async fn stream_batch(&self, db: &Db, secret: &Secret, after: i64) -> Result<EventBatch, Problem> {
        let (door, secret) = (self.clone(), secret.clone());
        let read = move |tx: &mut Tx<'_>| pipeline::event_batch(&door.0, tx, &secret, after);
        db.read_async(read).await.map_err(Refusal::into_problem)
    }
}

/// A rehearsal always ends like this.
enum Undone<T> {
    Refused(Refusal),
    Answered(Response, T),
}

impl<T> From<store::StoreError> for Undone<T> {
    fn from(error: store::StoreError) -> Self {
        Self::Refused(error.into())
    }
}

/// Some events of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBatch {
    /// The events that the caller may see.
    pub events: Vec<api::event::CloudEvent>,
    /// Everything up to here was looked at.
    pub through: i64,
    /// The newest position in the store.
    pub head: i64,
}

impl Job {
    /// The answer, or `None` to run once more.
    fn settle(&self, result: Result<Response, Refusal>, races: &mut u32) -> Option<Response> {
        let mut response = match result {
            Ok(response) => response,
            Err(refusal) if refusal.lost_a_race(self.version_given) && *races < RACES_MAX => {
                *races += 1;
                return None;
            }
            Err(refusal) => Response::problem(&refusal.into_problem()),
        };
        response.operation = Some(self.operation);
        Some(response.with("X-Request-Id", self.request_id.clone()))
    }
}
