//! Requests by hand: whatever the server answers on a path, for what has no command of its own.

use clap::Subcommand;

use crate::{args::examples, failure::Failure, ordered::Ordered, output, output::Format, safe, session::Session};

/// Verbs of raw requests.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas api get /api/v1"])]
pub enum RawCommand {
    /// GET a path and print what comes back
    #[command(after_help = examples!["gpuaas api get /api/v1", "gpuaas api get '/api/v1/events?after=10'", "gpuaas api get /metrics", "gpuaas api get /openapi.json -o yaml"])]
    Get {
        /// The path, with its query
        path: String,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: RawCommand) -> Result<(), Failure> {
    let RawCommand::Get { path } = command;
    if !path.starts_with('/') || path.starts_with("//") || path.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Failure::Usage(format!("`{path}` is not a path; expected such as /api/v1/regions")));
    }
    let body = session.get_raw(&path).await?;
    // Raw JSON has no columns; it is shown as JSON unless YAML was asked for.
    match serde_json::from_slice::<Ordered>(&body) {
        Ok(value) if session.format == Format::Yaml => output::data(&output::yaml_text(&value)?),
        Ok(value) => output::data(&output::json_text(&value)?),
        Err(_) if output::stdout_is_terminal() => output::data(&safe::lines(&String::from_utf8_lossy(&body))),
        Err(_) => output::data_bytes(&body),
    }
}
