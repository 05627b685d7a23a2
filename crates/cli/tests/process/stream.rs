//! Following events as server-sent events, byte by byte: what a consumer gets that only knows the standard.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A consumer that keeps its position, and everything it was sent.
#[derive(Debug, Default)]
pub struct Consumer {
    /// What to send as `Last-Event-ID`.
    pub position: Option<String>,
    /// Whole frames with data, in the order in which they came.
    pub events: Vec<Value>,
    pub connections: usize,
}

impl Consumer {
    /// Reads until the connection ends, as it does when the server is killed.
    pub async fn follow(&mut self, base: &str, token: &str) {
        let Ok(mut stream) = TcpStream::connect(base.trim_start_matches("http://")).await else { return };
        let position = self.position.as_ref().map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        // The older version of HTTP: the body comes as it is, and its end is the end of the connection.
        let request = format!("GET /api/v1/events/stream HTTP/1.0\r\nauthorization: Bearer {token}\r\n{position}\r\n");
        if stream.write_all(request.as_bytes()).await.is_err() {
            return;
        }
        let mut buffer = Vec::new();
        let mut in_body = false;
        while stream.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
            if !in_body && let Some(at) = find(&buffer, b"\r\n\r\n") {
                let head = String::from_utf8(buffer.drain(..at + 4).collect()).unwrap();
                assert!(head.contains(" 200 "), "{head}");
                (in_body, self.connections) = (true, self.connections + 1);
            }
            // A frame that was cut off by the end of the connection does not count; it comes again.
            while in_body && let Some(at) = find(&buffer, b"\n\n") {
                let frame = String::from_utf8(buffer.drain(..at + 2).collect()).unwrap();
                self.take(&frame);
            }
        }
    }

    fn take(&mut self, frame: &str) {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::trim_start);
        if let Some(data) = field("data:") {
            let event: Value = serde_json::from_str(data).unwrap();
            assert_eq!(event["sequence"].as_str(), field("id:"), "{frame}");
            assert_eq!(event["type"].as_str(), field("event:"), "{frame}");
            self.events.push(event);
        }
        if let Some(id) = field("id:") {
            self.position = Some(id.to_owned());
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
