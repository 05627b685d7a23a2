//! The `gpuaas` command: every noun of the platform from a terminal, the control plane itself, and a simulated fleet to try
//! it on.
//!
//! The tree of commands is in [`args`], what each does in [`commands`]. A command talks to a server through a
//! [`session`], writes through [`output`] and ends with an [`exit::Exit`]. It never decides anything about the platform:
//! what the API refuses, it reports.

mod args;
mod commands;
mod config;
mod confirm;
mod exit;
mod failure;
mod follow;
mod image_signing;
mod interrupt;
mod ordered;
mod output;
mod progress;
pub mod reference;
mod request_text;
mod resolve;
mod safe;
mod session;
mod table;
mod terminal;
mod waiting;

use clap::{CommandFactory, FromArgMatches, ValueEnum};
use std::{ffi::OsString, process::ExitCode};

use crate::{args::Cli, exit::Exit, failure::Failure};

/// Runs the command line and says how it ended.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Help and usage errors are written while parsing, before the parsed flag could be looked at.
    early_color(&arguments).apply();
    let parsed = Cli::command().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage.number() } else { Exit::Ok.number() });
        }
    };
    cli.global.color.apply();
    match run(cli) {
        Ok(()) => ExitCode::from(Exit::Ok.number()),
        Err(failure) => {
            if let Some(text) = failure.told() {
                output::note(&text);
            }
            ExitCode::from(failure.number())
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Local(format!("cannot start: {error}")))?;
    interrupt::watch(&runtime);
    let result = runtime.block_on(commands::run(cli));
    // Whatever still reads from a terminal or waits for a server must not keep the command from ending.
    runtime.shutdown_background();
    result
}

fn early_color(arguments: &[OsString]) -> output::Color {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let inline = words.iter().find_map(|word| word.strip_prefix("--color="));
    let separate = words.iter().position(|word| *word == "--color").and_then(|at| words.get(at + 1).copied());
    inline.or(separate).and_then(|word| output::Color::from_str(word, false).ok()).unwrap_or(output::Color::Auto)
}
