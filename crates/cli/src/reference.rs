//! The reference page of the command line, `docs/reference/cli.md`, made from the same definitions that the command parses.
//! A test compares the committed page with this one; with `UPDATE_GENERATED=1` it rewrites the page instead.

use api::Code;
use clap::{Arg, Command, CommandFactory};
use std::fmt::Write;

use crate::{args::Cli, exit::Exit};

/// The page as Markdown.
pub fn markdown() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = String::from(
        "# The `gpuaas` command\n\n<!-- Generated from the command's own definitions; do not edit. `UPDATE_GENERATED=1 cargo test -p cli` rewrites it. -->\n\n",
    );
    let _ = writeln!(page, "{}\n", about(&root));
    settings(&mut page);
    exit_codes(&mut page);
    page.push_str("## Global options\n\nEvery command takes these.\n\n");
    for arg in root.get_arguments().filter(|arg| arg.is_global_set()) {
        argument(&mut page, arg);
    }
    page.push('\n');
    let _ = writeln!(page, "## Examples\n\n{}", examples(&root));
    for noun in children(&root) {
        command(&mut page, noun, 2);
    }
    format!("{}\n", page.trim_end())
}

fn settings(page: &mut String) {
    page.push_str(
        "## Settings\n\n\
A value comes from the flag, else the environment (`GPUAAS_URL`, `GPUAAS_TOKEN`, `GPUAAS_PROFILE`), else the profile in use, else the default. \
Profiles are in `$XDG_CONFIG_HOME/gpuaas/config.toml` (`~/.config/gpuaas/config.toml`), which `gpuaas login` writes readable by its owner only:\n\n\
```toml\nprofile = \"lab\"\n\n[profiles.lab]\nurl = \"https://gpu.lab.example\"\ntoken = \"…\"\n```\n\n\
A profile's token is sent to that profile's server only, never to one named with `--url` or `GPUAAS_URL`.\n\n\
Data goes to standard output; notes, progress and questions go to standard error. Colour follows the terminal, `NO_COLOR`, `CLICOLOR_FORCE`, `TERM` and `--color`.\n\n",
    );
}

fn exit_codes(page: &mut String) {
    page.push_str("## Exit codes\n\n| code | meaning | problem codes |\n|---:|---|---|\n");
    for exit in Exit::ALL {
        let codes: Vec<String> =
            Code::ALL.iter().filter(|code| Exit::of(**code) == *exit).map(|code| format!("`{code}`")).collect();
        let _ = writeln!(page, "| {} | {} | {} |", exit.number(), exit.meaning(), codes.join(", "));
    }
    page.push('\n');
}

fn children(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|child| child.get_name() != "help" && !child.is_hide_set())
}

fn about(command: &Command) -> String {
    let text = command.get_about().map(ToString::to_string).unwrap_or_default();
    if text.is_empty() || text.ends_with('.') { text } else { format!("{text}.") }
}

fn examples(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<&str> = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("```console\n{}\n```\n", lines.iter().map(|line| format!("$ {line}")).collect::<Vec<_>>().join("\n"))
    }
}

fn command(page: &mut String, command: &Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let _ = writeln!(page, "{} {name}\n\n{}\n", "#".repeat(depth), about(command));
    if command.has_subcommands() {
        for child in children(command) {
            self::command(page, child, depth + 1);
        }
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(page, "```text\n{}\n```\n", usage.trim_start_matches("Usage: ").trim());
    let mut any = false;
    for arg in command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && !matches!(arg.get_id().as_str(), "help" | "version"))
    {
        argument(page, arg);
        any = true;
    }
    if any {
        page.push('\n');
    }
    let _ = writeln!(page, "{}", examples(command));
}

fn argument(page: &mut String, arg: &Arg) {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut notes = Vec::new();
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|word| !word.is_hide_set())
        .map(|word| format!("`{}`", word.get_name()))
        .collect();
    if !words.is_empty() && arg.get_action().takes_values() {
        notes.push(format!("one of {}", words.join(", ")));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|word| format!("`{}`", word.to_string_lossy())).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        notes.push(format!("default {}", defaults.join(", ")));
    }
    if let Some(name) = arg.get_env() {
        notes.push(format!("environment `{}`", name.to_string_lossy()));
    }
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    let _ = writeln!(page, "- `{}`: {help}{notes}", spelled(arg));
}

fn spelled(arg: &Arg) -> String {
    let value = arg
        .get_value_names()
        .map(|names| names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" "))
        .unwrap_or_default();
    let flag = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}"),
        (None, Some(long)) => format!("--{long}"),
        _ => return value,
    };
    if arg.get_action().takes_values() { format!("{flag} {value}") } else { flag }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn leaves(command: &Command, found: &mut Vec<Command>) {
        if command.has_subcommands() {
            children(command).for_each(|child| leaves(child, found));
        } else {
            found.push(command.clone());
        }
    }

    fn all_leaves() -> Vec<Command> {
        let mut root = Cli::command();
        root.build();
        let mut found = Vec::new();
        leaves(&root, &mut found);
        found
    }

    /// Splits as a shell does, as far as the examples need: quotes, redirections and assignments in front.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                _ => word.push(c),
            }
        }
        words.push(word);
        let words: Vec<String> =
            words.into_iter().skip_while(|word| word.contains('=') && !word.starts_with('-')).collect();
        words.into_iter().take_while(|word| !matches!(word.as_str(), ">" | "<" | "|")).collect()
    }

    #[test]
    fn every_command_has_help_and_examples_that_parse() {
        for command in all_leaves() {
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            assert!(!about(&command).is_empty(), "{name} says nothing about itself");
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert!(text.starts_with("Examples:\n") && !lines.is_empty(), "{name} has no examples");
            assert!(lines.iter().any(|line| line.contains(&name)), "{name} has no example of itself");
            for line in lines {
                if let Err(error) = Cli::try_parse_from(shell_words(line)) {
                    panic!("an example of {name} does not parse: {line}\n{error}");
                }
            }
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{name}: {} has no help", arg.get_id());
            }
        }
    }

    #[test]
    fn examples_of_nouns_parse_too() {
        let mut root = Cli::command();
        root.build();
        for command in std::iter::once(&root).chain(children(&root)) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(text.starts_with("Examples:\n"), "{} has no examples", command.get_name());
            for line in text.lines().filter_map(|line| line.strip_prefix("  ")) {
                assert!(Cli::try_parse_from(shell_words(line)).is_ok(), "does not parse: {line}");
            }
        }
    }

    #[test]
    fn the_tree_of_commands_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_committed_page_is_this_one() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
        let page = markdown();
        if std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &page).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == page, "docs/reference/cli.md is not up to date; run UPDATE_GENERATED=1 cargo test -p cli");
    }
}
