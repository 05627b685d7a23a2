//! What an operation is: method, path, who may call it, what goes in and what comes out.
//!
//! Every operation is declared once with [`endpoints!`](crate::endpoints). The OpenAPI document, the server's router, the
//! authorization matrix and the typed client are all derived from that declaration, so none of them can drift.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use std::any::TypeId;

use crate::problem::{Code, FieldError};

model::text_enum! {
    /// HTTP methods in use.
    Method { /// Read.
        Get = "GET", /// Create or act.
        Post = "POST", /// Set as a whole.
        Put = "PUT", /// Change some fields.
        Patch = "PATCH", /// End.
        Delete = "DELETE" }
}

model::text_enum! {
    /// What a caller must be allowed to do. Cedar policies grant these to roles; operations only name them.
    Right {
        /// See regions, pools, SKUs and what else people choose by: everybody who is signed in.
        CatalogRead = "catalog_read",
        /// Change regions, pools, SKUs and the objects of governance.
        CatalogManage = "catalog_manage",
        /// See nodes, slots, claims, tasks and the state of the platform.
        PlatformRead = "platform_read",
        /// Enroll hosts, approve slots, promote, drain and repair nodes.
        FleetManage = "fleet_manage",
        /// Create, suspend and delete tenants; appoint operators.
        PlatformManage = "platform_manage",
        /// See a tenant.
        TenantRead = "tenant_read",
        /// Change a tenant's projects, members, service accounts and their tokens.
        TenantManage = "tenant_manage",
        /// See who did what in a tenant.
        AuditRead = "audit_read",
        /// See a project and what is in it.
        ProjectRead = "project_read",
        /// Change a project.
        ProjectManage = "project_manage",
        /// Launch and release in a project.
        ProjectUse = "project_use",
        /// See oneself and one's tokens.
        SelfRead = "self_read",
        /// Make and revoke one's own tokens.
        SelfManage = "self_manage",
    }
}

/// What a request to an operation must carry about versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMatch {
    /// Not looked at.
    Ignored,
    /// Checked when given.
    Optional,
    /// Missing means 428.
    Required,
}

/// What success looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Success {
    /// 200 with a body.
    Ok,
    /// 201 with the new object, `Location` and `ETag`.
    Created,
    /// 202 with an operation and its `Location`.
    Accepted,
    /// 204 without a body.
    NoContent,
    /// 200 with a stream of server-sent events.
    EventStream,
    /// 200 with a file as it is.
    Bytes,
    /// 101: from here on the connection carries bytes in both directions, and nothing else.
    Upgraded,
}

impl Success {
    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Ok | Self::EventStream | Self::Bytes => 200,
            Self::Upgraded => 101,
            Self::Created => 201,
            Self::Accepted => 202,
            Self::NoContent => 204,
        }
    }
}

/// The declared facts of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Unique, `noun_verb`.
    pub id: &'static str,
    /// How.
    pub method: Method,
    /// Where, with `{parameters}`.
    pub path: &'static str,
    /// The noun it belongs to.
    pub tag: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What the caller must be allowed to do.
    pub right: Right,
    /// What success looks like.
    pub success: Success,
    /// What it wants to know about versions.
    pub if_match: IfMatch,
    /// Whether it only answers a question that is too long for a path: nothing is changed, kept or audited.
    pub reads_only: bool,
    /// Whether the body is bytes as they are, and not an object. Such a body may be as long as what it is for.
    pub takes_bytes: bool,
    /// Whether it is for people who have not shown who they are: then nothing is asked of them, and it says so little that
    /// everybody may know it, or proves by itself who they are.
    pub public: bool,
    /// Refusals beyond those any operation of its form can give.
    pub problems: &'static [Code],
}

impl Operation {
    /// Whether it changes anything: then it is audited and refused for tokens that may only read.
    pub const fn is_mutating(&self) -> bool {
        !self.reads_only && (self.is_upgrade() || !matches!(self.method, Method::Get))
    }
    /// Whether it opens a way to a guest. That is done with `GET`, and is an act all the same.
    pub const fn is_upgrade(&self) -> bool {
        matches!(self.success, Success::Upgraded)
    }
    /// Whether it needs an `Idempotency-Key`: every create and action of somebody who is known, since keys are kept by person.
    pub const fn needs_idempotency_key(&self) -> bool {
        matches!(self.method, Method::Post) && !self.reads_only && !self.public
    }
    /// Every refusal the operation can give, in the order of the table of codes.
    pub fn all_problems(&self, has_body: bool) -> Vec<Code> {
        let mut codes = vec![
            Code::MalformedRequest,
            Code::InvalidParameter,
            Code::InvalidHeader,
            Code::RequestTimeout,
            Code::UriTooLong,
            Code::HeadersTooLarge,
            Code::RateLimited,
            Code::Internal,
            Code::StoreUnavailable,
            Code::BodyTooLarge,
        ];
        if !self.public {
            codes.extend([Code::Unauthenticated, Code::TokenExpired, Code::TokenRevoked, Code::Forbidden]);
        }
        if self.path.contains('{') {
            codes.push(Code::NotFound);
        }
        if self.is_mutating() {
            codes.push(Code::OutcomeUnknown);
        }
        if !self.public && self.is_mutating() {
            codes.push(Code::TokenScopeTooNarrow);
        }
        if !self.public && (self.is_mutating() || !matches!(self.method, Method::Get)) {
            codes.push(Code::CsrfRefused);
        }
        if self.needs_idempotency_key() {
            codes.extend([Code::IdempotencyKeyMissing, Code::IdempotencyKeyReused, Code::RequestInFlight]);
        }
        if has_body {
            codes.extend([Code::MalformedJson, Code::InvalidBody, Code::BodyTooDeep, Code::UnsupportedMediaType]);
        }
        match self.if_match {
            IfMatch::Ignored => {}
            IfMatch::Optional => codes.push(Code::StaleVersion),
            IfMatch::Required => codes.extend([Code::StaleVersion, Code::VersionRequired]),
        }
        codes.extend(self.problems);
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}

/// Anything that travels in a request or answer.
pub trait Part: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static {}
impl<T: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static> Part for T {}

/// No parameters, or no body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Reads a field that may be left out but must not be `null`: a body says nothing in one way only, and what the schema
/// promises is what the server takes.
pub fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// An operation with its types.
pub trait Endpoint: Send + Sync + 'static {
    /// The declared facts.
    const OPERATION: Operation;
    /// Path parameters.
    type Path: Part;
    /// Query parameters.
    type Query: Part;
    /// The request body.
    type Body: Part;
    /// The answer's body on success.
    type Answer: Part;

    /// Rules between the fields of a body, which its types alone cannot keep. They are part of its form: who breaks one is
    /// told so before anything is said about rights or facts.
    fn check(_body: &Self::Body) -> Result<(), FieldError> {
        Ok(())
    }

    /// Whether a request carries a body.
    fn has_body() -> bool {
        TypeId::of::<Self::Body>() != TypeId::of::<Nothing>()
    }
}

/// An operation with its schemas, for documents and tests that walk over all of them.
#[derive(Clone, Copy)]
pub struct Described {
    /// The declared facts.
    pub operation: Operation,
    /// Whether a request carries a body.
    pub has_body: bool,
    /// Schema of the path parameters.
    pub path: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of the query parameters.
    pub query: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of the body.
    pub body: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of the answer.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
}

/// Describes one operation.
pub fn describe<E: Endpoint>() -> Described {
    Described {
        operation: E::OPERATION,
        has_body: E::has_body(),
        path: |g| E::Path::json_schema(g),
        query: |g| E::Query::json_schema(g),
        body: |g| g.subschema_for::<E::Body>(),
        answer: |g| g.subschema_for::<E::Answer>(),
    }
}

/// Declares operations: one block each, and a list of them all.
#[macro_export]
macro_rules! endpoints {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $method:ident $path:literal, $tag:literal, $right:ident {
        $(path: $p:ty,)? $(query: $q:ty,)? $(body: $b:ty,)? $(check: $check:path,)? answer: $success:ident $a:ty
        $(, if_match: $im:ident)? $(, reads_only: $ro:literal)? $(, takes_bytes: $bytes:literal)? $(, public: $public:literal)? $(, problems: [$($code:ident),* $(,)?])? $(,)?
    })+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy)]
            pub struct $name;
            impl $crate::endpoint::Endpoint for $name {
                const OPERATION: $crate::endpoint::Operation = $crate::endpoint::Operation {
                    id: $id,
                    method: $crate::endpoint::Method::$method,
                    path: $path,
                    tag: $tag,
                    summary: concat!($($doc),+),
                    right: $crate::endpoint::Right::$right,
                    success: $crate::endpoint::Success::$success,
                    if_match: $crate::endpoints!(@if_match $($im)?),
                    reads_only: $crate::endpoints!(@or_false $($ro)?),
                    takes_bytes: $crate::endpoints!(@or_false $($bytes)?),
                    public: $crate::endpoints!(@or_false $($public)?),
                    problems: &[$($($crate::problem::Code::$code),*)?],
                };
                type Path = $crate::endpoints!(@or_nothing $($p)?);
                type Query = $crate::endpoints!(@or_nothing $($q)?);
                type Body = $crate::endpoints!(@or_nothing $($b)?);
                type Answer = $a;
                $(fn check(body: &Self::Body) -> Result<(), $crate::problem::FieldError> {
                    $check(body)
                })?
            }
        )+
        /// Every operation declared here.
        pub fn described() -> Vec<$crate::endpoint::Described> {
            vec![$($crate::endpoint::describe::<$name>()),+]
        }
    };
    (@if_match) => { $crate::endpoint::IfMatch::Ignored };
    (@if_match $im:ident) => { $crate::endpoint::IfMatch::$im };
    (@or_false) => { false };
    (@or_false $flag:literal) => { $flag };
    (@or_nothing) => { $crate::endpoint::Nothing };
    (@or_nothing $t:ty) => { $t };
}
