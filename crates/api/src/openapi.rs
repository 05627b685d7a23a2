//! The OpenAPI 3.1 document, produced from [`operations`](crate::operations) alone: no server is needed to write it.
//!
//! It promises exactly what the declarations say: each success with its one status and headers, each refusal with its
//! status and the codes it can carry. There is no `default` response and no free-form object, so a test tool that reads
//! the document can tell every wrong answer from a right one.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use crate::{
    endpoint::{Described, IfMatch, Operation, Success},
    headers,
    limits::{BODY_BYTES_MAX, BODY_DEPTH_MAX, HEADER_BYTES_MAX, IDEMPOTENCY_HOURS, URI_BYTES_MAX},
    problem::{Code, Problem},
    schemas::{self, Schemas},
};

/// The version of the contract. Within one major version, which is in every path, changes only add.
pub const API_VERSION: &str = "1.0.0";

/// What belongs together, in document order, with one sentence each.
pub const TAGS: &[(&str, &str)] = &[
    ("platform", "What this server speaks, who leads, what waits."),
    ("identity", "Who the caller is."),
    ("members", "Who works in a tenant or project, and as what."),
    ("service accounts", "Programs that belong to a tenant."),
    ("operators", "Who runs the platform."),
    ("tokens", "What callers prove themselves with: scoped, expiring, revocable, stored only as a hash."),
    ("sessions", "People in browsers: how they can sign in, and the session that they have afterwards."),
    ("tenants", "Organisations that own projects and pay."),
    ("projects", "Where a tenant's people work, each with a cap on GPUs."),
    ("regions", "Where capacity is. A disabled region is shown and cannot be chosen."),
    ("pools", "Nodes of one kind in one region."),
    ("skus", "What is sold, and for how much."),
    ("slot profiles", "What one slot of a kind is made of besides its GPU."),
    ("images", "What guests are made of: signed entries, their bytes, and the keys that may sign them."),
    ("ssh keys", "Public keys of a project: who may sign in to its guests."),
    ("governance", "Who may have how much of which GPUs, as one document."),
    ("topologies", "Levels of places that work can be kept together in."),
    ("flavors", "Kinds of GPUs that quota is given in."),
    ("priority classes", "Priorities by name."),
    ("hardware profiles", "What people choose hardware by."),
    ("cohorts", "Queues that lend to each other, as a tree."),
    ("cluster queues", "Queues with quota."),
    ("local queues", "Projects' ways into queues with quota."),
    ("ingress", "Ways in to guests from outside, and who owns them in a region. Accepting one opens nothing."),
    (
        "workloads",
        "What waits in a queue and is admitted as a whole: where it stands, why, and who had to go for whom.",
    ),
    ("allocations", "What a project holds: launch, watch, release."),
    ("placement", "Where a launch would go or went, and why: plans, decisions, occupancy, evacuation."),
    ("streams", "The way in to a guest: SSH and the serial console, who used it, and what was printed."),
    ("timeline", "What happens to an allocation step by step, as pages and live."),
    ("usage", "What was held, since when and at what price, from the claims themselves."),
    ("operations", "Long work started by a request, to be followed until it ends."),
    ("events", "Everything that changed, as pages and as a live stream of CloudEvents."),
    ("audit", "Who did what, in a hash chain."),
    ("nodes", "GPU hosts with their claims and orders, as operators see them: looked at, promoted, drained, repaired."),
    ("machines", "Whole machines as their providers show them, and what does not agree with the platform."),
    ("slots", "Approved bundles of devices on a node: what can be sold, what has drifted, what may be wiped."),
    ("enrollment", "One-time tokens that bring hosts in."),
    ("catalog", "What can be had now."),
    ("webhooks", "Where events are sent, signed, and how every delivery went."),
];

/// The document, with its keys in order: the same bytes from every build.
pub fn document() -> Value {
    let mut writer = Writer { schemas: Schemas::draft_2020_12(), refusals: BTreeMap::new() };
    writer.schemas.answer(|g| g.subschema_for::<Problem>());
    let mut paths = Map::new();
    for described in crate::operations() {
        let item = writer.operation(&described);
        let path = paths.entry(described.operation.path).or_insert_with(|| json!({}));
        path[described.operation.method.as_str().to_ascii_lowercase()] = item;
    }
    let Writer { schemas, refusals } = writer;
    schemas::sorted(json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "gpuaas",
            "version": API_VERSION,
            "summary": "GPUs as a service: bare-metal nodes and slices, launched and released over HTTP.",
            "description": introduction(),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" }
        },
        "servers": [{ "url": "/", "description": "The server this document came from." }],
        "security": [{ "token": [] }],
        "tags": TAGS.iter().map(|(name, sentence)| json!({ "name": name, "description": sentence })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "schemas": schemas.into_components(),
            "responses": refusals,
            "headers": answer_headers(),
            "parameters": request_headers(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "An API token: `Authorization: Bearer SECRET`." }
            }
        }
    }))
}

/// The conventions that hold for every operation, in Markdown.
pub fn introduction() -> String {
    format!(
        "Conventions that hold for every operation:\n\n\
        - **Bodies** are JSON objects in UTF-8 with a closed set of fields: an unknown field or parameter is refused. A field \
        without a value is left out; no field is ever `null`. At most {body} KiB, nested at most {BODY_DEPTH_MAX} levels.\n\
        - **Times** are RFC 3339 in UTC with milliseconds. Units are in the names of fields (`lifetime_s`, `memory_mib_per_gpu`).\n\
        - **Ids** say what they name (`prj_…`, `alc_…`) and sort by creation.\n\
        - **Creates and actions** (`POST`) need an `Idempotency-Key`. The same key with the same request gets the same answer for \
        {IDEMPOTENCY_HOURS} hours, after any crash; with another request it gets 422, and 409 while the first is running.\n\
        - **Changes** (`PATCH`, most `DELETE`s) need `If-Match` with the `ETag` that was read: 428 without it, 412 when stale.\n\
        - **Reading again** costs little with `If-None-Match` and the `ETag` that was read: 304 without a body while nothing has \
        changed.\n\
        - **Long work** answers 202 with an operation; follow its `Location` until `state` is no longer `running`.\n\
        - **Lists** come in pages of at most 200, oldest first. Pass `next_page_token` as `page_token` until it is absent; \
        `Link` has the whole next request.\n\
        - **Every answer** has an `X-Request-Id`: the request's own, if it brought one of 1 to 64 of the characters \
        `A-Z a-z 0-9 _ . : -`, else a new one.\n\
        - **Refusals** are RFC 9457 problems with a stable `code`; `type` leads to a page that says what to do. What is absent and \
        what the caller may not know of get the same 404, byte for byte.\n\
        - **Rates** are limited per token; `RateLimit-Policy` and `RateLimit` say how far, `Retry-After` says when to come back.\n\
        - **Browsers** can have a session instead of a token: a cookie, from `POST /api/v1/session` or through the identity provider. \
        A request with `Authorization` is judged by that alone. Without it, whatever changes something needs the session's CSRF \
        token in `X-CSRF-Token` and must come from this site.\n\
        - **Sizes**: a request target has at most {uri} KiB, all headers together at most {headers} KiB.\n",
        body = BODY_BYTES_MAX / 1024,
        uri = URI_BYTES_MAX / 1024,
        headers = HEADER_BYTES_MAX / 1024,
    )
}

struct Writer {
    schemas: Schemas,
    refusals: BTreeMap<String, Value>,
}

impl Writer {
    fn operation(&mut self, described: &Described) -> Value {
        let operation = &described.operation;
        let mut item = json!({
            "operationId": operation.id,
            "summary": operation.summary.trim(),
            "description": description(operation),
            "tags": [operation.tag],
            "x-right": operation.right.as_str(),
            "parameters": self.parameters(described),
            "responses": self.responses(described),
        });
        if described.has_body {
            let schema = self.schemas.request(described.body);
            item["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        }
        if operation.public {
            item["security"] = json!([]);
        }
        if operation.takes_bytes {
            item["requestBody"] = json!({ "required": true, "content": { "application/octet-stream": {} } });
        }
        item
    }

    fn parameters(&mut self, described: &Described) -> Vec<Value> {
        let mut all = Vec::new();
        for (place, make) in [("path", described.path), ("query", described.query)] {
            let schema = self.schemas.request(make);
            for (name, property, required) in schemas::properties(&schema) {
                all.push(parameter(place, name, property, required));
            }
        }
        let operation = &described.operation;
        let header = |name: &str| json!({ "$ref": format!("#/components/parameters/{name}") });
        if operation.needs_idempotency_key() {
            all.push(header("IdempotencyKey"));
        }
        match operation.if_match {
            IfMatch::Ignored => {}
            IfMatch::Optional => all.push(header("IfMatchOptional")),
            IfMatch::Required => all.push(header("IfMatchRequired")),
        }
        if may_be_unchanged(described) {
            all.push(header("IfNoneMatch"));
        }
        if operation.success == Success::EventStream {
            all.push(header("LastEventId"));
        }
        if operation.is_upgrade() {
            all.push(header("Upgrade"));
        }
        all
    }

    fn responses(&mut self, described: &Described) -> Value {
        let operation = &described.operation;
        let mut responses = Map::new();
        responses.insert(operation.success.status().to_string(), self.success(described));
        if may_be_unchanged(described) {
            responses.insert("304".to_owned(), json!({ "$ref": "#/components/responses/304" }));
            self.refusals.entry("304".to_owned()).or_insert_with(unchanged);
        }
        let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        for code in operation.all_problems(described.has_body) {
            by_status.entry(code.status()).or_default().push(code);
        }
        for (status, codes) in by_status {
            let name = refusal_name(status, &codes);
            responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
            self.refusals.entry(name).or_insert_with(|| refusal(status, &codes));
        }
        Value::Object(responses)
    }

    fn success(&mut self, described: &Described) -> Value {
        let success = described.operation.success;
        let mut names = vec!["RateLimit", "RateLimit-Policy", "X-Request-Id"];
        if matches!(success, Success::Created | Success::Accepted) {
            names.push("Location");
        }
        if answer_has_version(described) {
            names.push("ETag");
        }
        if answer_has(described, "next_page_token") {
            names.push("Link");
        }
        let mut response = json!({ "description": success_sentence(success), "headers": header_refs(&names) });
        match success {
            Success::NoContent | Success::Upgraded => {}
            Success::Bytes => {
                response["content"] = json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary",
                    "description": "The file as it is." } } });
            }
            Success::EventStream => {
                let event = self.schemas.answer(described.answer);
                response["content"] = json!({ "text/event-stream": { "schema": { "type": "string",
                    "description": "Frames whose `id` is the position, `event` the type and `data` one object as JSON; comments keep the connection alive. See /asyncapi.json." },
                    "x-item-schema": frame(event) } });
            }
            Success::Ok | Success::Created | Success::Accepted => {
                let schema = self.schemas.answer(described.answer);
                response["content"] = json!({ "application/json": { "schema": schema } });
            }
        }
        response
    }
}

/// Whether the answer is one versioned object, so that it comes with an `ETag`.
pub fn answer_has_version(described: &Described) -> bool {
    match described.operation.success {
        Success::Created => true,
        Success::Ok => answer_has(described, "version"),
        Success::Accepted | Success::NoContent | Success::EventStream | Success::Bytes | Success::Upgraded => false,
    }
}

/// Whether the answer may be that nothing has changed since the version in `If-None-Match`.
pub fn may_be_unchanged(described: &Described) -> bool {
    !described.operation.is_mutating() && answer_has_version(described)
}

fn answer_has(described: &Described, property: &str) -> bool {
    let mut schemas = Schemas::draft_2020_12();
    let reference = schemas.answer(described.answer);
    let name = reference["$ref"].as_str().and_then(|r| r.strip_prefix(schemas::DEFINITIONS)).unwrap_or_default();
    let components = schemas.into_components();
    components.get(name).is_some_and(|schema| schema["properties"][property].is_object())
}

fn unchanged() -> Value {
    json!({
        "description": "Not changed: the object is still at a version that `If-None-Match` names.",
        "headers": header_refs(&["ETag", "RateLimit", "RateLimit-Policy", "X-Request-Id"]),
    })
}

/// One event as it stands in a stream. OpenAPI 3.1 can only say that a stream is text; from 3.2 on this is `itemSchema`.
fn frame(event: Value) -> Value {
    json!({
        "type": "object",
        "description": "One event of the stream.",
        "properties": {
            "id": { "type": "string", "pattern": "^[1-9][0-9]*$", "description": "The position: what to send as `Last-Event-ID`." },
            "event": { "type": "string", "pattern": "^io\\.gpuaas\\.", "description": "The type of the event." },
            "data": { "type": "string", "contentMediaType": "application/json", "contentSchema": event },
        },
        "required": ["id", "event", "data"],
        "additionalProperties": false,
    })
}

fn parameter(place: &str, name: &str, property: &Value, required: bool) -> Value {
    let mut schema = property.clone();
    let mut parameter = json!({ "name": name, "in": place, "required": required });
    if let Some(map) = schema.as_object_mut()
        && let Some(sentence) = map.remove("description")
    {
        parameter["description"] = sentence;
    }
    parameter["schema"] = schema;
    parameter
}

fn description(operation: &Operation) -> String {
    if operation.public {
        return "For everybody, without a token.".to_owned();
    }
    let mut text = format!("Needs the right `{}`.", operation.right);
    if operation.is_mutating() {
        text.push_str(" Audited, and refused for tokens with the scope `read`.");
    }
    text
}

fn success_sentence(success: Success) -> &'static str {
    match success {
        Success::Ok => "Done.",
        Success::Created => "Created; `Location` says where.",
        Success::Accepted => "Accepted; follow the operation at `Location` until it ends.",
        Success::NoContent => "Done; there is nothing to say.",
        Success::Bytes => "The file.",
        Success::Upgraded => {
            "The connection is a stream from here on: bytes in both directions, until either side ends it."
        }
        Success::EventStream => "A stream of server-sent events that goes on until either side ends it.",
    }
}

fn refusal_name(status: u16, codes: &[Code]) -> String {
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    format!("{status}.{}", words.join("."))
}

fn refusal(status: u16, codes: &[Code]) -> Value {
    let mut lines = String::new();
    for code in codes {
        lines.push_str(&format!("- [`{code}`](/docs/errors/{code}): {}.\n", code.title()));
    }
    let mut names = vec!["X-Request-Id"];
    if codes.iter().any(|code| code.is_retryable()) {
        names.push("Retry-After");
    }
    if status == 401 {
        names.push("WWW-Authenticate");
    }
    let words: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    json!({
        "description": lines.trim_end(),
        "headers": header_refs(&names),
        "content": { "application/problem+json": { "schema": {
            "allOf": [{ "$ref": format!("{}Problem", schemas::DEFINITIONS) }],
            "type": "object",
            "properties": { "code": { "type": "string", "enum": words }, "status": { "type": "integer", "const": status } }
        } } }
    })
}

fn header_refs(names: &[&str]) -> Value {
    let refs = names.iter().map(|name| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") })));
    Value::Object(refs.collect())
}

fn answer_headers() -> Value {
    let text = |sentence: &str, required: bool, schema: Value| json!({ "description": sentence, "required": required, "schema": schema });
    let string = || json!({ "type": "string", "minLength": 1 });
    json!({
        headers::ETAG: text("The version of the object, for `If-Match`.", true, json!({ "type": "string", "pattern": headers::VERSION_PATTERN, "examples": ["\"7\""] })),
        headers::LOCATION: text("The path of the new object, or of the operation to follow.", true, json!({ "type": "string", "pattern": "^/api/v1/" })),
        headers::LINK: text("The next page, as `rel=\"next\"`; absent on the last one.", false, json!({ "type": "string", "pattern": "^</api/v1/[^>]*>; rel=\"next\"$" })),
        headers::REQUEST_ID: text("Names this request in logs and in the audit trail.", true, string()),
        headers::RATE_LIMIT: text("What is left of the token's allowance (`r`) and in how many seconds more comes (`t`).", true, string()),
        headers::RATE_LIMIT_POLICY: text("The token's allowance: requests (`q`) in a window of seconds (`w`).", true, string()),
        headers::RETRY_AFTER: text("Seconds to wait before trying again; present when the problem is retryable.", false, json!({ "type": "integer", "minimum": 0 })),
        "WWW-Authenticate": text("Always `Bearer`.", true, json!({ "type": "string", "const": "Bearer" })),
    })
}

fn request_headers() -> Value {
    let header = |name: &str, required: bool, sentence: &str, schema: Value| json!({ "name": name, "in": "header", "required": required, "description": sentence, "schema": schema });
    let version = || json!({ "type": "string", "pattern": headers::VERSION_PATTERN, "examples": ["\"7\""] });
    json!({
        "IdempotencyKey": header(headers::IDEMPOTENCY_KEY, true, "Names this wish: the same key for every retry, a new one for the next wish. The quotes are optional and not part of the key.",
            json!({ "type": "string", "minLength": 1, "maxLength": headers::IDEMPOTENCY_KEY_CHARACTERS_MAX + 2, "pattern": headers::IDEMPOTENCY_KEY_PATTERN, "examples": ["\"8e03978e-40d5-43dd-bc93-6894a57f9324\""] })),
        "IfMatchOptional": header(headers::IF_MATCH, false, "Do this only if the object is still at this version.", version()),
        "IfMatchRequired": header(headers::IF_MATCH, true, "The version that was read, as its `ETag` gave it.", version()),
        "IfNoneMatch": header(headers::IF_NONE_MATCH, false, "Versions that the reader has already: 304 while the object is at one of them.",
            json!({ "type": "string", "pattern": headers::NONE_MATCH_PATTERN, "examples": ["\"7\""] })),
        "LastEventId": header(headers::LAST_EVENT_ID, false, "Go on after this position; wins over `after`.",
            json!({ "$ref": format!("{}EventPosition", schemas::DEFINITIONS) })),
        "Upgrade": header(headers::UPGRADE, true, "What the connection becomes; with `Connection: Upgrade`, over HTTP/1.1.",
            json!({ "type": "string", "const": crate::node_plane::STREAM_PROTOCOL })),
    })
}
