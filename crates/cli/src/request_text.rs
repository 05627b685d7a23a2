//! How a request looks on the wire, for `--explain`. The token is masked.

use api::{Endpoint, allocation::AllocationPath, client::Call, event::EventStream, headers, timeline::TimelineStream};
use serde::Serialize;
use serde_json::Value;

use crate::safe;

fn fields(part: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Value::Object(map)) = serde_json::to_value(part) else { return Vec::new() };
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    map.into_iter().map(|(name, value)| (name, text(value))).collect()
}

fn head(method: &str, url: &str, target: &str, token: Option<&str>) -> Vec<String> {
    let mut lines = vec![format!("> {method} {url}{target}")];
    lines.extend(token.map(|token| format!("> Authorization: Bearer {token}")));
    lines
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| safe::line(line).into_owned()).collect::<Vec<_>>().join("\n")
}

/// A typed call.
pub fn of<E: Endpoint>(url: &str, token: Option<&str>, call: &Call<E>) -> String {
    let operation = E::OPERATION;
    let mut target = operation.path.to_owned();
    for (name, value) in fields(&call.path) {
        target = target.replace(&format!("{{{name}}}"), &value);
    }
    let query: Vec<String> = fields(&call.query).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !query.is_empty() {
        target = format!("{target}?{}", query.join("&"));
    }
    let mut lines = head(operation.method.as_str(), url, &target, token);
    if let Some(key) = &call.idempotency_key {
        lines.push(format!("> Idempotency-Key: {}", headers::idempotency_key_text(key)));
    }
    if let Some(version) = call.if_match {
        lines.push(format!("> If-Match: {}", headers::version_text(version)));
    }
    if E::has_body() {
        lines.push("> Content-Type: application/json".to_owned());
        lines.push(">".to_owned());
        lines.push(format!("> {}", serde_json::to_string(&call.body).unwrap_or_default()));
    }
    text(&lines)
}

/// A raw GET.
pub fn of_get(url: &str, token: Option<&str>, path: &str) -> String {
    text(&head("GET", url, path, token))
}

/// The event stream.
pub fn of_event_stream(url: &str, token: Option<&str>) -> String {
    let mut lines = head("GET", url, EventStream::OPERATION.path, token);
    lines.push("> Accept: text/event-stream".to_owned());
    text(&lines)
}

/// The live timeline of an allocation.
pub fn of_timeline(url: &str, token: Option<&str>, path: &AllocationPath) -> String {
    let target = TimelineStream::OPERATION.path.replace("{allocation_id}", path.allocation_id.as_str());
    let mut lines = head("GET", url, &target, token);
    lines.push("> Accept: text/event-stream".to_owned());
    text(&lines)
}
