//! The only module that writes to the terminal. Data goes to standard output, everything else (notes, progress, questions,
//! refusals) to standard error, so that a pipe only ever carries data. Colour follows the terminal, `NO_COLOR`,
//! `CLICOLOR_FORCE`, `TERM` and `--color`. A reader that went away ends the command quietly.

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};

use crate::{failure::Failure, ordered::Ordered, safe, table::Columns};

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    // For people.
    Table,
    // The object of the API.
    Json,
    // The same object as YAML.
    Yaml,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    // On a terminal that can show it.
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

impl Color {
    /// Makes this the choice of everything that writes in this process.
    pub fn apply(self) {
        match self {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
    }
}

/// Whether standard output shows colour.
pub fn stdout_is_coloured() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Whether a person is at the other end of both questions and answers.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether progress may be drawn, or must be written line by line.
pub fn can_draw() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Writes data exactly as given.
pub fn data_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(write_failure)
}

/// Writes one line, or several, of data. Colours in it are dropped where they are not wanted.
pub fn data(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{end}").and_then(|()| out.flush()).map_err(write_failure)
}

/// Writes a note for the person at the terminal. That it cannot be written is no reason to fail.
pub fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{text}");
}

/// Writes text that ends without a line break: a question.
pub fn ask(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "{text}");
    let _ = err.flush();
}

fn write_failure(error: std::io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        Failure::ReaderGone
    } else {
        Failure::Local(format!("cannot write to standard output: {error}"))
    }
}

/// Writes one object of the API.
pub fn object<T: Serialize>(format: Format, value: &T) -> Result<(), Failure> {
    match format {
        Format::Table => data(&crate::table::card(&ordered(value)?, stdout_is_coloured())),
        Format::Json => data(&json_text(value)?),
        Format::Yaml => data(&yaml_text(value)?),
    }
}

/// Writes a list: as a table of the given columns, or as the object `whole` that the API would answer with.
pub fn list<T: Serialize, W: Serialize>(
    format: Format,
    columns: &Columns,
    items: &[T],
    whole: &W,
) -> Result<(), Failure> {
    match format {
        Format::Table if items.is_empty() => {
            note(&format!("no {}", columns.plural));
            Ok(())
        }
        Format::Table => {
            let values = items.iter().map(ordered).collect::<Result<Vec<_>, _>>()?;
            data(&crate::table::rows(columns, &values, stdout_is_coloured()))
        }
        Format::Json => data(&json_text(whole)?),
        Format::Yaml => data(&yaml_text(whole)?),
    }
}

/// One object on one line of JSON, for streams.
pub fn json_line<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map(|text| safe::json(&text)).map_err(cannot_show)
}

/// An object with its fields in the order of the contract.
pub fn ordered<T: Serialize>(value: &T) -> Result<Ordered, Failure> {
    Ordered::of(value).map_err(cannot_show)
}

/// An object as indented JSON.
pub fn json_text<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| safe::json(&text)).map_err(cannot_show)
}

/// An object as a YAML document.
pub fn yaml_text<T: Serialize>(value: &T) -> Result<String, Failure> {
    let text =
        serde_saphyr::to_string(value).map_err(|error| Failure::Local(format!("cannot show the answer: {error}")))?;
    // JSON is YAML too, and can spell every character in a harmless way.
    if safe::lines(&text) == text { Ok(text) } else { json_text(value) }
}

fn cannot_show(error: serde_json::Error) -> Failure {
    Failure::Local(format!("cannot show the answer: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_is_harmless_and_means_the_same() {
        for name in ["plain", "yes", "1e3", "a: b # c", "\u{1b}[31m", "\u{9b}2J\u{202e}", "two\nlines", "-", "~", " x "]
        {
            let value =
                serde_json::json!({ "items": [{ "name": name, "count": 3, "none": null, "empty": [], "on": true }] });
            let text = yaml_text(&value).unwrap();
            assert_eq!(safe::lines(&text), text, "{text:?}");
            let back: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(back, value, "{text}");
        }
    }
}
