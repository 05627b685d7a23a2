//! How the agent reaches the control plane: one connection that it opens and keeps, HTTP/1.1 over TLS 1.3, JSON both ways.
//!
//! The server is trusted because the authority that an operator named has signed its certificate, and for no other reason; the
//! list of authorities that the system keeps is never looked at. The node is known by the certificate it shows. Everything
//! that comes back is bounded in size and in time.

pub mod address;
pub mod credential;
pub mod trust;

use address::ServerAddress;
use api::node_plane::SESSION_HEADER;
use bytes::Bytes;
use credential::Credential;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, crypto::ring, pki_types::ServerName, version::TLS13};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;
use trust::{AuthorityPin, PinnedAuthority};

/// The largest answer that is read.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long opening a connection may take, handshake included.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
/// How long an answer may take beyond what the server was allowed to wait.
pub const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);

/// Why a call brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// There was no connection, or it broke.
    #[error("the control plane cannot be reached: {0}")]
    Unreachable(String),
    /// The other side's certificate, or ours, was not accepted in the handshake.
    #[error("no trusted connection: {0}")]
    Untrusted(String),
    /// The control plane said no.
    #[error("refused with {status} {code}: {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The problem's code; empty when the answer was no problem document.
        code: String,
        /// One sentence.
        detail: String,
    },
    /// The answer was not what it has to be.
    #[error("an answer that cannot be read: {0}")]
    Garbled(String),
}

impl CallFault {
    /// Whether the control plane does not accept who the node is, or the other way round, so that only an operator can help.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { status: 401 | 403, .. } | Self::Untrusted(_))
    }
}

/// A connection to the control plane, opened when it is needed and kept.
pub struct Client {
    server: ServerAddress,
    name: ServerName<'static>,
    connector: TlsConnector,
    sender: Option<SendRequest<Full<Bytes>>>,
    session: Option<String>,
    server_date: Option<String>,
}

impl Client {
    /// To a server that this authority vouches for; as this node, or as nobody yet.
    pub fn new(server: &ServerAddress, pin: AuthorityPin, credential: Option<&Credential>) -> Result<Self, CallFault> {
        let unusable = |error: &dyn std::fmt::Display| CallFault::Untrusted(error.to_string());
        let provider = Arc::new(ring::default_provider());
        let verifier = PinnedAuthority::new(pin, provider.clone());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| unusable(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match credential {
            Some(credential) => builder
                .with_client_auth_cert(credential.chain().to_vec(), credential.key().to_rustls())
                .map_err(|error| unusable(&error))?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(server.host().to_owned()).map_err(|error| unusable(&error))?;
        let connector = TlsConnector::from(Arc::new(config));
        Ok(Self { server: server.clone(), name, connector, sender: None, session: None, server_date: None })
    }

    /// Names the agent's session with every call from now on.
    #[must_use]
    pub fn with_session(mut self, session: &str) -> Self {
        self.session = Some(session.to_owned());
        self
    }

    /// Sends a body and reads the answer. The server may hold it back for `held` at most.
    pub async fn post<A: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
        held: Duration,
    ) -> Result<A, CallFault> {
        let body = serde_json::to_vec(body).map_err(|error| CallFault::Garbled(error.to_string()))?;
        let (status, bytes) = self.call(Method::POST, path, Bytes::from(body), held).await?;
        if !status.is_success() {
            return Err(refusal(status, &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|error| CallFault::Garbled(error.to_string()))
    }

    /// Whether anybody answers there at all, whatever the answer.
    pub async fn knock(&mut self, path: &str) -> Result<(), CallFault> {
        self.call(Method::GET, path, Bytes::new(), Duration::ZERO).await.map(|_| ())
    }

    /// Turns a connection of its own into a stream: bytes both ways, and nothing else.
    pub async fn upgrade(&mut self, path: &str, protocol: &'static str) -> Result<TokioIo<Upgraded>, CallFault> {
        let mut sender = self.connect().await?;
        let mut request = self.request(Method::POST, path, Bytes::new())?;
        let headers = request.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static(protocol));
        let exchange = async {
            let response = sender.send_request(request).await.map_err(broken)?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                return hyper::upgrade::on(response).await.map_err(broken);
            }
            let (parts, body) = response.into_parts();
            let bytes = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let bytes = bytes.map_err(|error| CallFault::Garbled(error.to_string()))?.to_bytes();
            Err(refusal(parts.status, &bytes))
        };
        let late = |_| Err(CallFault::Unreachable("no answer in time".to_owned()));
        timeout(ANSWER_TIME_MAX, exchange).await.unwrap_or_else(late).map(TokioIo::new)
    }

    /// Begins to read something long, from some byte on, over a connection of its own.
    pub async fn download(&mut self, path: &str, from: u64) -> Result<Incoming, CallFault> {
        let mut sender = self.connect().await?;
        let mut request = self.request(Method::GET, path, Bytes::new())?;
        if from > 0 {
            let range = HeaderValue::from_str(&format!("bytes={from}-"));
            request.headers_mut().insert(header::RANGE, range.map_err(|error| CallFault::Garbled(error.to_string()))?);
        }
        let exchange = async {
            let response = sender.send_request(request).await.map_err(broken)?;
            let (parts, body) = response.into_parts();
            match parts.status {
                StatusCode::OK if from == 0 => return Ok(body),
                StatusCode::PARTIAL_CONTENT if from > 0 => return Ok(body),
                StatusCode::OK => return Err(CallFault::Garbled("all of it came, and not the rest".to_owned())),
                _ => (),
            }
            let bytes = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let bytes = bytes.map_err(|error| CallFault::Garbled(error.to_string()))?.to_bytes();
            Err(refusal(parts.status, &bytes))
        };
        let late = |_| Err(CallFault::Unreachable("no answer in time".to_owned()));
        timeout(ANSWER_TIME_MAX, exchange).await.unwrap_or_else(late)
    }

    /// The server's clock, as it stood in its last answer.
    pub fn server_date(&self) -> Option<&str> {
        self.server_date.as_deref()
    }

    async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        held: Duration,
    ) -> Result<(StatusCode, Bytes), CallFault> {
        let mut sender = match self.sender.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let exchange = async {
            sender.ready().await.map_err(broken)?;
            let response = sender.send_request(self.request(method, path, body)?).await.map_err(broken)?;
            let (parts, body) = response.into_parts();
            let bytes = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let bytes = bytes.map_err(|error| CallFault::Garbled(error.to_string()))?.to_bytes();
            Ok((parts.status, parts.headers, bytes))
        };
        let answered = timeout(held + ANSWER_TIME_MAX, exchange).await;
        let (status, headers, bytes) =
            answered.map_err(|_| CallFault::Unreachable("no answer in time".to_owned()))??;
        self.note_date(&headers);
        self.sender = Some(sender);
        Ok((status, bytes))
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, CallFault> {
        let session = self.session.iter().map(|session| (SESSION_HEADER, session.as_str()));
        session
            .fold(Request::builder(), |request, (name, value)| request.header(name, value))
            .method(method)
            .uri(path)
            .header(header::HOST, self.server.authority())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("gpuaas-agent/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(body))
            .map_err(|error| CallFault::Garbled(error.to_string()))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, CallFault> {
        let opened = timeout(CONNECT_TIME_MAX, async {
            let stream = TcpStream::connect((self.server.host(), self.server.port())).await.map_err(handshake)?;
            stream.set_nodelay(true).map_err(handshake)?;
            let stream = self.connector.connect(self.name.clone(), stream).await.map_err(handshake)?;
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)
        });
        let (sender, connection) =
            opened.await.map_err(|_| CallFault::Unreachable("no connection in time".to_owned()))??;
        // Ends with the connection; what went wrong is told to whoever waits for an answer.
        tokio::spawn(connection.with_upgrades());
        Ok(sender)
    }

    fn note_date(&mut self, headers: &HeaderMap) {
        self.server_date = headers.get(header::DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
    }
}

fn handshake(error: std::io::Error) -> CallFault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_) | rustls::Error::General(_)) => {
            CallFault::Untrusted(error.to_string())
        }
        _ => CallFault::Unreachable(error.to_string()),
    }
}

// In TLS 1.3 the server judges the client's certificate after the client thinks it is done, so its verdict comes late.
fn broken(error: hyper::Error) -> CallFault {
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<std::io::Error>()
            && let Some(rustls::Error::AlertReceived(alert)) = io.get_ref().and_then(|inner| inner.downcast_ref())
        {
            return CallFault::Untrusted(format!("the server refused our certificate: {alert:?}"));
        }
        source = cause.source();
    }
    CallFault::Unreachable(error.to_string())
}

fn refusal(status: StatusCode, bytes: &[u8]) -> CallFault {
    #[derive(Deserialize, Default)]
    struct Problem {
        #[serde(default)]
        code: String,
        #[serde(default)]
        detail: String,
    }
    let problem: Problem = serde_json::from_slice(bytes).unwrap_or_default();
    let brief = |text: &str| text.chars().filter(|c| !c.is_control()).take(400).collect();
    CallFault::Refused { status: status.as_u16(), code: brief(&problem.code), detail: brief(&problem.detail) }
}
