//! Reading a JSON body into the type of its operation.
//!
//! Bodies are closed and plain: one object, no field twice, no `null`, nothing unknown, no deeper than the limit. The depth
//! is counted on the bytes before any parser sees them, so that nesting costs nothing. Every refusal names the place in
//! the body as a JSON Pointer and says what would be accepted there.

use std::cell::RefCell;

use api::{Code, Method, Operation, Problem, limits};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_path_to_error::Segment;

/// Reads the body of a request to this operation. An operation without a body takes none, or `{}`.
pub(crate) fn read<T: DeserializeOwned>(
    operation: &Operation,
    has_body: bool,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<T, Problem> {
    if !has_body {
        // Some clients cannot help sending an empty object.
        let nothing = body.is_empty() || body.trim_ascii() == b"{}";
        let refused = || super::parameters::invalid("body", "no body, or an empty object");
        return if nothing { typed(Value::Object(Map::new())) } else { Err(refused()) };
    }
    if !content_type.is_some_and(is_json) {
        return Err(Problem::new(Code::UnsupportedMediaType, "The body must be declared as application/json.")
            .with_field("Content-Type", "application/json, in UTF-8"));
    }
    let depth = depth(body);
    if depth > limits::BODY_DEPTH_MAX {
        let detail = format!("The body is nested more than {} levels deep.", limits::BODY_DEPTH_MAX);
        return Err(Problem::new(Code::BodyTooDeep, detail));
    }
    let value = plain(body)?;
    if operation.method == Method::Patch && value.as_object().is_some_and(Map::is_empty) {
        return Err(invalid("", "an object with at least one field to change"));
    }
    typed(value)
}

/// A body that is JSON and breaks a rule at one place.
pub(crate) fn invalid(pointer: &str, accepted: &str) -> Problem {
    Problem::new(Code::InvalidBody, "The body does not match its schema.").with_field(pointer, accepted)
}

fn is_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(|part| part.trim().to_ascii_lowercase());
    parts.next().as_deref() == Some(super::request::JSON)
        && parts.all(|parameter| {
            parameter.is_empty() || matches!(parameter.as_str(), "charset=utf-8" | "charset=\"utf-8\"")
        })
}

/// How deep brackets nest, strings aside. What is not JSON at all is left to the parser.
fn depth(body: &[u8]) -> usize {
    let (mut deepest, mut now) = (0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Parses without any type in mind: JSON at all, no field twice, no null.
fn plain(body: &[u8]) -> Result<Value, Problem> {
    let faults = RefCell::new(Vec::new());
    let mut parser = serde_json::Deserializer::from_slice(body);
    let seed = Plain { faults: &faults, pointer: String::new() };
    let parsed = seed.deserialize(&mut parser).and_then(|value| parser.end().map(|()| value));
    let value = parsed.map_err(|error| {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        let place = format!("line {}, column {}", error.line(), error.column());
        Problem::new(Code::MalformedJson, format!("The body stops being JSON at {place}: {what}."))
    })?;
    let faults = faults.into_inner();
    if faults.is_empty() {
        return Ok(value);
    }
    let problem = Problem::new(Code::InvalidBody, "The body does not match its schema.");
    Err(faults.into_iter().take(20).fold(problem, |problem, (pointer, detail)| problem.with_field(pointer, detail)))
}

struct Plain<'a> {
    faults: &'a RefCell<Vec<(String, &'static str)>>,
    pointer: String,
}

impl Plain<'_> {
    fn inner(&self, step: &str) -> Self {
        Plain { faults: self.faults, pointer: format!("{}/{}", self.pointer, escape(step)) }
    }
    fn fault(&self, pointer: String, detail: &'static str) {
        self.faults.borrow_mut().push((pointer, detail));
    }
}

impl<'de> DeserializeSeed<'de> for Plain<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Plain<'_> {
    type Value = Value;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        self.fault(self.pointer.clone(), "a value; leave the field out instead of sending null");
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        // 8.0 is a whole number in JSON Schema's eyes; written out it has no point.
        let whole = number.to_string().parse::<i64>().ok();
        Ok(whole.map(Value::from).or_else(|| Number::from_f64(number).map(Value::Number)).unwrap_or(Value::Null))
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element_seed(self.inner(&found.len().to_string()))? {
            found.push(item);
        }
        Ok(Value::Array(found))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let inner = self.inner(&name);
            let pointer = inner.pointer.clone();
            let value = fields.next_value_seed(inner)?;
            if found.insert(name, value).is_some() {
                self.fault(pointer, "the field once");
            }
        }
        Ok(Value::Object(found))
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    if !value.is_object() {
        return Err(invalid("", "a JSON object"));
    }
    let mut track = serde_path_to_error::Track::new();
    let read = T::deserialize(serde_path_to_error::Deserializer::new(value, &mut track));
    read.map_err(|error| {
        let mut pointer = pointer(&track.path());
        let text = error.to_string();
        let quoted = |start: &str| text.strip_prefix(start).and_then(|rest| rest.split('`').next()).map(escape);
        if let Some(name) = quoted("missing field `").or_else(|| quoted("unknown field `")) {
            // The name of a field that is not there, or not known, belongs to the place.
            if !pointer.ends_with(&format!("/{name}")) {
                pointer = format!("{pointer}/{name}");
            }
        }
        invalid(&pointer, accepted(&text))
    })
}

/// What would be accepted, out of what a deserializer says.
pub(crate) fn accepted(text: &str) -> &str {
    if text.starts_with("missing field `") {
        return "a value: the field is required";
    }
    // What was given stands before the last comma; the caller knows it, and it may be long.
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => expected,
        None if text.starts_with("unknown field `") => "no such field",
        None => text.strip_prefix("expected ").unwrap_or(text),
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", escape(key)),
        Segment::Enum { variant } => format!("/{}", escape(variant)),
        Segment::Unknown => String::new(),
    };
    path.iter().map(step).collect()
}

fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::{
        Endpoint,
        identity::{MemberCreate, MemberCreateBody},
        tenancy::{ProjectUpdate, ProjectUpdateBody, TenantCreate, TenantCreateBody, TenantSuspend},
    };

    fn create(body: &[u8]) -> Result<TenantCreateBody, Problem> {
        read(&TenantCreate::OPERATION, true, Some("application/json"), body)
    }
    fn place(body: &str) -> (Code, String, String) {
        let problem = create(body.as_bytes()).unwrap_err();
        let field = problem.errors.first().cloned();
        let (pointer, detail) = field.map(|field| (field.pointer, field.detail)).unwrap_or_default();
        (problem.code, pointer, detail)
    }

    #[test]
    fn a_plain_body_is_read() {
        let body = create(br#"{"slug": "acme", "name": "Acme"}"#).unwrap();
        assert_eq!(body.slug.as_str(), "acme");
    }

    #[test]
    fn each_fault_is_named_at_its_place() {
        let (code, pointer, detail) = place(r#"{"slug": "acme", "name": "Acme", "state": "active"}"#);
        assert_eq!((code, pointer.as_str()), (Code::InvalidBody, "/state"));
        assert!(detail.contains("`slug`"), "{detail}");
        assert_eq!(place(r#"{"slug": "acme"}"#).1, "/name");
        assert_eq!(place(r#"{"slug": "acme", "name": null}"#).1, "/name");
        assert_eq!(place(r#"{"slug": "acme", "slug": "acme", "name": "A"}"#).1, "/slug");
        let (_, pointer, detail) = place(r#"{"slug": "Acme!", "name": "A"}"#);
        assert_eq!(pointer, "/slug");
        assert!(detail.starts_with("1 to 40 lower-case"), "{detail}");
        assert_eq!(place(r#"{"slug": 5, "name": "A"}"#).1, "/slug");
        assert_eq!(place("[]"), (Code::InvalidBody, String::new(), "a JSON object".to_owned()));
        assert_eq!(place(r#"{"slug": "a", "name": "a\u0000b"}"#).1, "/name");
        let nested: Result<MemberCreateBody, _> = read(
            &MemberCreate::OPERATION,
            true,
            Some("application/json"),
            br#"{"subject": {"email": "nobody"}, "role": "viewer"}"#,
        );
        assert_eq!(nested.unwrap_err().errors[0].pointer, "/subject/email");
    }

    #[test]
    fn what_is_not_json_is_malformed() {
        for body in ["", "{", "{\"slug\": 1e400}", "{'a': 1}", "{} {}", "NaN", "{\"slug\": \"\\ud800\"}", "{\"a\": 01}"]
        {
            assert_eq!(place(body).0, Code::MalformedJson, "{body}");
        }
        assert_eq!(create(b"{\"slug\": \"\xff\"}").unwrap_err().code, Code::MalformedJson);
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(place(&deep).0, Code::BodyTooDeep);
        assert_eq!(place(&"{\"a\":".repeat(17)).0, Code::BodyTooDeep);
        assert_eq!(place(r#"{"slug": "[[[[[[[[[[[[[[[[[[[[[[[\"[[[[[[[[[", "name": "A"}"#).0, Code::InvalidBody);
    }

    #[test]
    fn the_media_type_must_be_json() {
        for good in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"] {
            let found: Result<TenantCreateBody, _> =
                read(&TenantCreate::OPERATION, true, Some(good), br#"{"slug": "a", "name": "A"}"#);
            assert!(found.is_ok(), "{good}");
        }
        for bad in [None, Some("text/plain"), Some("application/json; charset=latin1"), Some("application/xml")] {
            let found: Result<TenantCreateBody, _> = read(&TenantCreate::OPERATION, true, bad, b"{}");
            assert_eq!(found.unwrap_err().code, Code::UnsupportedMediaType, "{bad:?}");
        }
    }

    #[test]
    fn whole_numbers_may_have_a_point_and_nothing_after_it() {
        let read = |body: &str| -> Result<ProjectUpdateBody, Problem> {
            read(&ProjectUpdate::OPERATION, true, Some("application/json"), body.as_bytes())
        };
        assert_eq!(read(r#"{"gpu_cap": 8.0}"#).unwrap().gpu_cap.unwrap().get(), 8);
        assert_eq!(read(r#"{"gpu_cap": 8.5}"#).unwrap_err().errors[0].pointer, "/gpu_cap");
        assert_eq!(read(r#"{"gpu_cap": -1}"#).unwrap_err().errors[0].detail, "a whole number from 0 to 1000000");
        assert_eq!(read(r#"{"gpu_cap": 99999999999999999999}"#).unwrap_err().errors[0].pointer, "/gpu_cap");
        assert_eq!(read("{}").unwrap_err().code, Code::InvalidBody);
    }

    #[test]
    fn an_operation_without_a_body_takes_none() {
        let read = |body: &[u8]| -> Result<api::Nothing, Problem> {
            read(&TenantSuspend::OPERATION, false, Some("application/json"), body)
        };
        assert!(read(b"").is_ok() && read(b"{}").is_ok());
        assert_eq!(read(br#"{"force": true}"#).unwrap_err().code, Code::InvalidParameter);
    }
}
