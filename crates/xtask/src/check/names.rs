//! Names that say nothing. A `Manager`, a `Util` or a `Helper` is a place where anything can be put; what a thing is or does
//! is its name. Whole words only: `utilisation` is a fine word.

use super::tokens;
use super::{Violation, Workspace};

const BANNED: &[&str] = &["manager", "managers", "util", "utils", "helper", "helpers"];
const DECLARES: &[&str] =
    &["struct", "enum", "union", "trait", "type", "fn", "mod", "const", "static", "macro_rules", "let", "mut"];

/// Finds declarations, files and crates with such a name.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &workspace.sources {
        let mut violation = |line: usize, name: &str, word: &str| {
            let why = format!(
                "`{name}` says `{word}`; accepted: a name for what it is or does (a noun of the glossary, or a verb)"
            );
            found.push(Violation { file: source.path.clone(), line, rule: "name", why });
        };
        for part in source.path.trim_end_matches(".rs").split('/') {
            if let Some(word) = banned_word(part) {
                violation(1, part, word);
            }
        }
        tokens::each_ident(&source.text, &mut |name, line, before| {
            if before.is_some_and(|before| DECLARES.contains(&before))
                && let Some(word) = banned_word(name)
            {
                violation(line, name, word);
            }
        });
    }
    found
}

fn banned_word(name: &str) -> Option<&'static str> {
    let words = words(name);
    BANNED.iter().copied().find(|banned| words.iter().any(|word| word == banned))
}

/// Splits `snake_case`, `kebab-case` and `CamelCase` into lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        after_lower = letter.is_lowercase() || letter.is_numeric();
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        let mut workspace = planted::clean();
        workspace.source("control", path, text);
        find(&workspace).len()
    }

    #[test]
    fn each_kind_of_declaration_is_looked_at() {
        let path = "crates/control/src/a.rs";
        for text in [
            "struct SlotManager;",
            "enum IoUtil {}",
            "trait ManagerOfSlots {}",
            "fn parse_helper() {}",
            "mod utils;",
            "type Helper = u8;",
            "const HELPER: u8 = 1;",
            "pub(crate) static UTILS: u8 = 1;",
            "macro_rules! util { () => {} }",
            "fn f() { let mut lock_manager = 1; }",
        ] {
            assert_eq!(count(path, text), 1, "{text}");
        }
    }

    #[test]
    fn file_names_count() {
        assert_eq!(count("crates/control/src/http_utils.rs", ""), 1);
        assert_eq!(count("crates/control/src/helpers/mod.rs", ""), 1);
    }

    #[test]
    fn other_words_and_other_peoples_names_pass() {
        let text = "fn utilisation() {}\nstruct Managed;\nuse hyper_util::rt;\nfn g() { hyper_util::rt() }";
        assert_eq!(count("crates/control/src/a.rs", text), 0);
    }
}
