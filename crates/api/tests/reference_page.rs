//! The rendered pages: whole, linked, and free of anything that a strict content security policy would have to allow.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use api::{Code, operations, reference_page};
use std::collections::BTreeSet;

/// The values of an attribute, in order.
fn attribute<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!(" {name}=\"");
    html.split(start.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

fn pages() -> Vec<(String, String)> {
    let mut all = vec![
        (reference_page::PAGE_PATH.to_owned(), reference_page::html()),
        (reference_page::ERRORS_PATH.to_owned(), reference_page::error_index_html()),
    ];
    for code in Code::ALL {
        let page = reference_page::error_page_html(code.as_str()).unwrap_or_else(|| panic!("{code} has no page"));
        all.push((format!("{}/{code}", reference_page::ERRORS_PATH), page));
    }
    all
}

#[test]
fn every_operation_has_its_place_on_the_page() {
    let html = reference_page::html();
    let ids: BTreeSet<&str> = attribute(&html, "id").into_iter().collect();
    for described in operations() {
        assert!(ids.contains(described.operation.id), "{}", described.operation.id);
    }
}

#[test]
fn links_lead_somewhere_and_ids_are_unique() {
    let pages = pages();
    let mut served: BTreeSet<&str> = pages.iter().map(|(path, _)| path.as_str()).collect();
    served.extend([reference_page::CSS_PATH, "/openapi.json", "/asyncapi.json"]);
    for (path, html) in &pages {
        let ids = attribute(html, "id");
        let unique: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), unique.len(), "{path}: an id is used twice");
        for link in attribute(html, "href") {
            match link.strip_prefix('#') {
                Some(id) => assert!(unique.contains(id), "{path}: {link} leads nowhere"),
                None => assert!(served.contains(link), "{path}: {link} leads nowhere"),
            }
        }
        for label in attribute(html, "aria-labelledby") {
            assert!(unique.contains(label), "{path}: {label} labels nothing");
        }
    }
}

#[test]
fn pages_need_nothing_but_themselves_and_the_style_sheet() {
    for (path, html) in pages() {
        for forbidden in [
            "<script",
            " style=",
            "<style",
            "<iframe",
            "<img",
            " src=",
            " onclick=",
            " onload=",
            "javascript:",
            "@import",
        ] {
            assert!(!html.contains(forbidden), "{path} has {forbidden}");
        }
        assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{path}");
        assert_eq!(html.matches("<h1").count(), 1, "{path} has one main heading");
        assert_eq!(html.matches("<main ").count(), 1, "{path}");
    }
    assert!(!reference_page::css().contains("url(") && !reference_page::css().contains("@import"));
    assert!(reference_page::css().contains("prefers-color-scheme: dark"));
}

#[test]
fn headings_do_not_skip_a_level() {
    for (path, html) in pages() {
        let mut last = 0;
        for rest in html.split("<h").skip(1) {
            let Some(level) = rest.chars().next().and_then(|c| c.to_digit(10)) else { continue };
            assert!(level <= last + 1, "{path}: a heading jumps from {last} to {level}");
            last = level;
        }
    }
}

#[test]
fn a_code_that_is_none_has_no_page() {
    for word in ["", "nope", "../not_found", "not_found/", "<b>"] {
        assert_eq!(reference_page::error_page_html(word), None, "{word}");
    }
}
