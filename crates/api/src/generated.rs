//! The files under `docs/reference/` that are made from the contract. They are committed, so that a change of the contract
//! is seen in review, and a test compares them with what the code says now.

use serde_json::Value;
use std::fmt::Write as _;

use crate::{asyncapi, openapi, problem::Code};

/// Every generated file: its path in the repository and what it must contain.
pub fn generated_documents() -> Vec<(&'static str, String)> {
    vec![
        ("docs/reference/openapi.json", pretty(&openapi::document())),
        ("docs/reference/asyncapi.json", pretty(&asyncapi::document())),
        ("docs/reference/errors.md", errors_markdown()),
    ]
}

fn pretty(document: &Value) -> String {
    format!("{document:#}\n")
}

fn errors_markdown() -> String {
    let mut text = "# Problem codes\n\nEvery refusal is an RFC 9457 problem with one of these codes. `gpuaas explain CODE` prints \
        its page.\n\n| Code | Status | Meaning | May be tried again |\n|---|---|---|---|\n"
        .to_owned();
    for code in Code::ALL {
        let again = if code.is_retryable() { "yes" } else { "no" };
        let _ = writeln!(text, "| [`{code}`](../errors/{code}.md) | {} | {} | {again} |", code.status(), code.title());
    }
    text
}
