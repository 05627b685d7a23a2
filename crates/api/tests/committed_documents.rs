//! What is committed is what the code says: the generated documents, and one page for each code and no other.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use api::{Code, Problem};
use std::{collections::BTreeSet, fs, path::PathBuf};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn generated_documents_are_committed_as_the_code_says() {
    let rewrite = std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    for (path, text) in api::generated_documents() {
        let file = repository().join(path);
        if rewrite {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
        }
        if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            stale.push(path);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} differ from the contract; run the test with UPDATE_GENERATED=1 and review the change"
    );
}

#[test]
fn documents_are_the_same_every_time() {
    assert_eq!(api::generated_documents(), api::generated_documents());
}

#[test]
fn every_page_belongs_to_a_code() {
    let pages: BTreeSet<String> = fs::read_dir(repository().join("docs/errors"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    assert_eq!(pages, codes, "docs/errors has a page without a code, or lacks one");
}

#[test]
fn every_page_tells_what_the_code_is_and_shows_a_true_example() {
    for code in Code::ALL {
        let page = code.page();
        let again = if code.is_retryable() { "may succeed later" } else { "will be refused again" };
        let opening = format!("# {code}\n\n**{} {}.** The same request {again}.\n", code.status(), code.title());
        assert!(page.starts_with(&opening), "{code}: the page must open with\n{opening}");
        for heading in ["\n## Why\n", "\n## What to do\n", "\n## Example\n"] {
            assert!(page.contains(heading), "{code}: the page lacks {heading:?}");
        }
        let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
        let shown: Problem = serde_json::from_str(example).unwrap_or_else(|e| panic!("{code}: {e}"));
        let mut expected = Problem::new(*code, shown.detail.clone());
        expected.retry_after_s = shown.retry_after_s;
        expected.errors.clone_from(&shown.errors);
        assert_eq!(shown, expected, "{code}: the example is not what the platform would answer");
    }
}
