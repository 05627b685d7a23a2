//! The AsyncAPI 3.0 document of the streams: one channel of events with a message for every change that can occur, and one of
//! timelines, one for each allocation.
//!
//! It is made from [`OCCURRING`] and the types in [`event`](crate::event) alone. Every message
//! narrows the one CloudEvent envelope to its type, its noun and, for things with a workflow, its states.

use model::event::{Change, Noun};
use serde_json::{Map, Value, json};

use crate::{
    endpoint::Endpoint,
    event::{CloudEvent, EventStream, OCCURRING, event_type, states},
    headers,
    openapi::API_VERSION,
    schemas::{self, Schemas},
    timeline::{TimelineEntry, TimelineStream},
    workload::PreemptionNotice,
};

/// What a reader of the stream can rely on, in Markdown.
pub const GUARANTEES: &str = "\
Every committed change of a versioned object is one event.\n\n\
- **At least once.** After a reconnect, a crash or a change of leader an event may be delivered again. It then has the same \
`id` and the same `sequence`; handle each `id` once.\n\
- **Dense order.** `sequence` numbers all events of the platform from 1 without gaps, in the order in which they were \
numbered, and never changes. A caller who may see everything sees every number; others see the events of their tenants and \
projects, so their numbers have gaps.\n\
- **Each version once.** `data.object_version` of one `subject` rises by exactly 1 from event to event, so a reader can tell \
whether it has missed a change.\n\
- **Resume.** The `id` of each frame is the sequence. Send the last one you handled as `Last-Event-ID` (or `after`) and the \
stream goes on behind it. `after=0` starts at the first event; without either it starts with what comes next.\n\
- **Seen means committed.** An event is sent only after the change and the event were committed together.\n\
- **Additive.** New types and new optional fields may appear; skip what you do not know. A change of meaning gets a new `v2` type.\n";

/// The document, with its keys in order: the same bytes from every build.
pub fn document() -> Value {
    let mut all = Schemas::draft_07();
    all.answer(|g| g.subschema_for::<CloudEvent>());
    all.answer(|g| g.subschema_for::<TimelineEntry>());
    all.answer(|g| g.subschema_for::<PreemptionNotice>());
    let (mut messages, mut channel_messages, mut operation_messages) = (Map::new(), Map::new(), Vec::new());
    for (noun, changes) in OCCURRING {
        for change in *changes {
            let name = event_type(*noun, *change);
            channel_messages.insert(name.clone(), json!({ "$ref": format!("#/components/messages/{name}") }));
            operation_messages.push(json!({ "$ref": format!("#/channels/events/messages/{name}") }));
            messages.insert(name, message(*noun, *change));
        }
    }
    messages.insert(ENTRY_TYPE.to_owned(), entry_message());
    let (stream, timeline) = (EventStream::OPERATION, TimelineStream::OPERATION);
    schemas::sorted(json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "gpuaas events",
            "version": API_VERSION,
            "description": GUARANTEES,
            "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" }
        },
        "defaultContentType": "application/cloudevents+json",
        "servers": {
            "control_plane": {
                "host": "{host}", "protocol": "http", "security": [{ "$ref": "#/components/securitySchemes/token" }],
                "description": "Any replica of the control plane; they all serve the same stream.",
                "variables": { "host": { "default": "127.0.0.1:8080", "description": "Where this document came from." } }
            }
        },
        "channels": {
            "events": {
                "address": stream.path,
                "title": "Events",
                "description": "Server-sent events: `id` is the sequence, `event` the type, `data` one CloudEvent in structured JSON.",
                "messages": channel_messages
            },
            "timeline": timeline_channel()
        },
        "operations": {
            timeline.id: {
                "action": "send",
                "summary": timeline.summary.trim(),
                "channel": { "$ref": "#/channels/timeline" },
                "messages": [{ "$ref": format!("#/channels/timeline/messages/{ENTRY_TYPE}") }]
            },
            stream.id: {
                "action": "send",
                "summary": stream.summary.trim(),
                "channel": { "$ref": "#/channels/events" },
                "messages": operation_messages,
                "bindings": { "http": { "method": stream.method.as_str(), "bindingVersion": "0.3.0", "query": {
                    "type": "object", "additionalProperties": false,
                    "properties": { "after": { "type": "integer", "minimum": 0,
                        "description": format!("Only events after this position; the header `{}` wins.", headers::LAST_EVENT_ID) } }
                } } }
            }
        },
        "components": {
            "messages": messages,
            "schemas": all.into_components(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer", "description": "An API token." } }
        }
    }))
}

/// The type of the entries of a timeline.
pub const ENTRY_TYPE: &str = "io.gpuaas.timeline.entry.v1";

fn timeline_channel() -> Value {
    json!({
        "address": TimelineStream::OPERATION.path,
        "title": "Timeline of an allocation",
        "description": "Server-sent events: `id` is the position, `data` one entry. How far the step under way has come is told with the position of the entry that began it. The stream ends behind the last entry.",
        "parameters": { "allocation_id": { "description": "The allocation." } },
        "messages": { ENTRY_TYPE: { "$ref": format!("#/components/messages/{ENTRY_TYPE}") } }
    })
}

fn entry_message() -> Value {
    json!({
        "name": ENTRY_TYPE,
        "title": "timeline entry",
        "summary": "A step of an allocation began, went on, was done or failed.",
        "contentType": "application/json",
        "payload": { "$ref": format!("{}TimelineEntry", schemas::DEFINITIONS) }
    })
}

fn message(noun: Noun, change: Change) -> Value {
    let name = event_type(noun, change);
    let mut data = json!({ "noun": { "const": noun.as_str() }, "change": { "const": change.as_str() } });
    let mut required = vec!["noun", "change", "object_version"];
    let words = states(noun);
    if !words.is_empty() {
        data["state_to"] = json!({ "type": "string", "enum": words });
    }
    if matches!(change, Change::StateChanged | Change::Preempted) {
        data["state_from"] = json!({ "type": "string", "enum": words });
        required.extend(["state_from", "state_to"]);
    }
    if change == Change::Preempted {
        data["detail"] = json!({ "$ref": format!("{}PreemptionNotice", schemas::DEFINITIONS) });
        required.push("detail");
    }
    json!({
        "name": name,
        "title": format!("{noun} {change}"),
        "summary": sentence(noun, change),
        "contentType": "application/cloudevents+json",
        "payload": {
            "allOf": [{ "$ref": format!("{}CloudEvent", schemas::DEFINITIONS) }],
            "type": "object",
            "properties": {
                "type": { "const": name },
                "data": { "type": "object", "properties": data, "required": required }
            }
        }
    })
}

fn sentence(noun: Noun, change: Change) -> String {
    let a = if noun == Noun::Allocation { "an" } else { "a" };
    match change {
        Change::Created => format!("There is a new {noun}."),
        Change::Updated => format!("The description of {a} {noun} changed."),
        Change::Wished => format!("Somebody wants something else of {a} {noun}."),
        Change::StateChanged => format!("The workflow of {a} {noun} moved from `state_from` to `state_to`."),
        Change::Preempted => {
            format!("A {noun} was told to go for others: `detail` says by whom, under which rule and until when.")
        }
        Change::Tested => format!("Somebody tries {a} {noun} out."),
        Change::Deleted => format!("The life of {a} {noun} ended."),
    }
}
