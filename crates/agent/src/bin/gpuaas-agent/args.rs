//! The command line. Everything that a service needs can also come from the environment.

use agent::{
    real::IMAGE_CACHE,
    state::STATE_DIR,
    wire::{address::ServerAddress, trust::AuthorityPin},
};
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Runs on a GPU host: says what it has and carries out the control plane's orders.
#[derive(Debug, Parser)]
#[command(name = "gpuaas-agent", version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What is logged: a level, or a filter such as `info,agent=debug`
    #[arg(long, global = true, env = "GPUAAS_AGENT_LOG", default_value = "info", value_name = "FILTER")]
    pub(crate) log: String,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Join the control plane and carry out its orders, until a signal ends it
    Run(Join),
    /// Trade a one-time token for an identity, and end
    Enroll(Join),
    /// Show what this host, or a captured one, has
    ///
    /// Needs no control plane. The same host in the same state gives the same output, byte for byte.
    Discover(Discover),
    /// Copy what discovery looks at into a directory
    Capture(Capture),
    /// Check whether the agent can work here, and say in plain words what is missing
    ///
    /// Exits with 0 when nothing is, with 1 otherwise. Changes nothing.
    Doctor(Join),
}

/// How to reach the control plane, and as whom.
#[derive(Debug, Clone, Parser)]
pub(crate) struct Join {
    /// Where the control plane listens for agents, such as `https://control.example.net:8443`
    #[arg(long, env = "GPUAAS_AGENT_SERVER", value_name = "URL")]
    pub(crate) server: Option<ServerAddress>,

    /// SHA-256 of the authority's certificate in hexadecimal; shown with the token. Remembered once the host is enrolled
    #[arg(long, env = "GPUAAS_AGENT_AUTHORITY_SHA256", value_name = "HEX")]
    pub(crate) authority_sha256: Option<AuthorityPin>,

    /// The file with the one-time token. Else `enrollment-token` in `CREDENTIALS_DIRECTORY`, else
    /// `/etc/gpuaas-agent/enrollment-token`. Needed only until the host is enrolled
    #[arg(long, env = "GPUAAS_AGENT_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Where the identity and the journal are kept
    #[arg(long, env = "GPUAAS_AGENT_STATE_DIR", default_value = STATE_DIR, value_name = "DIR")]
    pub(crate) state_dir: PathBuf,

    /// Where the root process keeps guest images; only its free room is looked at
    #[arg(long, env = "GPUAAS_AGENT_IMAGE_CACHE", default_value = IMAGE_CACHE, value_name = "DIR")]
    pub(crate) image_cache: PathBuf,

    /// The socket of the root process, which does everything that takes rights
    #[arg(long, env = "GPUAAS_AGENT_HOSTD_SOCKET", default_value = hostd::SOCKET, value_name = "FILE")]
    pub(crate) hostd_socket: PathBuf,

    /// Show loop devices as disks of a laboratory. Never on a host whose slots are for sale
    #[arg(long, env = "GPUAAS_AGENT_LAB")]
    pub(crate) lab: bool,

    /// Show a captured host instead of this one; for trying things out
    #[arg(long, default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
}

/// What to look at.
#[derive(Debug, Parser)]
pub(crate) struct Discover {
    /// The host: this machine, or a directory that was written by `capture`
    #[arg(long, default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,

    /// The form: everything, or the main things for people
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    pub(crate) output: Form,

    /// Where the root process keeps guest images; only its free room is looked at
    #[arg(long, env = "GPUAAS_AGENT_IMAGE_CACHE", default_value = IMAGE_CACHE, value_name = "DIR")]
    pub(crate) image_cache: PathBuf,
}

/// What to copy.
#[derive(Debug, Parser)]
pub(crate) struct Capture {
    /// The host: this machine, or a directory that was captured before
    #[arg(long, default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,

    /// The directory to write; must not be there yet
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,

    /// Put invented serial numbers, UUIDs, hardware addresses and names in place of the real ones
    #[arg(long)]
    pub(crate) redact: bool,

    /// Where the root process keeps guest images; only its free room is looked at
    #[arg(long, env = "GPUAAS_AGENT_IMAGE_CACHE", default_value = IMAGE_CACHE, value_name = "DIR")]
    pub(crate) image_cache: PathBuf,
}

/// The form of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Everything, for programs.
    Json,
    /// The main things, for people.
    Table,
}
