//! State graphs as Mermaid text, for the generated documentation.

use std::fmt::{Display, Write};

/// A Mermaid state diagram: where things begin, every edge, and where they end (states without a way out).
pub(crate) fn mermaid<S: Copy + PartialEq + Display>(initial: S, edges: &[(S, S)]) -> String {
    let mut text = format!("stateDiagram-v2\n    [*] --> {initial}\n");
    for (from, to) in edges {
        let _ = writeln!(text, "    {from} --> {to}");
    }
    let mut ends: Vec<S> = vec![];
    for (_, to) in edges {
        if !ends.contains(to) && !edges.iter().any(|(from, _)| from == to) {
            ends.push(*to);
            let _ = writeln!(text, "    {to} --> [*]");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::mermaid;

    #[test]
    fn a_graph_is_drawn_with_its_beginning_and_its_end() {
        assert_eq!(
            mermaid("a", &[("a", "b"), ("b", "a"), ("b", "c"), ("a", "c")]),
            "stateDiagram-v2\n    [*] --> a\n    a --> b\n    b --> a\n    b --> c\n    a --> c\n    c --> [*]\n"
        );
    }
}
