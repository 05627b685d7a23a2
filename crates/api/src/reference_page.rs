//! The API as a page for people: rendered on the server from the OpenAPI and AsyncAPI documents.
//!
//! It has no script and asks nobody else for anything, so it works under
//! `Content-Security-Policy: default-src 'none'; style-src 'self'`. The style sheet is served at [`CSS_PATH`]. All text is
//! escaped by the templates; nothing is joined to markup by hand.

mod markdown;
mod schema_markup;

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use crate::{
    asyncapi,
    endpoint::{Described, IfMatch},
    event::{OCCURRING, event_type},
    openapi::{self, TAGS},
    problem::Code,
};
use schema_markup::{field_table, schema_section};

/// Where the page is served.
pub const PAGE_PATH: &str = "/docs/api";
/// Where the pages of the codes are served: the list here, each page under its code.
pub const ERRORS_PATH: &str = "/docs/errors";
/// Where the style sheet is served.
pub const CSS_PATH: &str = "/docs/reference.css";

/// The style sheet of all pages of this module.
pub const fn css() -> &'static str {
    include_str!("reference_page/style.css")
}

/// The page of the whole API.
pub fn html() -> String {
    let document = openapi::document();
    let operations = crate::operations();
    let body = html! {
        h1 { "API reference" }
        p class="lead" { (document["info"]["summary"].as_str().unwrap_or_default()) }
        p {
            "Version " (openapi::API_VERSION) ". The same contract for programs: "
            a href="/openapi.json" { "OpenAPI 3.1" } " and " a href="/asyncapi.json" { "AsyncAPI 3" } "."
        }
        section aria-labelledby="conventions" {
            h2 id="conventions" { "Conventions" }
            (markdown::render(&openapi::introduction()))
        }
        @for (tag, sentence) in TAGS {
            section aria-labelledby=(tag_anchor(tag)) {
                h2 id=(tag_anchor(tag)) { (capitalised(tag)) }
                p { (sentence) }
                @for described in operations.iter().filter(|d| d.operation.tag == *tag) {
                    (operation_article(&document, described))
                }
            }
        }
        (event_section())
        section aria-labelledby="problems" {
            h2 id="problems" { "Problem codes" }
            p { "Every refusal is " code { "application/problem+json" } " with one of these codes." }
            (code_table())
        }
        section aria-labelledby="schemas" {
            h2 id="schemas" { "Schemas" }
            @for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
                (schema_section(name, schema))
            }
        }
    };
    page("API reference", &contents(&operations), &body)
}

/// The page of one code; `None` when there is no such code.
pub fn error_page_html(code: &str) -> Option<String> {
    let code: Code = code.parse().ok()?;
    let body = html! { article { (markdown::render(code.page())) } };
    Some(page(code.as_str(), &error_contents(Some(code)), &body))
}

/// The page that lists all codes.
pub fn error_index_html() -> String {
    let body = html! {
        h1 { "Problem codes" }
        p { "Every refusal carries one of these codes. Each has a page that says what happened, why, and what to do." }
        (code_table())
    };
    page("Problem codes", &error_contents(None), &body)
}

fn page(title: &str, contents: &Markup, body: &Markup) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · gpuaas" }
                link rel="stylesheet" href=(CSS_PATH);
            }
            body {
                a class="skip" href="#main" { "Skip to the content" }
                header class="bar" {
                    a class="brand" href=(PAGE_PATH) { "gpuaas" }
                    nav aria-label="Pages" {
                        a href=(PAGE_PATH) { "API" }
                        a href=(ERRORS_PATH) { "Problem codes" }
                        a href="/openapi.json" { "OpenAPI" }
                        a href="/asyncapi.json" { "AsyncAPI" }
                    }
                }
                div class="columns" {
                    (contents)
                    main id="main" tabindex="-1" { (body) }
                }
            }
        }
    };
    markup.into_string()
}

/// A list of links beside the page; on a narrow screen it is folded behind a switch, which needs no script.
fn folding_list(title: &str, list: &Markup) -> Markup {
    html! {
        nav class="contents" aria-label=(title) {
            input type="checkbox" id="contents-shown";
            label for="contents-shown" { (title) }
            (list)
        }
    }
}

fn contents(operations: &[Described]) -> Markup {
    let list = html! {
        ul {
            li { a href="#conventions" { "Conventions" } }
            @for (tag, _) in TAGS {
                li {
                    a href={ "#" (tag_anchor(tag)) } { (capitalised(tag)) }
                    ul {
                        @for described in operations.iter().filter(|d| d.operation.tag == *tag) {
                            li { a href={ "#" (described.operation.id) } { code { (described.operation.id) } } }
                        }
                    }
                }
            }
            li { a href="#stream" { "Event types" } }
            li { a href="#problems" { "Problem codes" } }
            li { a href="#schemas" { "Schemas" } }
        }
    };
    folding_list("Contents", &list)
}

fn error_contents(current: Option<Code>) -> Markup {
    let list = html! {
        ul {
            @for code in Code::ALL {
                li { a href={ (ERRORS_PATH) "/" (code) } aria-current=[(current == Some(*code)).then_some("page")] { code { (code) } } }
            }
        }
    };
    folding_list("Problem codes", &list)
}

fn operation_article(document: &Value, described: &Described) -> Markup {
    let operation = &described.operation;
    let method = operation.method.as_str();
    let item = &document["paths"][operation.path][method.to_ascii_lowercase()];
    html! {
        article class="operation" aria-labelledby=(operation.id) {
            h3 id=(operation.id) {
                (operation.summary.trim())
                " " a class="anchor" href={ "#" (operation.id) } aria-label={ "Link to " (operation.id) } { "#" }
            }
            p class="route" {
                span class={ "method " (method.to_ascii_lowercase()) } { (method) }
                " " code { (breakable(operation.path)) }
            }
            p class="facts" {
                code { (operation.id) } " · needs " code { (operation.right) }
                @if operation.needs_idempotency_key() { " · needs " code { "Idempotency-Key" } }
                @match operation.if_match {
                    IfMatch::Ignored => {}
                    IfMatch::Optional => { " · takes " code { "If-Match" } }
                    IfMatch::Required => { " · needs " code { "If-Match" } }
                }
                @if operation.is_mutating() { " · audited" }
            }
            (parameter_table(document, item))
            @if described.has_body {
                h4 { "Body" }
                (field_table(document, &item["requestBody"]["content"]["application/json"]["schema"]))
            }
            (answer_markup(operation.success.status(), item))
            (refusals(described))
        }
    }
}

/// A path with places where a narrow page may break it: before each slash.
fn breakable(path: &str) -> Markup {
    html! { @for part in path.split('/').skip(1) { wbr; "/" (part) } }
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

fn parameter_table(document: &Value, item: &Value) -> Markup {
    let parameters: Vec<&Value> =
        item["parameters"].as_array().into_iter().flatten().map(|p| resolved(document, p)).collect();
    html! {
        @if !parameters.is_empty() {
            h4 { "Parameters" }
            table {
                thead { tr { th scope="col" { "Name" } th scope="col" { "Meaning" } } }
                tbody {
                    @for parameter in parameters {
                        tr {
                            th scope="row" {
                                code { (parameter["name"].as_str().unwrap_or_default()) }
                                span class="note" {
                                    (parameter["in"].as_str().unwrap_or_default())
                                    @if parameter["required"] == true { ", required" }
                                }
                            }
                            td {
                                (markdown::render_inline(parameter["description"].as_str().unwrap_or_default()))
                                div class="type" { (schema_markup::type_of(&parameter["schema"])) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn answer_markup(status: u16, item: &Value) -> Markup {
    let response = &item["responses"][status.to_string()];
    let headers: Vec<&str> =
        response["headers"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    html! {
        h4 { "Answer" }
        p {
            strong { (status) } " "
            @for (kind, content) in response["content"].as_object().into_iter().flatten() {
                code { (kind) } " " (schema_markup::type_of(&content["schema"])) ". "
            }
            (markdown::render_inline(response["description"].as_str().unwrap_or_default()))
        }
        p class="facts" {
            "Headers: "
            @for (index, name) in headers.iter().enumerate() { @if index > 0 { ", " } code { (name) } }
        }
    }
}

fn refusals(described: &Described) -> Markup {
    let codes = described.operation.all_problems(described.has_body);
    html! {
        details class="refusals" {
            summary { "Refusals (" (codes.len()) ")" }
            ul {
                @for code in codes {
                    li { a href={ (ERRORS_PATH) "/" (code) } { (code.status()) " " code { (code) } } }
                }
            }
        }
    }
}

fn event_section() -> Markup {
    html! {
        section aria-labelledby="stream" {
            h2 id="stream" { "Event types" }
            (markdown::render(asyncapi::GUARANTEES))
            table {
                thead { tr { th scope="col" { "Thing" } th scope="col" { "Types" } } }
                tbody {
                    @for (noun, changes) in OCCURRING {
                        tr {
                            th scope="row" { code { (noun) } }
                            td { ul class="plain" { @for change in *changes { li { code { (event_type(*noun, *change)) } } } } }
                        }
                    }
                }
            }
        }
    }
}

fn code_table() -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Code" } th scope="col" { "Meaning" } } }
            tbody {
                @for code in Code::ALL {
                    tr {
                        th scope="row" {
                            a href={ (ERRORS_PATH) "/" (code) } { code { (code) } }
                            span class="note" { (code.status()) @if code.is_retryable() { ", may be tried again" } }
                        }
                        td { (code.title()) "." }
                    }
                }
            }
        }
    }
}

fn tag_anchor(tag: &str) -> String {
    format!("tag-{}", tag.replace(' ', "-"))
}

fn capitalised(word: &str) -> String {
    if word == "skus" {
        return "SKUs".to_owned();
    }
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
