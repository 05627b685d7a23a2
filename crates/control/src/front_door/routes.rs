//! The routing table: one route for each operation of the contract, with its types hidden behind two steps: *bind* (read
//! path, query and body into the operation's types; pure) and *run* (the use case, inside a transaction).

use std::collections::BTreeSet;

use api::{Code, Endpoint, Operation, Problem};

use super::{
    Refusal, body,
    context::{About, Answer, Ctx, Input},
    headers::Read,
    parameters,
    request::{RecordingFile, StreamStart},
    stranger::Stranger,
};
use crate::{authz::token::Secret, image_files::Received, streams::Opening};

/// What a use case answered, with its types hidden.
pub(crate) struct Outcome {
    pub(crate) body: Vec<u8>,
    pub(crate) version: Option<i64>,
    pub(crate) location: Option<String>,
    pub(crate) about: Option<About>,
    pub(crate) next: Option<String>,
    pub(crate) secret: Option<Secret>,
    pub(crate) stream: Option<StreamStart>,
    pub(crate) opening: Option<Opening>,
    pub(crate) file: Option<RecordingFile>,
    pub(crate) noted: Option<String>,
    pub(crate) cookie: Option<String>,
}

type ForKnown = Box<dyn Fn(&mut Ctx<'_, '_>) -> Result<Outcome, Refusal> + Send + Sync>;
type ForAnybody = Box<dyn Fn(&mut Stranger<'_, '_>) -> Result<Outcome, Refusal> + Send + Sync>;

/// A use case with its input; may run several times.
pub(crate) enum Run {
    /// For somebody who is known.
    Known(ForKnown),
    /// For anybody.
    Anybody(ForAnybody),
}

/// A request that was read.
pub(crate) struct Bound {
    pub(crate) run: Run,
    /// The body as its type writes it.
    pub(crate) canonical: Vec<u8>,
}

/// A request before it is read.
pub(crate) struct Raw<'a> {
    pub(crate) path: &'a [(String, String)],
    pub(crate) query: &'a [(String, String)],
    pub(crate) headers: &'a Read,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) body: &'a [u8],
    pub(crate) received: Option<&'a Received>,
}

type Bind = Box<dyn Fn(&Raw<'_>) -> Result<Bound, Problem> + Send + Sync>;

/// One operation and how to carry it out.
pub(crate) struct Route {
    pub(crate) operation: Operation,
    pub(crate) query_names: Vec<String>,
    /// Whether the answer may be that nothing has changed.
    pub(crate) may_be_unchanged: bool,
    pub(crate) bind: Bind,
}

/// A use case: what carries an operation out.
pub(crate) type UseCase<E> = fn(&mut Ctx<'_, '_>, Input<E>) -> Result<Answer<<E as Endpoint>::Answer>, Refusal>;
/// A use case that is for anybody.
pub(crate) type PublicUseCase<E> =
    fn(&mut Stranger<'_, '_>, Input<E>) -> Result<Answer<<E as Endpoint>::Answer>, Refusal>;

/// Joins an operation of the contract with its use case.
pub(crate) fn route<E: Endpoint>(use_case: UseCase<E>) -> Route {
    routed::<E>(Box::new(move |raw: &Raw<'_>| {
        let (input, canonical) = bind::<E>(raw)?;
        let run = move |ctx: &mut Ctx<'_, '_>| outcome::<E>(use_case(ctx, again(&input))?);
        Ok(Bound { run: Run::Known(Box::new(run)), canonical })
    }))
}

/// Joins an operation that is for anybody with its use case.
pub(crate) fn public_route<E: Endpoint>(use_case: PublicUseCase<E>) -> Route {
    routed::<E>(Box::new(move |raw: &Raw<'_>| {
        let (input, canonical) = bind::<E>(raw)?;
        let run = move |stranger: &mut Stranger<'_, '_>| outcome::<E>(use_case(stranger, again(&input))?);
        Ok(Bound { run: Run::Anybody(Box::new(run)), canonical })
    }))
}

fn routed<E: Endpoint>(bind: Bind) -> Route {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<E::Query>();
    let names = schema.get("properties").and_then(serde_json::Value::as_object);
    let query_names = names.map(|names| names.keys().cloned().collect()).unwrap_or_default();
    let may_be_unchanged = api::openapi::may_be_unchanged(&api::endpoint::describe::<E>());
    Route { operation: E::OPERATION, query_names, may_be_unchanged, bind }
}

/// Reads a request into the types of its operation, and its body as that type writes it.
fn bind<E: Endpoint>(raw: &Raw<'_>) -> Result<(Input<E>, Vec<u8>), Problem> {
    let path: E::Path = parameters::typed(raw.path)?;
    let query: E::Query = parameters::typed(raw.query)?;
    let body: E::Body = body::read(&E::OPERATION, E::has_body(), raw.content_type, raw.body)?;
    E::check(&body).map_err(|error| body::invalid(&error.pointer, &error.detail))?;
    let canonical = written(&body)?;
    let (if_match, last_event_id) = (raw.headers.if_match, raw.headers.last_event_id);
    let received = raw.received.cloned();
    Ok((Input { path, query, body, if_match, last_event_id, received }, canonical))
}

// Not derived: that would ask it of the operation, which is never looked at.
fn again<E: Endpoint>(input: &Input<E>) -> Input<E> {
    Input {
        path: input.path.clone(),
        query: input.query.clone(),
        body: input.body.clone(),
        if_match: input.if_match,
        last_event_id: input.last_event_id,
        received: input.received.clone(),
    }
}

fn outcome<E: Endpoint>(answer: Answer<E::Answer>) -> Result<Outcome, Refusal> {
    let body = answer.body.filter(|_| E::OPERATION.success != api::Success::NoContent);
    Ok(Outcome {
        body: body.as_ref().map(written).transpose()?.unwrap_or_default(),
        version: answer.version,
        location: answer.location,
        about: answer.about,
        next: answer.next.map(|token| token.0),
        secret: answer.secret,
        stream: answer.stream,
        opening: answer.opening,
        file: answer.file,
        noted: answer.noted,
        cookie: answer.cookie,
    })
}

fn written<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "a value has no JSON form");
        super::refusal::internal()
    })
}

/// The table does not fit the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoutes {
    /// An operation of the contract that nothing carries out.
    #[error("nothing carries out {0}")]
    Missing(&'static str),
    /// An operation that is carried out twice, or that the contract does not have.
    #[error("{0} is carried out twice, or is not in the contract")]
    Extra(&'static str),
}

/// All routes.
pub(crate) struct Routes(Vec<Route>);

/// What a method and path lead to.
pub(crate) enum Found<'a> {
    /// A route, with the path parameters decoded.
    Route(&'a Route, Vec<(String, String)>),
    /// The path exists, with other methods.
    OtherMethods(Vec<&'static str>),
    /// Nothing.
    Nothing,
    /// A route, but a parameter in the path cannot be decoded.
    Undecodable(&'a Route, Problem),
}

impl Routes {
    /// Checks that every operation of the contract has exactly one route.
    pub(crate) fn new(routes: Vec<Route>) -> Result<Self, BadRoutes> {
        let mut wanted: BTreeSet<&'static str> = api::operations().iter().map(|known| known.operation.id).collect();
        for route in &routes {
            if !wanted.remove(route.operation.id) {
                return Err(BadRoutes::Extra(route.operation.id));
            }
        }
        match wanted.first() {
            Some(missing) => Err(BadRoutes::Missing(missing)),
            None => Ok(Self(routes)),
        }
    }

    /// Finds the route of a request. A literal segment wins over a parameter.
    pub(crate) fn find(&self, method: &str, path: &str) -> Found<'_> {
        let matching: Vec<&Route> = self.0.iter().filter(|route| fits(route.operation.path, path)).collect();
        let fewest = matching.iter().map(|route| parameters_in(route.operation.path)).min();
        let best = matching.into_iter().filter(|route| Some(parameters_in(route.operation.path)) == fewest);
        let best: Vec<&Route> = best.collect();
        if best.is_empty() {
            return Found::Nothing;
        }
        let Some(route) = best.iter().find(|route| route.operation.method.as_str() == method) else {
            let mut methods: Vec<&'static str> = best.iter().map(|route| route.operation.method.as_str()).collect();
            methods.sort_unstable();
            return Found::OtherMethods(methods);
        };
        match path_pairs(route.operation.path, path) {
            Ok(pairs) => Found::Route(route, pairs),
            Err(problem) => Found::Undecodable(route, problem),
        }
    }
}

fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some(wanted), Some(given)) if wanted.starts_with('{') && !given.is_empty() => {}
            _ => return false,
        }
    }
}

fn parameters_in(template: &str) -> usize {
    template.bytes().filter(|byte| *byte == b'{').count()
}

fn path_pairs(template: &str, path: &str) -> Result<Vec<(String, String)>, Problem> {
    let mut pairs = Vec::new();
    for (wanted, given) in template.split('/').zip(path.split('/')) {
        let Some(name) = wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { continue };
        let value = parameters::decode(given, false);
        let value = value.ok_or_else(|| parameters::invalid(name, "percent-encoded UTF-8"))?;
        pairs.push((name.to_owned(), value));
    }
    Ok(pairs)
}

/// The problem of a path that leads nowhere.
pub(crate) fn route_not_found() -> Problem {
    Problem::new(Code::RouteNotFound, "No operation has this path. /docs lists them all.")
}

/// The problem of a path that takes other methods.
pub(crate) fn method_not_allowed(methods: &[&'static str]) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("This path takes {}.", methods.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit_whole_paths_only() {
        assert!(fits("/api/v1/tenants/{tenant_id}", "/api/v1/tenants/x"));
        for path in
            ["/api/v1/tenants", "/api/v1/tenants/", "/api/v1/tenants/x/", "/api/v1/tenants/x/y", "api/v1/tenants/x"]
        {
            assert!(!fits("/api/v1/tenants/{tenant_id}", path), "{path}");
        }
    }

    #[test]
    fn a_table_must_carry_out_the_whole_contract_once() {
        let missing = Routes::new(vec![]).map(|_| ()).unwrap_err();
        assert!(matches!(missing, BadRoutes::Missing(_)), "{missing}");
        let twice = || route::<api::platform::ApiIndex>(|_, _| Err(Refusal::not_found()));
        let extra = Routes::new(vec![twice(), twice()]).map(|_| ()).unwrap_err();
        assert_eq!(extra, BadRoutes::Extra("api_index"));
    }
}
