//! Logs and traces of a process: one line an event on standard error, for people or as JSON, and spans to an OpenTelemetry
//! collector where the `otel` feature is built in.
//!
//! Nothing that authenticates anybody is ever logged: no header, no body, no token; a request goes by its id.

use std::io::IsTerminal as _;

use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    layer::{Layered, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// What to log and where to send spans.
#[derive(Debug, Clone, Default)]
pub struct LogConfig {
    /// How lines look.
    pub format: LogFormat,
    /// Which events, in the words of `RUST_LOG`; `info` when empty.
    pub filter: String,
    /// Colours for people; off when standard error is no terminal or `NO_COLOR` is set.
    pub colour: bool,
    /// Where an OTLP collector takes spans, such as `http://127.0.0.1:4318/v1/traces`. Needs the `otel` feature.
    pub otlp_endpoint: Option<String>,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter does not parse.
    #[error("the log filter is not valid: {0}")]
    Filter(String),
    /// Somebody has set up logging already.
    #[error("logging is set up already")]
    Already,
    /// This binary has no OpenTelemetry in it.
    #[error("spans cannot be sent: this binary was built without the `otel` feature")]
    NoOtel,
    /// The exporter could not be made.
    #[error("spans cannot be sent: {0}")]
    Otel(String),
}

/// Keeps what must be flushed at the end. Drop it last.
#[derive(Debug, Default)]
pub struct LogGuard {
    #[cfg(feature = "otel")]
    provider: Option<opentelemetry_sdk::trace::SdkTracerProvider>,
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        #[cfg(feature = "otel")]
        if let Some(provider) = self.provider.take() {
            // What could not be sent is lost; there is nobody left to tell.
            let _ = provider.shutdown();
        }
    }
}

type Base = Layered<EnvFilter, Registry>;
type Boxed = Box<dyn Layer<Base> + Send + Sync>;

/// Sets logging up for the whole process.
pub fn init(config: &LogConfig) -> Result<LogGuard, LogError> {
    let words = if config.filter.is_empty() { "info" } else { config.filter.as_str() };
    let filter = EnvFilter::try_new(words).map_err(|error| LogError::Filter(error.to_string()))?;
    let colour = config.colour && std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines: Boxed = match config.format {
        LogFormat::Human => {
            tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colour).with_target(false).boxed()
        }
        LogFormat::Json => tracing_subscriber::fmt::layer().json().with_writer(std::io::stderr).boxed(),
    };
    let (spans, guard) = match &config.otlp_endpoint {
        None => (None, LogGuard::default()),
        Some(endpoint) => spans(endpoint)?,
    };
    let layers: Vec<Boxed> = [Some(lines), spans].into_iter().flatten().collect();
    tracing_subscriber::registry().with(filter).with(layers).try_init().map_err(|_| LogError::Already)?;
    Ok(guard)
}

#[cfg(not(feature = "otel"))]
fn spans(_: &str) -> Result<(Option<Boxed>, LogGuard), LogError> {
    Err(LogError::NoOtel)
}

#[cfg(feature = "otel")]
fn spans(endpoint: &str) -> Result<(Option<Boxed>, LogGuard), LogError> {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::WithExportConfig as _;

    // The exporter's client takes whatever cryptography the process has chosen, and panics when there is none. Refused only
    // when another part of the process has chosen already, which then serves us as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let endpoint = endpoint.to_owned();
    let build = move || opentelemetry_otlp::SpanExporter::builder().with_http().with_endpoint(endpoint).build();
    // The exporter's client brings a runtime of its own, which cannot be made inside another one.
    let built = std::thread::spawn(build).join().map_err(|_| LogError::Otel("the exporter panicked".to_owned()))?;
    let exporter = built.map_err(|error| LogError::Otel(error.to_string()))?;
    let resource = opentelemetry_sdk::Resource::builder().with_service_name("gpuaas").build();
    let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("control")).boxed();
    Ok((Some(layer), LogGuard { provider: Some(provider) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_filter_is_refused_in_words() {
        let config = LogConfig { filter: "control=loud".to_owned(), ..LogConfig::default() };
        assert!(matches!(init(&config), Err(LogError::Filter(_))));
    }

    #[test]
    #[cfg(not(feature = "otel"))]
    fn spans_need_the_feature() {
        let config = LogConfig { otlp_endpoint: Some("http://127.0.0.1:1".to_owned()), ..LogConfig::default() };
        assert!(matches!(init(&config), Err(LogError::NoOtel)));
    }
}
