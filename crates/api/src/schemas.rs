//! JSON schemas of the contract's types, as the documents print them.
//!
//! Requests are described as they are read and answers as they are written, by two generators whose results are put
//! together; a name that would mean two different things is refused. Two rules hold for every schema that leaves this
//! module: an absent field is absent and never `null`, and keys come in one order whatever the build.

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

/// Where documents keep their schemas.
pub(crate) const DEFINITIONS: &str = "#/components/schemas/";

/// The schemas of one document, collected while it is written.
pub(crate) struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    /// For documents that speak JSON Schema 2020-12, which is OpenAPI 3.1.
    pub(crate) fn draft_2020_12() -> Self {
        Self::with(SchemaSettings::draft2020_12)
    }

    /// For documents that speak JSON Schema draft 7, which is AsyncAPI 3.
    pub(crate) fn draft_07() -> Self {
        Self::with(SchemaSettings::draft07)
    }

    fn with(settings: fn() -> SchemaSettings) -> Self {
        let settings = || {
            settings().with(|s| {
                s.definitions_path = "/components/schemas".into();
                s.meta_schema = None;
            })
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            answers: settings().for_serialize().into_generator(),
        }
    }

    /// The schema of something that is read.
    pub(crate) fn request(&mut self, make: fn(&mut SchemaGenerator) -> Schema) -> Value {
        without_null(make(&mut self.requests).to_value())
    }

    /// The schema of something that is written.
    pub(crate) fn answer(&mut self, make: fn(&mut SchemaGenerator) -> Schema) -> Value {
        without_null(make(&mut self.answers).to_value())
    }

    /// Every schema that was referred to.
    ///
    /// # Panics
    /// When one name stands for two different schemas: the document would lie about one of them.
    pub(crate) fn into_components(mut self) -> Map<String, Value> {
        let mut all = Map::new();
        for generator in [&mut self.requests, &mut self.answers] {
            for (name, schema) in generator.take_definitions(true) {
                let schema = without_null(schema);
                if let Some(other) = all.get(&name) {
                    assert_eq!(*other, schema, "the schema name {name} stands for two different things");
                }
                all.insert(name, schema);
            }
        }
        all
    }
}

/// Takes the alternative `null` out of every schema: an optional field is left out, never sent as null.
fn without_null(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(object_without_null(map)),
        Value::Array(items) => Value::Array(items.into_iter().map(without_null).collect()),
        other => other,
    }
}

fn object_without_null(map: Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            // Only ever the null of an optional field, which says nothing.
            ("default", Value::Null) => {}
            ("type", Value::Array(types)) => {
                let mut types: Vec<Value> = types.into_iter().filter(|t| t != "null").collect();
                let one = if types.len() == 1 { types.remove(0) } else { Value::Array(types) };
                kept.insert(key, one);
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                let is_null = |c: &Value| c.get("type").is_some_and(|t| t == "null");
                let mut choices: Vec<Value> = choices.into_iter().filter(|c| !is_null(c)).map(without_null).collect();
                match choices.pop() {
                    // What the field says of itself stands, in whatever order its keys come.
                    Some(Value::Object(only)) if choices.is_empty() => {
                        for (key, value) in only {
                            kept.entry(key).or_insert(value);
                        }
                    }
                    Some(last) => {
                        choices.push(last);
                        kept.insert(key, Value::Array(choices));
                    }
                    None => {}
                }
            }
            (_, value) => {
                kept.insert(key, without_null(value));
            }
        }
    }
    kept
}

/// The same document with the keys of every object in order. Whether `serde_json` keeps the order of insertion is decided
/// by features that other crates of a build switch on; the documents must not depend on that.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The properties of an object schema: required ones in the order of their declaration, then the others by name.
pub(crate) fn properties(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let rank = |name: &str| required.iter().position(|r| *r == name).unwrap_or(required.len());
    let mut all: Vec<(&str, &Value, bool)> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.as_str(), property, required.contains(&name.as_str())))
        .collect();
    all.sort_by_key(|(name, _, _)| (rank(name), *name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn null_is_taken_out_and_the_rest_stays() {
        let optional = json!({ "anyOf": [{ "$ref": "#/x" }, { "type": "null" }], "description": "Which." });
        assert_eq!(without_null(optional), json!({ "$ref": "#/x", "description": "Which." }));
        let described = json!({ "description": "Which.", "oneOf": [{ "const": "a", "description": "The only one." }] });
        assert_eq!(without_null(described), json!({ "const": "a", "description": "Which." }));
        let text = json!({ "type": ["string", "null"], "default": null });
        assert_eq!(without_null(text), json!({ "type": "string" }));
        let choice = json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] });
        assert_eq!(without_null(choice.clone()), choice);
    }

    #[test]
    fn keys_come_in_order() {
        let mixed = json!({ "b": [{ "d": 1, "c": 2 }], "a": 3 });
        assert_eq!(sorted(mixed).to_string(), r#"{"a":3,"b":[{"c":2,"d":1}]}"#);
    }
}
