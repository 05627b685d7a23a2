//! Paths in a file, found in its tokens rather than in its syntax tree, so that what stands inside a macro's arguments or
//! a `macro_rules!` body is seen too. Imports are followed: `use std::time as t; t::Instant` is `std::time::Instant`.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// A path as it is written out, imports resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// `["std", "time", "Instant"]`; a glob import ends in `"*"`.
    pub segments: Vec<String>,
    /// Where it stands, counted from 1.
    pub line: usize,
}

/// Every path of a file, and every macro that it calls (as a path that ends in `!`).
pub fn paths(text: &str) -> Vec<Path> {
    let Ok(stream) = text.parse::<TokenStream>() else { return Vec::new() };
    let mut scan = Scan::default();
    scan.stream(stream);
    let imports: BTreeMap<String, Vec<String>> =
        scan.imports.iter().map(|import| (import.name.clone(), import.path.segments.clone())).collect();
    let mut all: Vec<Path> = scan.imports.into_iter().map(|import| import.path).collect();
    all.extend(scan.paths);
    for path in &mut all {
        resolve(&mut path.segments, &imports);
    }
    all
}

/// Every identifier of a file that equals a word, with its line.
pub fn lines_of_word(text: &str, word: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    each_ident(text, &mut |ident, line, _| {
        if ident == word {
            lines.push(line);
        }
    });
    lines
}

/// Calls a function with every identifier, its line, and the identifier directly before it.
pub fn each_ident(text: &str, call: &mut impl FnMut(&str, usize, Option<&str>)) {
    fn walk(stream: TokenStream, call: &mut impl FnMut(&str, usize, Option<&str>)) {
        let mut before: Option<String> = None;
        for tree in stream {
            match tree {
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    call(&name, ident.span().start().line, before.as_deref());
                    before = Some(name);
                }
                TokenTree::Group(group) => {
                    walk(group.stream(), call);
                    before = None;
                }
                // `macro_rules! name` puts a mark between the keyword and the name.
                TokenTree::Punct(punct) if punct.as_char() == '!' && before.as_deref() == Some("macro_rules") => {}
                _ => before = None,
            }
        }
    }
    if let Ok(stream) = text.parse() {
        walk(stream, call);
    }
}

#[derive(Default)]
struct Scan {
    imports: Vec<Import>,
    paths: Vec<Path>,
}

struct Import {
    name: String,
    path: Path,
}

impl Scan {
    fn stream(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => {
                    self.stream(group.stream());
                    at += 1;
                }
                TokenTree::Ident(ident) if ident == "use" => {
                    let end = trees[at..].iter().position(|tree| is_punct(tree, ';')).map_or(trees.len(), |n| at + n);
                    self.use_list(&trees[at + 1..end], &[]);
                    at = end;
                }
                TokenTree::Ident(_) => at = self.path(&trees, at),
                _ => at += 1,
            }
        }
    }

    /// Reads one path that starts at an identifier; returns where to go on.
    fn path(&mut self, trees: &[TokenTree], start: usize) -> usize {
        let mut segments = vec![trees[start].to_string()];
        let mut at = start + 1;
        while is_double_colon(trees, at) && matches!(trees.get(at + 2), Some(TokenTree::Ident(_))) {
            segments.push(trees[at + 2].to_string());
            at += 3;
        }
        if trees.get(at).is_some_and(|tree| is_punct(tree, '!'))
            && matches!(trees.get(at + 1), Some(TokenTree::Group(_)))
            && let Some(last) = segments.last_mut()
        {
            last.push('!');
        }
        self.paths.push(Path { segments, line: trees[start].span().start().line });
        at
    }

    /// Reads the comma-separated trees of a `use`, under a prefix.
    fn use_list(&mut self, trees: &[TokenTree], prefix: &[String]) {
        for tree in trees.split(|tree| is_punct(tree, ',')) {
            self.use_tree(tree, prefix);
        }
    }

    fn use_tree(&mut self, trees: &[TokenTree], prefix: &[String]) {
        let mut segments = prefix.to_vec();
        let mut at = if is_double_colon(trees, 0) { 2 } else { 0 };
        let Some(first) = trees.get(at) else { return };
        let line = first.span().start().line;
        loop {
            match trees.get(at) {
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    return self.use_list(&inner, &segments);
                }
                Some(TokenTree::Ident(ident)) if *ident != "self" || segments.is_empty() => {
                    segments.push(ident.to_string());
                }
                Some(TokenTree::Ident(_)) => {}
                Some(tree) if is_punct(tree, '*') => segments.push("*".into()),
                _ => return,
            }
            at += 1;
            if !is_double_colon(trees, at) {
                break;
            }
            at += 2;
        }
        let renamed = matches!(trees.get(at), Some(TokenTree::Ident(word)) if word == "as");
        let name = if renamed { trees.get(at + 1).map(ToString::to_string) } else { segments.last().cloned() };
        self.imports.push(Import { name: name.unwrap_or_default(), path: Path { segments, line } });
    }
}

/// Replaces the first segment by what it was imported as. Imports can lean on imports, a few deep.
fn resolve(segments: &mut Vec<String>, imports: &BTreeMap<String, Vec<String>>) {
    for _ in 0..4 {
        let Some(full) = imports.get(segments[0].trim_end_matches('!')) else { break };
        if full[0] == segments[0] {
            break;
        }
        segments.splice(0..1, full.iter().cloned());
    }
    if segments[0] == "core" || segments[0] == "alloc" {
        segments[0] = "std".into();
    }
}

fn is_punct(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_double_colon(trees: &[TokenTree], at: usize) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
        && trees.get(at + 1).is_some_and(|tree| is_punct(tree, ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, usize)> {
        paths(text).into_iter().map(|path| (path.segments.join("::"), path.line)).collect()
    }

    fn finds(text: &str, path: &str, line: usize) {
        assert!(found(text).contains(&(path.to_owned(), line)), "{path}:{line} is not in {:?}", found(text));
    }

    #[test]
    fn plain_nested_renamed_and_glob_imports_are_written_out() {
        finds("use std::time::Instant;", "std::time::Instant", 1);
        finds("use std::{fmt,\n time::{self, Instant}};", "std::time::Instant", 2);
        finds("use std::{fmt, time::{self, Instant}};", "std::time", 1);
        finds("use ::std::fs as disk;\nfn f() { disk::read(\"x\") }", "std::fs::read", 2);
        finds("use std::time::*;", "std::time::*", 1);
        finds("use core::time;\nfn f() { time::Duration::ZERO }", "std::time::Duration::ZERO", 2);
        finds("use std::time as a; use a as b;\nfn f() { b::Instant::now() }", "std::time::Instant::now", 2);
    }

    #[test]
    fn paths_inside_macros_generics_and_bodies_are_seen() {
        finds("fn f() { vec![1, std::env::var(\"A\")] }", "std::env::var", 1);
        finds("macro_rules! m { () => { std::fs::read(\"x\") } }", "std::fs::read", 1);
        finds("fn f() -> Vec<std::time::Instant> { g::<std::net::TcpStream>() }", "std::net::TcpStream", 1);
        finds("fn f() { use std::thread; thread::spawn(g); }", "std::thread::spawn", 1);
        finds("fn f() { option_env!(\"A\") }", "option_env!", 1);
    }

    #[test]
    fn comments_strings_and_casts_are_not_paths() {
        let text = "//! std::fs\nfn f() { let a = \"std::fs\"; /* std::fs */ 1 as u64 }";
        assert!(found(text).iter().all(|(path, _)| !path.starts_with("std")), "{:?}", found(text));
    }

    #[test]
    fn a_file_that_does_not_parse_has_no_paths_and_is_left_to_the_compiler() {
        assert_eq!(found("fn ( {"), Vec::new());
    }

    #[test]
    fn identifiers_come_with_what_stands_before_them() {
        let mut seen = Vec::new();
        each_ident("struct Box1; macro_rules! named { }", &mut |ident, _, before| {
            seen.push((ident.to_owned(), before.map(ToOwned::to_owned)));
        });
        assert!(seen.contains(&("Box1".into(), Some("struct".into()))));
        assert!(seen.contains(&("named".into(), Some("macro_rules".into()))));
        assert_eq!(lines_of_word("fn a() {}\nfn b() { unsafe {} }", "unsafe"), [2]);
    }
}
