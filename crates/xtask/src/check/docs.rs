//! Every file opens with `//!`: what it is for and what it refuses, before the first line of code. A reader who opens a
//! file from a search result should not have to find its parent to learn that.

use super::{Violation, Workspace};

/// Finds files that do not open with a module comment.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let silent = |text: &str| {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        first.strip_prefix("//!").is_none_or(|words| words.trim().is_empty())
    };
    let violation = |source: &super::workspace::Source| {
        let why = "the file does not open with `//!`; accepted: a first line of `//!` that says what the file is for and what \
                   it refuses"
            .to_owned();
        Violation { file: source.path.clone(), line: 1, rule: "module-doc", why }
    };
    workspace.sources.iter().filter(|source| silent(&source.text)).map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn count(text: &str) -> usize {
        let mut workspace = planted::clean();
        workspace.source("control", "crates/control/src/planted.rs", text);
        find(&workspace).len()
    }

    #[test]
    fn a_file_without_an_opening_comment_is_found() {
        for text in ["", "fn a() {}\n", "// A.\n", "/// A.\nfn a() {}\n", "//!\nfn a() {}\n", "use a::b;\n//! Late.\n"]
        {
            assert_eq!(count(text), 1, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_says_what_it_is_for_passes() {
        assert_eq!(count("//! Decides who goes first.\n\n#![allow(clippy::unwrap_used)]\nfn a() {}\n"), 0);
    }
}
