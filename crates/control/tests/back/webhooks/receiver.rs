//! A receiver of webhooks on this machine: it keeps what it was sent, and answers what the test makes it answer. In the open
//! or with TLS under a certificate that it makes itself.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Sent {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Sent {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }

    pub fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Checks the signature as a receiver does: any of them will do.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
        mac.update(format!("{}.{}.", self.header("webhook-id"), self.header("webhook-timestamp")).as_bytes());
        mac.update(&self.body);
        let wanted = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.header("webhook-signature").split(' ').any(|given| given == wanted)
    }
}

/// An answer: status, headers, body.
pub type Answer = (u16, Vec<(&'static str, String)>, String);

#[derive(Default)]
struct Kept {
    sent: Mutex<Vec<Sent>>,
    answers: Mutex<VecDeque<Answer>>,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

pub struct Receiver {
    address: SocketAddr,
    kept: Arc<Kept>,
    tls: Option<tempfile::TempDir>,
    // Ends with the receiver, and everything on it.
    _runtime: tokio::runtime::Runtime,
}

impl Receiver {
    pub fn start() -> Self {
        Self::on(None)
    }

    /// The same with TLS, under the name `hooks.example`.
    pub fn with_tls() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let made = rcgen::CertificateParams::new(vec!["hooks.example".to_owned()]).unwrap().self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), made.pem()).unwrap();
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let private = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = builder.with_single_cert(vec![made.der().clone()], private.into()).unwrap();
        Self { tls: Some(folder), ..Self::on(Some(TlsAcceptor::from(Arc::new(config)))) }
    }

    fn on(tls: Option<TlsAcceptor>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::new(Kept::default());
        let keeps = Arc::clone(&kept);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (keeps, tls) = (Arc::clone(&keeps), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, keeps).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, keeps).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, kept, tls: None, _runtime: runtime }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self) -> String {
        format!("http://{}/in?from=gpuaas", self.address)
    }

    /// The certificate of one with TLS.
    pub fn certificate(&self) -> PathBuf {
        self.tls.as_ref().unwrap().path().join("ca.pem")
    }

    /// What the next requests are answered with, in order; after them it is 200.
    pub fn will_answer(&self, answers: impl IntoIterator<Item = Answer>) {
        self.kept.answers.lock().unwrap().extend(answers);
    }

    /// What happens once between the next request and its answer.
    pub fn meanwhile(&self, happens: impl FnOnce() + Send + 'static) {
        *self.kept.meanwhile.lock().unwrap() = Some(Box::new(happens));
    }

    /// What came since the last time this was asked.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.kept.sent.lock().unwrap())
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, kept: Arc<Kept>) {
    let answer = move |request: Request<Incoming>| {
        let kept = Arc::clone(&kept);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
            kept.sent.lock().unwrap().push(Sent { path, headers: parts.headers, body });
            let happens = kept.meanwhile.lock().unwrap().take();
            if let Some(happens) = happens {
                tokio::task::spawn_blocking(happens).await.unwrap();
            }
            let (status, headers, text) =
                kept.answers.lock().unwrap().pop_front().unwrap_or((200, vec![], "thanks".to_owned()));
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            Ok::<_, hyper::Error>(response.body(Full::new(Bytes::from(text))).unwrap())
        }
    };
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
}

pub fn answer(status: u16) -> Answer {
    (status, vec![], format!("said {status}"))
}
