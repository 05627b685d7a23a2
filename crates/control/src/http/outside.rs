//! What is served beside the API: its documents, the pages of problem codes, metrics, and whether this process is well. None
//! of it needs a token, so none of it says anything about a tenant.

use std::sync::OnceLock;

use api::{Code, Problem, reference_page};
use store::Tx;

use super::Parts;
use crate::{front_door::Response, metrics};

/// One of the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    Start,
    Openapi,
    Asyncapi,
    Reference,
    Style,
    Errors,
    Error(String),
    Metrics,
    Health,
    Ready,
}

/// The documents, made once.
#[derive(Debug, Default)]
pub(super) struct Pages {
    openapi: OnceLock<Vec<u8>>,
    asyncapi: OnceLock<Vec<u8>>,
    reference: OnceLock<Vec<u8>>,
    errors: OnceLock<Vec<u8>>,
}

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

const START: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
    content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
    <title>gpuaas</title><link rel=\"stylesheet\" href=\"/docs/reference.css\"></head><body><header class=\"bar\">\
    <a class=\"brand\" href=\"/\">gpuaas</a></header><div class=\"columns start\"><main id=\"main\"><h1>gpuaas control plane</h1>\
    <p>The portal is not built into this binary. To have it, run <code>npm ci</code> and <code>npm run build</code> in \
    <code>portal/</code>, then <code>cargo build</code> again. The API is at <code>/api/v1</code> all the same; use it, or \
    the <code>gpuaas</code> command.</p><ul><li><a href=\"/docs/api\">API reference</a></li><li><a href=\"/docs/errors\">Problem codes</a></li>\
    <li><a href=\"/openapi.json\">OpenAPI</a> and <a href=\"/asyncapi.json\">AsyncAPI</a> documents</li>\
    <li><a href=\"/healthz\">Health</a>, <a href=\"/readyz\">readiness</a> and <a href=\"/metrics\">metrics</a></li>\
    </ul></main></div></body></html>\n";

impl Pages {
    /// The page at a path.
    pub(super) fn find(&self, path: &str) -> Option<Page> {
        Some(match path {
            "/" => Page::Start,
            "/openapi.json" => Page::Openapi,
            "/asyncapi.json" => Page::Asyncapi,
            "/docs" | "/docs/" | reference_page::PAGE_PATH => Page::Reference,
            reference_page::CSS_PATH => Page::Style,
            reference_page::ERRORS_PATH => Page::Errors,
            "/metrics" => Page::Metrics,
            "/healthz" => Page::Health,
            "/readyz" => Page::Ready,
            _ => Page::Error(path.strip_prefix(reference_page::ERRORS_PATH)?.strip_prefix('/')?.to_owned()),
        })
    }

    pub(super) async fn answer(&self, page: Page, parts: &Parts) -> Response {
        let json = |document: fn() -> serde_json::Value| move || document().to_string().into_bytes();
        match page {
            Page::Start => document(HTML, START.as_bytes().to_vec()),
            Page::Openapi => Response::json(200, self.openapi.get_or_init(json(api::openapi::document)).clone()),
            Page::Asyncapi => Response::json(200, self.asyncapi.get_or_init(json(api::asyncapi::document)).clone()),
            Page::Reference => {
                document(HTML, self.reference.get_or_init(|| reference_page::html().into_bytes()).clone())
            }
            Page::Style => document("text/css; charset=utf-8", reference_page::css().as_bytes().to_vec()),
            Page::Errors => {
                document(HTML, self.errors.get_or_init(|| reference_page::error_index_html().into_bytes()).clone())
            }
            Page::Error(code) => match reference_page::error_page_html(&code) {
                Some(html) => document(HTML, html.into_bytes()),
                None => Response::problem(&Problem::new(Code::RouteNotFound, "There is no such problem code.")),
            },
            Page::Metrics => {
                // Without the store there are fewer numbers, and that they are old is better than that they are missing.
                if let Err(error) = parts.metrics.collect(&parts.db).await {
                    tracing::warn!(%error, "the store could not be asked for metrics");
                }
                document(metrics::CONTENT_TYPE, parts.metrics.text().into_bytes())
            }
            Page::Health => document(TEXT, b"ok\n".to_vec()),
            Page::Ready => ready(parts).await,
        }
    }
}

fn document(content_type: &'static str, body: Vec<u8>) -> Response {
    Response { content_type, body, ..Response::empty(200) }
}

/// Whether requests can be served: the store answers. Its migrations were done before it was opened.
async fn ready(parts: &Parts) -> Response {
    let asked = parts.db.read_async(|tx: &mut Tx<'_>| store::store_identity(tx).map(drop)).await;
    match asked {
        Ok(()) if !parts.db.poisoned() => document(TEXT, b"ready\n".to_vec()),
        Ok(()) => unready("the store is poisoned"),
        Err(error) => unready(&error.to_string()),
    }
}

fn unready(why: &str) -> Response {
    tracing::warn!(why, "not ready");
    Response::problem(&Problem::new(Code::StoreUnavailable, "The store cannot be reached.").with_retry_after(1))
}
