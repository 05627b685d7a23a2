//! The page of state diagrams that is committed is the one the published graphs give. `UPDATE_GENERATED=1` rewrites it.
// The crate reads no files and no environment; a test that compares it with a committed page has to.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::{fmt::Write, fs, path::PathBuf};

const PAGE: &str = "docs/reference/state-diagrams.md";

const OPENING: &str = "# State diagrams

<!-- Generated from the published graphs; do not edit. `UPDATE_GENERATED=1 cargo test -p lifecycle` rewrites it. -->

Every move that can be made, one diagram for each noun that has a workflow. A move that is not here does not exist:
`gpuaas verify` holds the events of a store against the same graphs. [States](../concepts/states.md) says what the words
mean.
";

fn page() -> String {
    let mut text = OPENING.to_owned();
    for (noun, diagram) in lifecycle::diagrams() {
        write!(text, "\n## {noun}\n\n```mermaid\n{diagram}```\n").unwrap();
    }
    text
}

#[test]
fn the_diagrams_are_committed_as_the_graphs_say() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
        fs::write(&file, page()).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&file).ok(),
        Some(page()),
        "{PAGE} differs from the graphs; run the test with UPDATE_GENERATED=1 and review the change"
    );
}
