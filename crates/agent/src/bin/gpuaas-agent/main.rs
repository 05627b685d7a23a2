//! `gpuaas-agent`: the program that runs on a GPU host. It joins the control plane, says what the host has, and carries out
//! orders; two of its commands, `discover` and `capture`, need no control plane at all.

mod args;
mod backoff;
mod doctor;
mod images;
mod join;
mod logs;
mod look;
mod output;
mod run;
mod streams;
mod table;

use args::{Args, Command};
use clap::Parser;
use std::{future::Future, process::ExitCode, time::Duration};

// How long what is being done may take to end after a signal. Nothing is lost by not waiting: the journal knows.
const END_TIME_MAX: Duration = Duration::from_secs(5);

/// What a command came to.
pub(crate) type Outcome = Result<ExitCode, String>;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = logs::start(&args.log).and_then(|()| match args.command {
        Command::Run(join) => blocking(run::run(join)),
        Command::Enroll(join) => blocking(join::enroll(join)),
        Command::Doctor(doctor) => blocking(doctor::doctor(doctor)),
        Command::Discover(discover) => look::discover(&discover),
        Command::Capture(capture) => look::capture(&capture),
    });
    outcome.unwrap_or_else(|why| {
        tracing::error!("{why}");
        ExitCode::FAILURE
    })
}

// One thread for everything that waits; what blocks has threads of its own.
fn blocking(command: impl Future<Output = Outcome>) -> Outcome {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = built.map_err(|error| format!("no runtime: {error}"))?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_timeout(END_TIME_MAX);
    outcome
}
