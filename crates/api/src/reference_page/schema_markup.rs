//! JSON schemas as text and tables for people: what kind of value, what it means, where it is described.

use maud::{Markup, html};
use serde_json::Value;

use super::markdown;
use crate::schemas::{DEFINITIONS, properties};

/// One line about what a value may be, with links to the schemas it is made of.
pub(super) fn type_of(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(DEFINITIONS)) {
        return html! { a href={ "#schema-" (name) } { (name) } };
    }
    if let Some(word) = schema["const"].as_str() {
        return html! { "always " code { (word) } };
    }
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        return html! { @for (index, choice) in choices.iter().enumerate() { @if index > 0 { " or " } (type_of(choice)) } };
    }
    match schema["type"].as_str() {
        Some("array") => html! { "list of " (type_of(&schema["items"])) (limits(schema, "minItems", "maxItems")) },
        Some("integer") => html! { "whole number" (limits(schema, "minimum", "maximum")) },
        Some("boolean") => html! { code { "true" } " or " code { "false" } },
        Some("string") if schema["format"] == "date-time" => html! { "RFC 3339 time" },
        Some("string") => html! {
            "text" @if schema["maxLength"].is_number() { (limits(schema, "minLength", "maxLength")) " characters" }
            @if let Some(example) = schema["examples"][0].as_str() { ", such as " code { (example) } }
        },
        Some("object") => html! {
            "object with " @for (index, (name, property, _)) in properties(schema).into_iter().enumerate() {
                @if index > 0 { ", " } code { (name) } " (" (type_of(property)) ")"
            }
        },
        _ => html! {},
    }
}

fn limits(schema: &Value, low: &str, high: &str) -> Markup {
    let number = |key: &str| schema[key].as_i64();
    html! {
        @match (number(low), number(high)) {
            (Some(low), Some(high)) => { ", " (low) " to " (high) }
            (Some(low), None) => { ", from " (low) }
            (None, Some(high)) => { ", up to " (high) }
            (None, None) => {}
        }
    }
}

/// The fields of an object schema, or of the schema that it refers to.
pub(super) fn field_table(document: &Value, schema: &Value) -> Markup {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    let target = pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema);
    html! {
        p { code { "application/json" } " " (type_of(schema)) @if let Some(text) = target["description"].as_str() { ": " (markdown::render_inline(text)) } }
        (table_of_fields(target))
    }
}

fn table_of_fields(schema: &Value) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Field" } th scope="col" { "Meaning" } } }
            tbody {
                @for (name, property, required) in properties(schema) {
                    tr {
                        th scope="row" { code { (name) } @if required { span class="note" { "required" } } }
                        td {
                            (markdown::render_inline(property["description"].as_str().unwrap_or_default()))
                            div class="type" { (type_of(property)) }
                        }
                    }
                }
            }
        }
    }
}

/// One schema of the document with its anchor.
pub(super) fn schema_section(name: &str, schema: &Value) -> Markup {
    html! {
        article class="schema" aria-labelledby={ "schema-" (name) } {
            h3 id={ "schema-" (name) } { (name) }
            (markdown::render(schema["description"].as_str().unwrap_or_default()))
            @if schema["properties"].is_object() {
                (table_of_fields(schema))
            } @else if schema["oneOf"].as_array().is_some_and(|all| all.iter().all(|one| one["const"].is_string())) {
                (table_of_words(schema))
            } @else {
                p { (type_of(schema)) }
                @if let Some(pattern) = schema["pattern"].as_str() {
                    p class="pattern" { "Pattern: " code { (pattern) } }
                }
            }
        }
    }
}

fn table_of_words(schema: &Value) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Word" } th scope="col" { "Meaning" } } }
            tbody {
                @for word in schema["oneOf"].as_array().into_iter().flatten() {
                    tr {
                        th scope="row" { code { (word["const"].as_str().unwrap_or_default()) } }
                        td { (markdown::render_inline(word["description"].as_str().unwrap_or_default())) }
                    }
                }
            }
        }
    }
}
