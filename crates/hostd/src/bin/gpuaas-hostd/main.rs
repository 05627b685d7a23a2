//! `gpuaas-hostd`: the root process of a GPU host. `run` answers on its socket; `check` says in plain words what is missing.

use clap::{Parser, Subcommand};
use hostd::{Config, Failed, Hostd, Server, check, config, devices};
use signal_hook::{consts::TERM_SIGNALS, iterator::Signals};
use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

// How long what is being done may take to end after a signal; everything can be repeated, so nothing is lost by not waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// The root process of a GPU host: a fixed set of verbs for the agent, over a socket.
#[derive(Debug, Parser)]
#[command(name = "gpuaas-hostd", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer on the socket until a signal ends it.
    Run(Settings),
    /// Say what is missing on this host, and exit with 1 if anything is.
    Check(Settings),
}

#[derive(Debug, clap::Args)]
struct Settings {
    /// The settings.
    #[arg(long, value_name = "FILE", default_value = config::PATH)]
    config: PathBuf,
    /// That this is a laboratory; the settings must say the same.
    #[arg(long)]
    lab: bool,
}

fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("GPUAAS_HOSTD_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false).init();
    let outcome = match Args::parse().command {
        Command::Run(settings) => run(&settings),
        Command::Check(settings) => check(&settings),
    };
    outcome.unwrap_or_else(|fault| {
        tracing::error!("{fault}");
        ExitCode::FAILURE
    })
}

fn read(settings: &Settings) -> Result<Config, Failed> {
    let config = Config::read(&settings.config).map_err(Failed::plain)?;
    config.lab_check(settings.lab).map_err(Failed::plain)?;
    Ok(config)
}

fn run(settings: &Settings) -> Result<ExitCode, Failed> {
    let config = read(settings)?;
    if !rustix::process::geteuid().is_root() {
        return Err(Failed::plain("the process must run as root"));
    }
    // A host that was just started has no bridge yet. One that cannot be made now is told by the plan that needs it.
    if let Err(fault) = network::prepare(&config.network) {
        tracing::warn!(%fault, "the bridge is not there");
    }
    let devices = devices::of_host(config.devices.as_ref());
    // Nor has it virtual functions. Guests that run need none of this, so they are looked after all the same.
    if let Err(fault) = devices.prepare() {
        tracing::warn!(%fault, "virtual functions are missing");
    }
    let host = Arc::new(Hostd::open(config, devices)?);
    let server = Server::open(host)?;
    let ends = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new(TERM_SIGNALS).map_err(Failed::plain)?;
    let told = ends.clone();
    let wait = move || {
        for signal in signals.forever() {
            tracing::info!(signal, "ends");
            told.store(true, Ordering::SeqCst);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(Failed::plain)?;
    tracing::info!("answers");
    server.run(&ends, PATIENCE)?;
    Ok(ExitCode::SUCCESS)
}

fn check(settings: &Settings) -> Result<ExitCode, Failed> {
    let ready = check::ready(&read(settings)?);
    let mut out = io::stdout().lock();
    let mut say = |line: String| writeln!(out, "{line}").map_err(Failed::plain);
    say(format!("accelerator  {}", ready.accelerator))?;
    say(format!("laboratory   {}", if ready.lab { "yes" } else { "no" }))?;
    for (name, said) in &ready.tools {
        say(format!("{name:12} {said}"))?;
    }
    for what in &ready.missing {
        say(format!("MISSING      {what}"))?;
    }
    Ok(if ready.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
