//! Commands that need no server: what a code means, completions, manual pages, the version.

use api::Code;
use clap::{Args, CommandFactory};
use serde::Serialize;
use std::path::PathBuf;

use crate::{
    args::{Cli, Global, examples},
    exit::Exit,
    failure::Failure,
    output,
    output::Format,
    table::Columns,
};

/// Which code to explain.
#[derive(Debug, Args)]
#[command(after_help = examples!["gpuaas explain quota_exceeded", "gpuaas explain", "gpuaas explain sku_unavailable -o json"])]
pub struct Explain {
    /// The code of a problem; all are listed when absent
    code: Option<String>,
}

/// Which shell.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas completion bash > ~/.local/share/bash-completion/completions/gpuaas",
    "gpuaas completion zsh > ~/.zfunc/_gpuaas",
    "gpuaas completion fish > ~/.config/fish/completions/gpuaas.fish",
])]
pub struct Completion {
    /// The shell
    shell: clap_complete::Shell,
}

/// Where to write the manual pages.
#[derive(Debug, Args)]
#[command(after_help = examples!["gpuaas man --out ~/.local/share/man/man1"])]
pub struct Man {
    /// The folder; made when absent
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

const CODES: Columns = Columns {
    plural: "codes",
    columns: &[
        ("CODE", "/code"),
        ("STATUS", "/status"),
        ("EXIT", "/exit_code"),
        ("RETRY", "/retryable"),
        ("TITLE", "/title"),
    ],
};

#[derive(Serialize)]
struct Explained {
    code: Code,
    status: u16,
    title: &'static str,
    retryable: bool,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'static str>,
}

fn explained(code: Code, page: Option<&'static str>) -> Explained {
    let (status, title, retryable) = (code.status(), code.title(), code.is_retryable());
    Explained { code, status, title, retryable, exit_code: Exit::of(code).number(), page }
}

/// Prints the page of a code, or the list of codes.
pub fn explain(global: &Global, explain: &Explain) -> Result<(), Failure> {
    let Some(word) = &explain.code else {
        let all: Vec<Explained> = Code::ALL.iter().map(|code| explained(*code, None)).collect();
        return output::list(global.output, &CODES, &all, &crate::session::Items { items: &all });
    };
    let code: Code = word.to_ascii_lowercase().replace('-', "_").parse().map_err(|_| unknown_code(word))?;
    match global.output {
        Format::Table => output::data(code.page()),
        other => output::object(other, &explained(code, Some(code.page()))),
    }
}

fn unknown_code(word: &str) -> Failure {
    let nearest = Code::ALL.iter().max_by_key(|code| {
        let parts_in_ten_thousand = strsim::normalized_damerau_levenshtein(word, code.as_str());
        // Whole steps, so that equals are told apart by the order of the table.
        format!("{parts_in_ten_thousand:.4}")
    });
    let suggestion = nearest.map(|code| format!(" Did you mean `{code}`?")).unwrap_or_default();
    Failure::Usage(format!("there is no problem code `{word}`.{suggestion} `gpuaas explain` lists them all."))
}

/// Prints a completion script.
pub fn completion(completion: &Completion) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(completion.shell, &mut Cli::command(), "gpuaas", &mut script);
    output::data_bytes(&script)
}

/// Writes the manual pages.
pub fn man(global: &Global, man: &Man) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::Local(format!("cannot write to {}: {error}", man.out.display()));
    std::fs::create_dir_all(&man.out).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), &man.out).map_err(cannot)?;
    if !global.quiet {
        output::note(&format!("manual pages are in {}", man.out.display()));
    }
    Ok(())
}

#[derive(Serialize)]
struct Version {
    version: &'static str,
    api_version: &'static str,
    os: &'static str,
    arch: &'static str,
}

/// Prints the version.
pub fn version(global: &Global) -> Result<(), Failure> {
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        api_version: "v1",
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
    };
    match global.output {
        Format::Table => output::data(&format!("gpuaas {}", version.version)),
        other => output::object(other, &version),
    }
}
