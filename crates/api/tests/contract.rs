//! What the documents promise: closed schemas, exact answers, resolvable references, and types that keep what the schemas say.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use api::{Code, asyncapi, event, openapi, operations};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Calls `visit` for every value of the document with its JSON Pointer.
fn walk(value: &Value, pointer: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(pointer, value);
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                walk(inner, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), visit);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                walk(inner, &format!("{pointer}/{index}"), visit);
            }
        }
        _ => {}
    }
}

/// Collects what is open about a schema: it must say what it is, and objects must say all of their fields.
fn openings(schema: &Value, pointer: &str, found: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        found.push(format!("{pointer}: {schema} accepts anything or nothing"));
        return;
    };
    let all_of = schema["allOf"].as_array().into_iter().flatten();
    let says_what_it_is = ["$ref", "type", "const", "enum", "oneOf", "anyOf"].iter().any(|key| map.contains_key(*key))
        || all_of.into_iter().any(|part| part.get("if").is_none());
    if !says_what_it_is {
        found.push(format!("{pointer}: does not say what it is"));
    }
    if schema["type"] == "object" || map.contains_key("properties") {
        if schema["properties"].as_object().is_none_or(serde_json::Map::is_empty) {
            found.push(format!("{pointer}: an object without properties"));
        }
        if map.get("additionalProperties").is_some_and(|more| *more != json!(false)) {
            found.push(format!("{pointer}: takes more properties than it names"));
        }
    }
    if schema["type"] == "array" && !map.contains_key("items") {
        found.push(format!("{pointer}: a list of anything"));
    }
    if schema["type"] == "null" || schema["type"].is_array() {
        found.push(format!("{pointer}: may be null or of several types"));
    }
    if map.contains_key("patternProperties") || map.contains_key("unevaluatedProperties") {
        found.push(format!("{pointer}: names of properties are open"));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        openings(inner, &format!("{pointer}/properties/{name}"), found);
    }
    if let Some(items) = map.get("items") {
        openings(items, &format!("{pointer}/items"), found);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for (index, inner) in schema[key].as_array().into_iter().flatten().enumerate() {
            // A condition narrows the schema it stands in; it is not a schema of its own.
            if inner.get("if").is_none() {
                openings(inner, &format!("{pointer}/{key}/{index}"), found);
            }
        }
    }
}

/// Every place of a document that holds a whole schema.
fn schemas_of(document: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    walk(document, "", &mut |pointer, value| {
        for key in ["schema", "payload", "query"] {
            if let Some(schema) = value.get(key).filter(|schema| schema.is_object() || schema.is_boolean()) {
                all.push((format!("{pointer}/{key}"), schema.clone()));
            }
        }
    });
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        all.push((format!("/components/schemas/{name}"), schema.clone()));
    }
    all
}

#[test]
fn no_document_has_a_free_form_object() {
    for document in [openapi::document(), asyncapi::document()] {
        let schemas = schemas_of(&document);
        assert!(schemas.len() > 40, "the walk found only {} schemas", schemas.len());
        let mut found = Vec::new();
        for (pointer, schema) in schemas {
            openings(&schema, &pointer, &mut found);
        }
        walk(&document, "", &mut |pointer, value| {
            if value.get("additionalProperties").is_some_and(|more| *more != json!(false)) {
                found.push(format!("{pointer}: additionalProperties"));
            }
        });
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn the_search_for_free_form_objects_finds_them() {
    for open in [
        json!({}),
        json!(true),
        json!({ "type": "object" }),
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object", "properties": { "a": {} } }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": true }),
        json!({ "type": "array" }),
        json!({ "type": ["string", "null"] }),
        json!({ "oneOf": [{ "type": "object" }] }),
        json!({ "allOf": [] }),
        json!({ "allOf": [{}] }),
    ] {
        let mut found = Vec::new();
        openings(&open, "", &mut found);
        assert!(!found.is_empty(), "{open}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    for document in [openapi::document(), asyncapi::document()] {
        walk(&document, "", &mut |pointer, value| {
            if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
                let target = reference.strip_prefix('#').expect("references stay inside the document");
                assert!(document.pointer(target).is_some(), "{pointer}: {reference} leads nowhere");
            }
        });
    }
}

#[test]
fn schema_names_are_meant() {
    for document in [openapi::document(), asyncapi::document()] {
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            let last = name.chars().last().unwrap();
            assert!(!last.is_ascii_digit(), "{name}: two types have one name");
        }
    }
}

#[test]
fn each_operation_answers_exactly_what_it_declares() {
    let document = openapi::document();
    let mut ids = BTreeSet::new();
    for described in operations() {
        let operation = described.operation;
        assert!(ids.insert(operation.id), "{} is declared twice", operation.id);
        let item = &document["paths"][operation.path][operation.method.as_str().to_ascii_lowercase()];
        assert_eq!(item["operationId"], operation.id);
        let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for code in operation.all_problems(described.has_body) {
            expected.entry(code.status().to_string()).or_default().insert(code.to_string());
        }
        let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (status, response) in item["responses"].as_object().unwrap() {
            if *status == operation.success.status().to_string() || *status == "304" {
                continue;
            }
            assert_ne!(status, "default", "{}", operation.id);
            let target = document.pointer(response["$ref"].as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
            let schema = &target["content"]["application/problem+json"]["schema"];
            assert_eq!(schema["properties"]["status"]["const"].to_string(), *status);
            let codes = schema["properties"]["code"]["enum"].as_array().unwrap();
            shown.insert(status.clone(), codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect());
        }
        assert_eq!(shown, expected, "{}", operation.id);
        let success = &item["responses"][operation.success.status().to_string()];
        assert!(success.is_object(), "{}", operation.id);
        // What can be read at a version can be found unchanged, and nothing else can.
        let versioned = !operation.is_mutating() && success["headers"]["ETag"].is_object();
        assert_eq!(item["responses"]["304"].is_object(), versioned, "{}", operation.id);
    }
    let documented: usize =
        document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
    assert_eq!(documented, ids.len(), "two operations share a method and path");
}

#[test]
fn path_templates_and_path_parameters_agree() {
    let document = openapi::document();
    for (path, item) in document["paths"].as_object().unwrap() {
        let named: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}'))).collect();
        for operation in item.as_object().unwrap().values() {
            let parameters = operation["parameters"].as_array().unwrap();
            let given: BTreeSet<&str> =
                parameters.iter().filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect();
            assert_eq!(given, named, "{path}");
            assert!(parameters.iter().filter(|p| p["in"] == "path").all(|p| p["required"] == true), "{path}");
        }
    }
}

#[test]
fn tags_are_used_and_described() {
    let used: BTreeSet<&str> = operations().iter().map(|described| described.operation.tag).collect();
    let described: BTreeSet<&str> = openapi::TAGS.iter().map(|(tag, _)| *tag).collect();
    assert_eq!(used, described);
}

#[test]
fn every_code_can_be_met() {
    let mut met: BTreeSet<Code> =
        operations().iter().flat_map(|described| described.operation.all_problems(described.has_body)).collect();
    // Of no operation: the first two are about paths that are none, the last two end a launch after it was accepted.
    met.extend([Code::RouteNotFound, Code::MethodNotAllowed, Code::SkuUnavailable, Code::ProvisioningFailed]);
    // Said to agents, whose calls are no operations of this document.
    met.extend([Code::EnrollmentRefused, Code::NodeIdentityRefused, Code::NodeMessageRefused, Code::AgentSuperseded]);
    met.insert(Code::RangeRefused);
    // Said where the identity provider sends browsers back to, which is a page.
    met.insert(Code::SignInRefused);
    assert_eq!(met, Code::ALL.iter().copied().collect());
}

#[test]
fn what_a_request_may_carry_is_bounded() {
    let document = openapi::document();
    let mut names: Vec<String> = Vec::new();
    walk(&document["paths"], "", &mut |_, value| {
        for schema in
            [value.pointer("/requestBody/content/application~1json/schema"), value.get("schema")].into_iter().flatten()
        {
            names.extend(schema["$ref"].as_str().map(str::to_owned));
        }
    });
    let mut seen = BTreeSet::new();
    while let Some(name) = names.pop() {
        if !seen.insert(name.clone()) || name.ends_with("View") || name.ends_with("Page") || name.ends_with("List") {
            continue;
        }
        let schema = document.pointer(name.strip_prefix('#').unwrap()).unwrap();
        walk(schema, &name, &mut |pointer, value| {
            names.extend(value.get("$ref").and_then(Value::as_str).map(str::to_owned));
            let has = |key: &str| value.get(key).is_some();
            match value.get("type").and_then(Value::as_str) {
                Some("string") => {
                    assert!(has("maxLength") || has("pattern") || has("const") || has("enum"), "{pointer}")
                }
                Some("integer") => assert!(has("minimum") && has("maximum"), "{pointer}"),
                Some("array") => assert!(has("maxItems"), "{pointer}"),
                Some("object") => assert_eq!(value["additionalProperties"], json!(false), "{pointer}"),
                _ => {}
            }
        });
    }
    assert!(seen.len() > 20, "the walk found only {seen:?}");
}

#[test]
fn null_is_refused_where_the_schema_has_no_null() {
    let project: Result<api::tenancy::ProjectUpdateBody, _> = serde_json::from_value(json!({ "name": null }));
    assert!(project.is_err());
    let sku: Result<api::catalog::SkuUpdateBody, _> = serde_json::from_value(json!({ "enabled": null }));
    assert!(sku.is_err());
    let absent: api::tenancy::ProjectUpdateBody = serde_json::from_value(json!({ "gpu_cap": 8 })).unwrap();
    assert!(absent.name.is_none());
    assert_eq!(serde_json::to_value(&absent).unwrap(), json!({ "gpu_cap": 8 }));
}

#[test]
fn the_event_table_and_the_asyncapi_messages_are_one() {
    let document = asyncapi::document();
    let messages = document["channels"]["events"]["messages"].as_object().unwrap();
    let mut count = 0;
    for noun in model::event::Noun::ALL {
        for change in model::event::Change::ALL {
            let name = event::event_type(*noun, *change);
            assert_eq!(messages.contains_key(&name), event::can_occur(*noun, *change), "{name}");
            count += usize::from(event::can_occur(*noun, *change));
            if *change == model::event::Change::StateChanged {
                assert_eq!(event::can_occur(*noun, *change), !event::states(*noun).is_empty(), "{name}");
            }
        }
    }
    assert_eq!(messages.len(), count);
    assert_eq!(document["operations"]["event_stream"]["messages"].as_array().unwrap().len(), count);
}
