//! Links between documents. A document that points to a page which was renamed or never written sends its reader nowhere,
//! and nobody notices by running the code. Links to the web are left alone: a test must not need a network.

use super::{Violation, Workspace};

/// Finds relative links in Markdown files that lead to no file or directory.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for (file, text) in &workspace.documents {
        for (line, target) in targets(text) {
            let path = target.split('#').next().unwrap_or_default();
            let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if elsewhere || resolved(file, path).is_some_and(|path| is_there(workspace, &path)) {
                continue;
            }
            let why = format!("`{target}` leads nowhere; accepted: the path of a file here, seen from {file}");
            found.push(Violation { file: file.clone(), line, rule: "link", why });
        }
    }
    found
}

/// The targets of `[text](target)` with their lines, code blocks left out.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let ends = line.match_indices("](").map(|(at, mark)| at + mark.len());
        let targets = ends.filter(|_| !in_code).filter_map(|at| line[at..].split(')').next());
        found.extend(targets.map(|target| (index + 1, target)));
    }
    found
}

/// A link's path from the root, or none if it leads out of it.
fn resolved(file: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn is_there(workspace: &Workspace, path: &str) -> bool {
    let source = |source: &super::workspace::Source| source.path == path;
    path.is_empty() || workspace.paths.contains(path) || workspace.sources.iter().any(source)
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn count(file: &str, text: &str) -> usize {
        let mut workspace = planted::clean();
        workspace.paths.extend(["LICENSE", "docs", "docs/README.md", "docs/guides/a.md"].map(ToOwned::to_owned));
        workspace.documents.insert(file.into(), text.into());
        find(&workspace).len()
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        assert_eq!(count("README.md", "See [it](docs/gone.md) and ![it](docs/gone.svg)."), 2);
        assert_eq!(count("docs/guides/a.md", "[up](../../../etc/passwd)"), 1);
        assert_eq!(count("docs/guides/a.md", "[here](README.md)"), 1);
    }

    #[test]
    fn links_to_files_directories_sections_code_and_the_web_pass() {
        assert_eq!(count("README.md", "[a](docs/guides/a.md#top) [b](LICENSE) [c](docs/) [d](#here)"), 0);
        assert_eq!(count("docs/guides/a.md", "[up](../README.md) [root](../..) [web](https://example.net/x)"), 0);
        assert_eq!(count("README.md", "[code](crates/engine/src/lib.rs)"), 0);
        assert_eq!(count("README.md", "```\n[not](a/link)\n```\n"), 0);
    }
}
