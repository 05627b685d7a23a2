//! One attempt: look the name up once, judge every address that comes back, connect to one of exactly those, send, read how
//! the answer begins. Redirects are not followed, no proxy is asked, and nothing takes longer than it may.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use model::webhook::{Host, Target};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;

use super::Reach;

const CONNECT_MAX: Duration = Duration::from_secs(5);
const WHOLE_MAX: Duration = Duration::from_secs(15);
/// A status that was heard counts; what comes behind it is not waited for longer than this.
const READ_MAX: Duration = Duration::from_secs(2);
/// An answer is read no further than this.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// This much of it is kept.
pub(super) const BODY_BYTES_KEPT: usize = 1024;
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 4;
/// What the platform calls itself.
pub(super) const USER_AGENT: &str = concat!("gpuaas-webhooks/", env!("CARGO_PKG_VERSION"));
/// What is sent.
pub(super) const CONTENT_TYPE: &str = "application/cloudevents+json";

/// Looks names up.
pub trait Names: Send + Sync + 'static {
    /// The addresses of a name, asked for once.
    fn look_up(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The operating system's way to look names up.
#[derive(Debug, Clone, Copy)]
pub struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why nothing can be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum BadRoots {
    /// A file of certificates.
    #[error("cannot use {file} as an authority for webhooks: {why}")]
    File {
        /// Which file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The settings as a whole.
    #[error("TLS for webhooks cannot be set up: {0}")]
    Tls(String),
}

/// What one attempt sends.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) at_s: i64,
    pub(super) signature: String,
    pub(super) body: Bytes,
}

/// What an attempt was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) retry_after_s: Option<i64>,
    pub(super) body: String,
}

/// What attempts are made with. Cheap to clone.
#[derive(Clone)]
pub struct Poster {
    reach: Reach,
    names: Arc<dyn Names>,
    tls: TlsConnector,
}

impl std::fmt::Debug for Poster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").field("reach", &self.reach).finish_non_exhaustive()
    }
}

impl Poster {
    /// A poster that trusts the authorities of the system it runs on, and those of a file besides.
    pub fn new(reach: Reach, names: Arc<dyn Names>, authorities: Option<&Path>) -> Result<Self, BadRoots> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "some of the system's authorities could not be read");
        }
        roots.add_parsable_certificates(found.certs);
        if let Some(file) = authorities {
            let bad = |why: String| BadRoots::File { file: file.display().to_string(), why };
            let certificates = CertificateDer::pem_file_iter(file).map_err(|error| bad(error.to_string()))?;
            let mut count = 0;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| bad(error.to_string()))?;
                roots.add(certificate).map_err(|error| bad(error.to_string()))?;
                count += 1;
            }
            if count == 0 {
                return Err(bad("there is no certificate in it".to_owned()));
            }
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder =
            builder.with_safe_default_protocol_versions().map_err(|error| BadRoots::Tls(error.to_string()))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { reach, names, tls: TlsConnector::from(Arc::new(config)) })
    }

    /// Sends a message. The error is what went wrong, for people.
    pub(super) async fn send(&self, url: &model::webhook::WebhookUrl, message: Message) -> Result<Reply, String> {
        let target = self.reach.refuse_url(url)?;
        match timeout(WHOLE_MAX, self.send_to(&target, message)).await {
            Ok(sent) => sent,
            Err(_) => Err(format!("no answer within {} seconds", WHOLE_MAX.as_secs())),
        }
    }

    async fn send_to(&self, target: &Target, message: Message) -> Result<Reply, String> {
        let addresses = self.addresses(target).await?;
        let connected = timeout(CONNECT_MAX, connect(&addresses, target.port)).await;
        let stream = connected.map_err(|_| format!("no connection within {} seconds", CONNECT_MAX.as_secs()))??;
        if !target.is_https {
            return exchange(stream, target, message).await;
        }
        let name = match &target.host {
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(|error| error.to_string())?,
            Host::Address(address) => ServerName::IpAddress((*address).into()),
        };
        let secured = timeout(CONNECT_MAX, self.tls.connect(name, stream)).await;
        let stream = secured
            .map_err(|_| format!("no encrypted connection within {} seconds", CONNECT_MAX.as_secs()))?
            .map_err(|error| format!("the connection could not be encrypted: {error}"))?;
        exchange(stream, target, message).await
    }

    /// Where to connect: every address that the name has now, each of them allowed, or none.
    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, String> {
        let mut found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let looked_up = timeout(CONNECT_MAX, self.names.look_up(name.clone())).await;
                let looked_up = looked_up.map_err(|_| format!("{name} could not be looked up in time"))?;
                looked_up.map_err(|error| format!("{name} could not be looked up: {error}"))?
            }
        };
        if found.is_empty() {
            return Err(format!("{} has no address", target.host));
        }
        found.iter().try_for_each(|address| self.reach.refuse(*address, target.is_https))?;
        found.truncate(ADDRESSES_MAX);
        Ok(found)
    }
}

async fn connect(addresses: &[IpAddr], port: u16) -> Result<TcpStream, String> {
    let mut why = "there is no address".to_owned();
    for address in addresses {
        match TcpStream::connect(SocketAddr::new(*address, port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => why = format!("no connection to {address}: {error}"),
        }
    }
    Err(why)
}

async fn exchange<S>(stream: S, target: &Target, message: Message) -> Result<Reply, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = |error: hyper::Error| format!("the exchange broke off: {error}");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let request = Request::post(target.path.as_str())
        .header(header::HOST, target.authority())
        .header(header::CONTENT_TYPE, CONTENT_TYPE)
        .header(header::USER_AGENT, USER_AGENT)
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", message.at_s)
        .header("webhook-signature", &message.signature)
        .body(Full::new(message.body))
        .map_err(|error| format!("the request cannot be made: {error}"))?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        let status = response.status().as_u16();
        let retry_after_s =
            response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Ok::<Reply, String>(Reply { status, retry_after_s, body: beginning(response.into_body()).await })
    };
    tokio::pin!(answered, connection);
    // The connection has to be driven while its answer is waited for; that it ends first is no error by itself.
    tokio::select! {
        biased;
        reply = &mut answered => reply,
        ended = &mut connection => match ended {
            Ok(()) => answered.await,
            Err(error) => Err(broken(error)),
        },
    }
}

/// How an answer begins, as text. One that never ends is cut off; one that breaks off counts as far as it came.
async fn beginning(mut body: hyper::body::Incoming) -> String {
    let (mut kept, mut read) = (Vec::new(), 0);
    let until = Instant::now() + READ_MAX;
    while let Ok(Some(Ok(frame))) = timeout_at(until, body.frame()).await {
        let Some(data) = frame.data_ref() else { continue };
        read += data.len();
        let room = BODY_BYTES_KEPT.saturating_sub(kept.len());
        kept.extend(data.iter().take(room));
        if read >= BODY_BYTES_MAX {
            break;
        }
    }
    // Stores and terminals take no control characters from strangers.
    let text = String::from_utf8_lossy(&kept);
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}
