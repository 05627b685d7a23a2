//! Logs on standard error: for people with the time and colours, for journald without either and with the priority in front
//! that it sorts by. Tokens, keys and bodies are never logged.

use std::{fmt, io::IsTerminal, os::linux::fs::MetadataExt};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Starts logging.
pub(crate) fn start(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("--log: {error}"))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if is_journal() {
        logs.with_ansi(false).event_format(ForJournal).try_init()
    } else {
        logs.with_target(false).with_ansi(std::io::stderr().is_terminal()).try_init()
    };
    started.map_err(|error| error.to_string())
}

// The variable is inherited by everything below the service; it counts only while standard error is still that stream.
fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(error) = std::fs::metadata("/proc/self/fd/2") else { return false };
    stream == format!("{}:{}", error.st_dev(), error.st_ino())
}

/// One line an event, with a priority of syslog.
#[derive(Debug, Clone, Copy)]
struct ForJournal;

impl<S, N> FormatEvent<S, N> for ForJournal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}
