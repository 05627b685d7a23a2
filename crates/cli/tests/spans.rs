//! Spans of a control plane that was built with OpenTelemetry, sent to a collector; and the word of one that was not.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Answer, Fake, gpuaas, plane::store_url, ran};

#[cfg(not(feature = "otel"))]
#[test]
fn a_build_without_spans_says_so_and_minds_no_variable() {
    let home = tempfile::tempdir().unwrap();
    let url = store_url(home.path());
    let words = ["serve", "--database", &url, "--listen", "127.0.0.1:0", "--otlp-endpoint", "http://127.0.0.1:1"];
    let refused = ran(gpuaas(home.path()).args(words).output().unwrap());
    assert!(refused.code == 2 && refused.stderr.contains("`otel` feature"), "{}", refused.stderr);
    let collector = Fake::new(|_| Answer { status: 200, content_type: "text/plain", body: String::new() });
    let mut command = gpuaas(home.path());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let mut plane = common::plane::Plane::start_with(command, &words[..5]);
    assert_eq!(plane.signal("-TERM"), Some(0));
    assert!(collector.asked().is_empty());
}

#[cfg(feature = "otel")]
#[test]
fn spans_reach_the_collector_that_the_standard_variable_names() {
    let home = tempfile::tempdir().unwrap();
    let url = store_url(home.path());
    let token = common::plane::operator_token(home.path());
    let collector = Fake::new(|_| Answer { status: 200, content_type: "application/x-protobuf", body: String::new() });
    let mut command = gpuaas(home.path());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let words = ["serve", "--database", &url, "--listen", "127.0.0.1:0"];
    let mut plane = common::plane::Plane::start_with(command, &words);
    let made = plane.run(home.path(), &token, &["region", "create", "eu-1", "--name", "Europe"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert_eq!(plane.signal("-TERM"), Some(0), "what is left is sent at the end");
    let asked = collector.asked();
    assert!(asked.iter().any(|asked| asked.method == "POST" && asked.target == "/v1/traces"), "{asked:?}");
    assert!(ran(gpuaas(home.path()).args(["verify", "--database", &url]).output().unwrap()).code == 0);
}
