//! A client that knows how far a request came: not sent, sent without an answer, or answered. It tries nothing again by
//! itself, since what a lost answer means is what these tests are about.

use serde_json::Value;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

#[derive(Debug, Clone)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub token: String,
    pub key: Option<String>,
    pub body: Option<Value>,
}

impl Request {
    pub fn get(path: impl Into<String>, token: &str) -> Self {
        Self { method: "GET", path: path.into(), token: token.to_owned(), key: None, body: None }
    }

    pub fn post(path: impl Into<String>, token: &str, key: &str, body: Option<Value>) -> Self {
        let (path, token, key) = (path.into(), token.to_owned(), Some(key.to_owned()));
        Self { method: "POST", path, token, key, body }
    }

    fn text(&self) -> String {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let key = self.key.as_ref().map(|key| format!("idempotency-key: \"{key}\"\r\n")).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        format!(
            "{} {} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n{key}{kind}content-length: {}\r\n\r\n{body}",
            self.method,
            self.path,
            self.token,
            body.len(),
        )
    }
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }

    /// The stable code of a refusal.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Nothing of the request was sent.
    BeforeSending,
    /// All or part of it was; what became of it is not known.
    AfterSending,
}

/// One connection at a time to whichever server is asked.
#[derive(Debug, Default)]
pub struct Http {
    open: Option<(String, TcpStream)>,
}

impl Http {
    /// Sends a request to the server at this address.
    pub async fn send(&mut self, base: &str, request: &Request, within: Duration) -> Result<Answer, Lost> {
        let kept = self.open.take().filter(|(address, _)| address == base).map(|(_, stream)| stream);
        // A connection that the other side has closed meanwhile is readable, with nothing on it.
        let kept = kept.filter(|stream| matches!(stream.try_read(&mut [0; 1]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
        let mut stream = match kept {
            Some(stream) => stream,
            None => match timeout(within, TcpStream::connect(base.trim_start_matches("http://"))).await {
                Ok(Ok(stream)) => stream,
                _ => return Err(Lost::BeforeSending),
            },
        };
        let exchange = async {
            stream.set_nodelay(true).ok()?;
            stream.write_all(request.text().as_bytes()).await.ok()?;
            receive(&mut stream).await
        };
        let answer = timeout(within, exchange).await.ok().flatten().ok_or(Lost::AfterSending)?;
        self.open = Some((base.to_owned(), stream));
        Ok(answer)
    }
}

async fn receive(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = Vec::with_capacity(2048);
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?.to_ascii_lowercase();
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(Some(0), |text| text.trim().parse().ok())?;
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Answer { status, bytes: bytes[head_end..head_end + length].to_vec() })
}
