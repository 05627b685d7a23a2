//! What happens between the route and the answer: reading, then the steps inside the transaction.

use api::{
    Code, Endpoint as _, Operation, Problem, Right, image::ImageUpload, session::SessionDelete, timeline::TimelinePage,
};
use model::{
    AllocationId, AuditId, Timestamp,
    image::{ImageSpec, ImageState},
    text::ImageName,
};
use store::{Stamp, Tx, audit, idempotency as kept};

use super::{
    EventBatch, Inner, Refusal,
    context::Ctx,
    headers::{self, Read},
    idempotency::{Wish, reused},
    page::Binding,
    parameters, refusal,
    request::{Request, Response, stored_content_type},
    routes::{Bound, Outcome, Raw, Route, Run},
};
use crate::authz::{Caller, Resource, authenticate, token::Secret};

/// A request that was read into the types of its operation.
pub(crate) struct Parsed {
    pub(crate) bound: Bound,
    pub(crate) headers: Read,
    path: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

/// Reads a request. Nothing here needs the store.
pub(crate) fn read(route: &Route, path: Vec<(String, String)>, request: &Request) -> Result<Parsed, Problem> {
    let query = parameters::query_pairs(request.query.as_deref(), &route.query_names)?;
    let mut headers = headers::read(&request.headers, &route.operation)?;
    if route.may_be_unchanged {
        headers.none_match = headers::none_match(&request.headers)?;
    }
    let bound = (route.bind)(&Raw {
        path: &path,
        query: &query,
        headers: &headers,
        content_type: request.headers.content_type.as_deref(),
        body: &request.body,
        received: request.received.as_ref(),
    })?;
    Ok(Parsed { bound, headers, path, query })
}

/// One call of one operation, to be run inside a transaction.
pub(crate) struct Call {
    pub(crate) operation: Operation,
    pub(crate) secret: Secret,
    pub(crate) request: Request,
    pub(crate) request_id: String,
    /// What was read, or why it could not be. Said only to those who have shown a token.
    pub(crate) work: Result<Parsed, Problem>,
}

impl Call {
    pub(crate) fn run(&self, door: &Inner, tx: &mut Tx<'_>) -> Result<Response, Refusal> {
        let now = door.ports.now();
        let caller = authenticate(tx, &self.secret, now)??;
        let work = self.work.as_ref().map_err(Clone::clone)?;
        if !self.operation.is_mutating() {
            let outcome = self.use_case(door, tx, &caller, work, now)?;
            return Ok(self.answer(work, &outcome));
        }
        // Whoever came in must be able to leave.
        if !caller.may_change() && self.operation.id != SessionDelete::OPERATION.id {
            let detail = format!("The token may only be used for reading; {} changes something.", self.operation.id);
            return Err(Refusal::new(Code::TokenScopeTooNarrow, detail));
        }
        match &work.headers.idempotency_key {
            Some(key) => self.once(door, tx, &caller, work, (key, now)),
            None => {
                let outcome = self.use_case(door, tx, &caller, work, now)?;
                self.audit(door, tx, &caller, work, (&outcome, now))?;
                Ok(self.answer(work, &outcome))
            }
        }
    }

    /// A create or action: at most once for each key.
    fn once(
        &self,
        door: &Inner,
        tx: &mut Tx<'_>,
        caller: &Caller,
        work: &Parsed,
        (key, now): (&str, Timestamp),
    ) -> Result<Response, Refusal> {
        let sealing = matches!(self.operation.id, "token_create" | "enrollment_token_create");
        let wish = Wish {
            operation: &self.operation,
            path: &self.request.path,
            principal: &caller.principal_id,
            token: sealing.then(|| caller.shown()),
            body: &work.bound.canonical,
            if_match: work.headers.if_match,
        };
        let fingerprint = wish.fingerprint();
        if let Some(kept) = kept::find(tx, &caller.principal_id, key)? {
            if kept.fingerprint != fingerprint {
                return Err(reused().into());
            }
            return self.replay(kept, key);
        }
        // What the use case wrote is undone when it refuses; the record of the refusal stays.
        let (response, secret) = match tx.savepoint(|tx| self.use_case(door, tx, caller, work, now)) {
            Ok(outcome) => {
                self.audit(door, tx, caller, work, (&outcome, now))?;
                (self.answer(work, &outcome), outcome.secret)
            }
            Err(Refusal::Problem(problem)) if refusal::is_outcome(problem.code) => (Response::problem(&problem), None),
            Err(other) => return Err(other),
        };
        let text = String::from_utf8(response.body.clone()).map_err(|_| refusal::internal())?;
        let answer = match &secret {
            Some(secret) => text.replace(secret.reveal(), &sealed(secret, &self.secret, (key, now))),
            None => text,
        };
        let record = kept::Kept {
            fingerprint,
            status: i64::from(response.status),
            answer,
            etag: response.header("ETag").map(str::to_owned),
            location: response.header("Location").map(str::to_owned),
            at: now,
        };
        kept::insert(tx, &caller.principal_id, key, &record)?;
        Ok(response)
    }

    /// The answer that was given before, byte for byte.
    fn replay(&self, kept: kept::Kept, key: &str) -> Result<Response, Refusal> {
        let status = u16::try_from(kept.status).map_err(|_| refusal::internal())?;
        let answer = unsealed(kept.answer, &self.secret, (key, kept.at)).ok_or_else(refusal::internal)?;
        let mut response = match serde_json::from_str::<Problem>(&answer) {
            Ok(problem) if status >= 400 => Response::problem(&problem),
            _ => Response::empty(status),
        };
        response.content_type = stored_content_type(status, answer.is_empty());
        response.body = answer.into_bytes();
        for (name, value) in [("ETag", kept.etag), ("Location", kept.location)] {
            response = match value {
                Some(value) => response.with(name, value),
                None => response,
            };
        }
        Ok(response)
    }

    fn use_case(
        &self,
        door: &Inner,
        tx: &mut Tx<'_>,
        caller: &Caller,
        work: &Parsed,
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        let mut bits = || door.ports.id_bits();
        let mut ctx = Ctx {
            tx,
            stamp: Stamp::new(now, &mut bits),
            caller,
            operation: &self.operation,
            config: &door.config,
            request_id: &self.request_id,
            from: &self.request.from,
            ports: &door.ports,
            policies: &door.policies,
            availability: &door.availability,
            books: &door.books,
            binding: self.binding(caller, work),
            authorized: false,
        };
        let Run::Known(run) = &work.bound.run else {
            tracing::error!(operation = self.operation.id, "a use case for anybody stands behind a token");
            return Err(refusal::internal().into());
        };
        let outcome = run(&mut ctx)?;
        if !ctx.authorized {
            tracing::error!(operation = self.operation.id, "a use case answered without asking for a right");
            return Err(refusal::internal().into());
        }
        Ok(outcome)
    }

    fn binding(&self, caller: &Caller, work: &Parsed) -> Binding {
        let filters = work.query.iter().filter(|(name, _)| name != "page_size" && name != "page_token");
        let pairs = work.path.iter().chain(filters).flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        Binding::of([self.operation.id, caller.principal_id.as_str()].into_iter().chain(pairs))
    }

    fn audit(
        &self,
        door: &Inner,
        tx: &mut Tx<'_>,
        caller: &Caller,
        work: &Parsed,
        (outcome, now): (&Outcome, Timestamp),
    ) -> Result<(), Refusal> {
        let Some(about) = &outcome.about else {
            tracing::error!(operation = self.operation.id, "a use case did not say what it changed");
            return Err(refusal::internal().into());
        };
        let row = audit::AuditRow {
            id: AuditId::from_parts(now, door.ports.id_bits()),
            actor: caller.principal_id.to_string(),
            token_id: Some(caller.token.id.clone()),
            action: self.operation.id.to_owned(),
            subject: about.subject.clone(),
            tenant_id: about.tenant_id.clone(),
            request_id: self.request_id.clone(),
            body: outcome.noted.clone().unwrap_or_else(|| audited(&work.bound.canonical)),
            at: now,
        };
        Ok(audit::append(tx, &row)?)
    }

    fn answer(&self, work: &Parsed, outcome: &Outcome) -> Response {
        let mut response = Response::empty(self.operation.success.status());
        if let Some(start) = &outcome.stream {
            response.stream = Some(start.clone());
            response.content_type = "text/event-stream";
            return response;
        }
        if outcome.opening.is_some() || outcome.file.is_some() {
            (response.opening, response.file) = (outcome.opening.clone(), outcome.file.clone());
            response.poke = outcome.opening.is_some();
            return response;
        }
        if let Some(version) = outcome.version {
            let etag = format!("\"{version}\"");
            if work.headers.none_match.as_ref().is_some_and(|given| given.names(&etag)) {
                return Response::empty(304).with("ETag", etag);
            }
            response = response.with("ETag", etag);
        }
        if !outcome.body.is_empty() {
            response.content_type = super::request::JSON;
            response.body.clone_from(&outcome.body);
        }
        if let Some(location) = &outcome.location {
            response = response.with("Location", location.clone());
        }
        if let Some(next) = &outcome.next {
            let rest = work.query.iter().filter(|(name, _)| name != "page_token");
            let rest: String = rest.map(|(name, value)| format!("{name}={}&", encoded(value))).collect();
            let link = format!("<{}?{rest}page_token={next}>; rel=\"next\"", self.request.path);
            response = response.with("Link", link);
        }
        if let Some(cookie) = &outcome.cookie {
            response = response.with("Set-Cookie", cookie.clone());
        }
        response.poke = self.operation.is_mutating();
        response
    }
}

/// What stands in a kept answer where the secret was.
const SEALED: &str = "sealed:";

// The moment makes the label unique, also when a key comes back after its answer was forgotten.
fn label((key, at): (&str, Timestamp)) -> String {
    format!("{key}/{}", at.as_micros())
}

fn sealed(secret: &Secret, under: &Secret, kept: (&str, Timestamp)) -> String {
    format!("{SEALED}{}", secret.seal(under, &label(kept)))
}

fn unsealed(answer: String, under: &Secret, kept: (&str, Timestamp)) -> Option<String> {
    let Some(at) = answer.find(SEALED) else { return Some(answer) };
    let sealed: String = answer[at + SEALED.len()..].chars().take_while(|c| *c != '"').collect();
    let secret = Secret::unseal(&sealed, under, &label(kept))?;
    Some(answer.replace(&format!("{SEALED}{sealed}"), secret.reveal()))
}

/// What of a body is kept in the audit trail. The one field that may hold secrets is kept as its length; of what is long
/// without it, the hash is kept.
fn audited(canonical: &[u8]) -> String {
    const BYTES_MAX: usize = 2048;
    let plain = without_user_data(canonical);
    match std::str::from_utf8(plain.as_deref().unwrap_or(canonical)) {
        Ok(text) if text.len() <= BYTES_MAX => text.to_owned(),
        _ => {
            use sha2::Digest as _;
            let hash = crate::authz::token::hex(&sha2::Sha256::digest(plain.as_deref().unwrap_or(canonical)));
            format!("{{\"body_sha256\":\"{hash}\"}}")
        }
    }
}

/// A body without what a tenant wrote for cloud-init, if there is such a thing in it.
fn without_user_data(canonical: &[u8]) -> Option<Vec<u8>> {
    let mut body: serde_json::Value = serde_json::from_slice(canonical).ok()?;
    let field = body.get_mut("user_data")?;
    let bytes = field.as_str().map_or(0, str::len);
    *field = format!("{bytes} bytes, not kept here").into();
    serde_json::to_vec(&body).ok()
}

fn encoded(value: &str) -> String {
    let keep = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    value.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// How many events are read for a stream at a time.
const STREAM_BATCH: i64 = 100;

/// What is new in the timeline of an allocation. Token and right are checked again, so a stream ends soon after either does.
pub(crate) fn timeline_batch(
    door: &Inner,
    tx: &mut Tx<'_>,
    secret: &Secret,
    id: &AllocationId,
    after: i64,
) -> Result<TimelinePage, Refusal> {
    let now = door.ports.now();
    let caller = authenticate(tx, secret, now)??;
    let row = store::allocations::get_visible(tx, &caller.scope(), id)?.filter(|row| {
        door.policies.allow(&caller, Right::ProjectRead, Resource::Project(&row.tenant_id, &row.project_id))
    });
    let row = row.ok_or_else(Refusal::not_found)?;
    Ok(crate::use_cases::timeline::page(tx, &row.id, (after, STREAM_BATCH), now)?)
}

/// The entry that bytes are brought for, if the caller may bring them. Asked before the first of them is read.
pub(crate) fn upload_entry(
    door: &Inner,
    tx: &mut Tx<'_>,
    secret: &Secret,
    id: &ImageName,
) -> Result<ImageSpec, Refusal> {
    let caller = authenticate(tx, secret, door.ports.now())??;
    let operation = ImageUpload::OPERATION;
    if !caller.may_change() {
        let detail = format!("The token may only be used for reading; {} changes something.", operation.id);
        return Err(Refusal::new(Code::TokenScopeTooNarrow, detail));
    }
    let sees_all = door.policies.allow(&caller, Right::PlatformRead, Resource::Platform);
    let row = store::images::get(tx, id)?.filter(|row| sees_all || row.state == ImageState::Available);
    let row = row.ok_or_else(Refusal::not_found)?;
    if !door.policies.allow(&caller, operation.right, Resource::Platform) {
        return Err(Refusal::new(Code::Forbidden, format!("Your role does not allow {} here.", operation.id)));
    }
    crate::use_cases::images::refuse_upload(&row)?;
    Ok(row.spec)
}

/// The next events of a stream. The token is checked again, so a stream ends soon after its token does.
pub(crate) fn event_batch(door: &Inner, tx: &mut Tx<'_>, secret: &Secret, after: i64) -> Result<EventBatch, Refusal> {
    let caller = authenticate(tx, secret, door.ports.now())??;
    let source = crate::use_cases::events::source(tx)?;
    let page = store::events::list(tx, &caller.scope(), after, STREAM_BATCH)?;
    let head = store::events::head(tx)?;
    let events = page.events.into_iter().map(|row| crate::views::event(&source, row)).collect();
    Ok(EventBatch { events, through: page.through, head })
}

#[cfg(test)]
mod tests {
    use super::audited;

    #[test]
    fn what_a_tenant_wrote_is_not_in_the_audit_trail() {
        let body = br##"{"name":"web","user_data":"#cloud-config\npassword: hunter2"}"##;
        assert_eq!(audited(body), r#"{"name":"web","user_data":"31 bytes, not kept here"}"#);
        let long = format!(r#"{{"name":"web","user_data":"{}"}}"#, "x".repeat(30_000));
        assert_eq!(audited(long.as_bytes()), r#"{"name":"web","user_data":"30000 bytes, not kept here"}"#);
        assert_eq!(audited(b"{}"), "{}");
        assert!(audited(format!(r#"{{"name":"{}"}}"#, "x".repeat(3000)).as_bytes()).starts_with(r#"{"body_sha256""#));
    }
}
