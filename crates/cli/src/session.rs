//! A command's conversation with one server: typed calls through the contract's client, with progress for what is slow,
//! `--explain`, and every refusal turned into a [`Failure`].

use api::{
    Code, Endpoint, Nothing, Problem,
    allocation::{AllocationPath, AllocationView},
    catalog::{PoolView, RegionView, SkuView, SlotProfileView},
    client::{Call, Client, ClientError},
    endpoint::Part,
    event::CloudEvent,
    fleet::{NodeView, SlotView},
    identity::MemberView,
    image::{ImagePath, ImageUpload, ImageView},
    operation::OperationView,
    page::{Page, PageQuery, Paged},
    tenancy::{ProjectView, TenantView},
    timeline::TimelineEntry,
    webhook::WebhookView,
    workload::WorkloadView,
};
use model::{
    number::{EventPosition, PageSize},
    text::ImageName,
};
use serde::Serialize;
use std::{path::Path, time::Duration};

use crate::{
    args::{Global, Keyed, Pinned, Waiting},
    config::{self, Chosen, Said},
    failure::Failure,
    follow, output,
    output::Format,
    progress::patiently,
    request_text,
    table::Columns,
};

/// Lists end here; a list that is longer is better read through the API page by page.
const ITEMS_MAX: usize = 1_000_000;
/// Bytes of a raw answer at most.
const RAW_BYTES_MAX: usize = 64 * 1024 * 1024;
const RAW_S_MAX: u64 = 60;
/// How often a change is tried on something that keeps moving.
const CHANGE_TRIES: u32 = 5;

/// What rises by one with every change.
pub trait Versioned {
    /// The version.
    fn version(&self) -> i64;
}

macro_rules! versioned {
    ($($view:ty),+) => { $(impl Versioned for $view { fn version(&self) -> i64 { self.version } })+ };
}
versioned!(
    TenantView,
    ProjectView,
    MemberView,
    RegionView,
    PoolView,
    SkuView,
    SlotProfileView,
    ImageView,
    NodeView,
    SlotView,
    AllocationView,
    WorkloadView,
    WebhookView
);

/// What a request may carry besides its body.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The name of the wish.
    pub key: Option<String>,
    /// The version it is for.
    pub if_match: Option<i64>,
}

impl Extra {
    /// With the key that was given, if one was.
    pub fn keyed(keyed: &Keyed) -> Self {
        Self { key: keyed.idempotency_key.clone(), if_match: None }
    }
    /// Only for the version that was given, if one was.
    pub fn pinned(mut self, pinned: &Pinned) -> Self {
        self.if_match = pinned.if_version;
        self
    }
}

/// A list in the form of the API.
#[derive(Debug, Serialize)]
pub struct Items<'a, T> {
    /// The items.
    pub items: &'a [T],
}

/// A raw answer.
struct Fetched {
    status: reqwest::StatusCode,
    request_id: Option<String>,
    body: Vec<u8>,
}

/// One server, one token, one way of showing things.
#[derive(Debug)]
pub struct Session {
    /// How data is written.
    pub format: Format,
    /// Whether notes and progress are left out.
    pub quiet: bool,
    explain: bool,
    chosen: Chosen,
    client: Client,
}

/// What the flags and the environment say, empty texts left out.
pub fn said(global: &Global) -> Said {
    let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Said { url: some(&global.url), token: some(&global.token), profile: some(&global.profile) }
}

fn failure(error: ClientError) -> Failure {
    match error {
        ClientError::Problem { problem, request_id } => Failure::Refused { problem, request_id },
        ClientError::Transport { address, detail, never_arrived: true } => Failure::Server(format!(
            "cannot reach {address}: {detail}\n  is it running? `gpuaas config show` tells which server is used and why"
        )),
        ClientError::Usage(text) => Failure::Usage(text),
        other => Failure::Server(other.to_string()),
    }
}

impl Session {
    /// A session with the server that flags, environment and configuration choose.
    pub fn open(global: &Global) -> Result<Self, Failure> {
        let chosen = config::choose(&said(global), &config::load()?)?;
        Self::to(global, chosen)
    }

    /// A session with this server.
    pub fn to(global: &Global, chosen: Chosen) -> Result<Self, Failure> {
        let client = Client::new(&chosen.url, chosen.token.as_deref().unwrap_or_default()).map_err(failure)?;
        if chosen.token.is_some() && is_open_road(&chosen.url) && !global.quiet {
            output::note(&format!("warning: {} is not encrypted; the token can be read on the way", chosen.url));
        }
        Ok(Self { format: global.output, quiet: global.quiet, explain: global.explain, chosen, client })
    }

    fn explain(&self, text: impl FnOnce(&str, Option<&str>) -> String) {
        if self.explain {
            let shown = self.chosen.token.as_deref().map(config::masked);
            output::note(&text(&self.chosen.url, shown.as_deref()));
        }
    }

    fn signed_in(&self) -> Result<(), Failure> {
        if self.chosen.token.is_some() { Ok(()) } else { Err(Failure::NotSignedIn) }
    }

    async fn call<E: Endpoint>(&self, mut call: Call<E>) -> Result<E::Answer, Failure> {
        self.signed_in()?;
        if E::OPERATION.needs_idempotency_key() && call.idempotency_key.is_none() {
            call.idempotency_key = Some(random_key()?);
        }
        self.explain(|url, token| request_text::of(url, token, &call));
        let what = format!("waiting for {}", self.chosen.url);
        patiently(self.quiet, &what, self.client.call(call)).await.map(|answered| answered.value).map_err(failure)
    }

    /// Reads one thing.
    pub async fn show<E: Endpoint<Query = Nothing, Body = Nothing>>(
        &self,
        path: E::Path,
    ) -> Result<E::Answer, Failure> {
        self.call(Call::<E>::at(path)).await
    }

    /// Reads with a query.
    pub async fn query<E: Endpoint<Body = Nothing>>(
        &self,
        path: E::Path,
        query: E::Query,
    ) -> Result<E::Answer, Failure> {
        self.call(Call::<E>::new(path, query, Nothing {})).await
    }

    /// Creates, changes, acts or ends.
    pub async fn send<E: Endpoint<Query = Nothing>>(
        &self,
        path: E::Path,
        body: E::Body,
        extra: Extra,
    ) -> Result<E::Answer, Failure> {
        let mut call = Call::<E>::send(path, body);
        call.idempotency_key = extra.key;
        call.if_match = extra.if_match;
        self.call(call).await
    }

    /// Changes or ends something for the version that was given; without one, for the version it has now. The platform
    /// itself moves things too: one that moved between our look and our change is looked at again, a few times.
    pub async fn change<E, S>(&self, path: E::Path, body: E::Body, pinned: &Pinned) -> Result<E::Answer, Failure>
    where
        E: Endpoint<Query = Nothing>,
        S: Endpoint<Path = E::Path, Query = Nothing, Body = Nothing, Answer: Versioned>,
    {
        let mut tries_left = CHANGE_TRIES;
        loop {
            let version = match pinned.if_version {
                Some(version) => version,
                None => self.show::<S>(path.clone()).await?.version(),
            };
            let extra = Extra { key: None, if_match: Some(version) };
            tries_left -= 1;
            match self.send::<E>(path.clone(), body.clone(), extra).await {
                Err(Failure::Refused { problem, .. })
                    if problem.code == Code::StaleVersion && pinned.if_version.is_none() && tries_left > 0 => {}
                answer => return answer,
            }
        }
    }

    /// Reads a whole list.
    pub async fn list<E, T>(&self, path: E::Path) -> Result<Vec<T>, Failure>
    where
        E: Endpoint<Query = PageQuery, Body = Nothing, Answer = Page<T>>,
        T: Part,
    {
        let query = PageQuery { page_size: PageSize::try_from(PageSize::MAX).ok(), page_token: None };
        self.list_by::<E, T>(path, query, None).await
    }

    /// Reads what a query finds, page by page, up to a limit where there is one.
    pub async fn list_by<E, T>(&self, path: E::Path, query: E::Query, limit: Option<usize>) -> Result<Vec<T>, Failure>
    where
        E: Endpoint<Query: Paged, Body = Nothing, Answer = Page<T>>,
        T: Part,
    {
        self.signed_in()?;
        self.explain(|url, token| {
            request_text::of(url, token, &Call::<E>::new(path.clone(), query.clone(), Nothing {}))
        });
        let what = format!("reading {} from {}", E::OPERATION.tag, self.chosen.url);
        let pages = self.client.pages::<E, T>(path, query);
        patiently(self.quiet, &what, pages.all(limit.unwrap_or(ITEMS_MAX))).await.map_err(failure)
    }

    /// Brings the bytes of an image. They are read as they are sent, however many there are.
    pub async fn upload(&self, image: &ImageName, file: &Path) -> Result<ImageView, Failure> {
        self.signed_in()?;
        let cannot = |error: std::io::Error| Failure::Usage(format!("cannot use {}: {error}", file.display()));
        let opened = tokio::fs::File::open(file).await.map_err(cannot)?;
        let length = opened.metadata().await.map_err(cannot)?.len();
        let path = ImagePath { image_id: image.clone() };
        self.explain(|url, token| request_text::of(url, token, &Call::<ImageUpload>::at(path.clone())));
        let what = format!("sending {length} bytes to {}", self.chosen.url);
        let sent = self.client.upload::<ImageUpload>(path, opened.into(), length);
        patiently(self.quiet, &what, sent).await.map(|answered| answered.value).map_err(failure)
    }

    /// Follows events until `each` says that it has seen enough.
    pub async fn events(
        &self,
        after: Option<EventPosition>,
        mut each: impl FnMut(CloudEvent) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        self.signed_in()?;
        self.explain(request_text::of_event_stream);
        let mut follower = self.client.events(after.map(EventPosition::get));
        loop {
            let event = follower.next().await.map_err(failure)?;
            if each(event)? {
                return Ok(());
            }
        }
    }

    /// Follows what happens to an allocation until `each` says that it has seen enough, or until the end.
    pub async fn timeline(
        &self,
        path: AllocationPath,
        after: i64,
        mut each: impl FnMut(TimelineEntry) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        self.signed_in()?;
        self.explain(|url, token| request_text::of_timeline(url, token, &path));
        let mut follower = self.client.timeline(&path, after).map_err(failure)?;
        while let Some(entry) = follower.next().await.map_err(failure)? {
            if each(entry)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Opens a stream.
    pub async fn open_stream<E: Endpoint<Query = Nothing, Body = Nothing>>(
        &self,
        path: E::Path,
    ) -> Result<reqwest::Upgraded, Failure> {
        self.signed_in()?;
        self.explain(|url, token| request_text::of(url, token, &Call::<E>::at(path.clone())));
        let what = format!("waiting for {}", self.chosen.url);
        patiently(self.quiet, &what, self.client.open::<E>(path)).await.map_err(failure)
    }

    /// What another run of this program needs to speak to the same server as the same caller.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let token = self.chosen.token.clone().map(|token| ("GPUAAS_TOKEN", token));
        [("GPUAAS_URL", self.chosen.url.clone())].into_iter().chain(token).collect()
    }

    /// What the server answers to GET on a path, as bytes. The token goes along when there is one.
    pub async fn get_raw(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.explain(|url, token| request_text::of_get(url, token, path));
        let address = format!("{}{path}", self.chosen.url);
        let what = format!("waiting for {address}");
        let Fetched { status, request_id, body } = patiently(self.quiet, &what, self.fetch(&address)).await?;
        if status.is_success() {
            return Ok(body);
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(Failure::Refused { problem: Box::new(problem), request_id }),
            Err(_) => Err(Failure::Server(format!("{address} answered {status}"))),
        }
    }

    async fn fetch(&self, address: &str) -> Result<Fetched, Failure> {
        let lost = |error: reqwest::Error| Failure::Server(format!("cannot read {address}: {error}"));
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(RAW_S_MAX))
            .build()
            .map_err(lost)?;
        let mut request = http.get(address);
        if let Some(token) = &self.chosen.token {
            request = request.bearer_auth(token);
        }
        let mut response = request.send().await.map_err(lost)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > RAW_BYTES_MAX {
                return Err(Failure::Server(format!("{address} answers with more than {RAW_BYTES_MAX} bytes")));
            }
        }
        let request_id = response.headers().get(api::headers::REQUEST_ID).and_then(|id| id.to_str().ok());
        Ok(Fetched { status: response.status(), request_id: request_id.map(str::to_owned), body })
    }

    /// The server that is spoken to.
    pub fn server(&self) -> &str {
        &self.chosen.url
    }

    /// Prints one object.
    pub fn print<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        output::object(self.format, value)
    }

    /// Prints something that is meant to be kept in a file: a table of it would be of no use.
    pub fn print_file<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        let format = if self.format == Format::Table { Format::Yaml } else { self.format };
        output::object(format, value)
    }

    /// Prints a list.
    pub fn print_list<T: Serialize>(&self, columns: &Columns, items: Vec<T>) -> Result<(), Failure> {
        output::list(self.format, columns, &items, &Items { items: &items })
    }

    /// Says something to the person at the terminal.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            output::note(&crate::safe::line(text));
        }
    }

    /// Follows an operation to its end, unless that was not wanted, and prints it.
    pub async fn follow_and_print(&self, operation: OperationView, waiting: &Waiting) -> Result<(), Failure> {
        if waiting.no_wait && !waiting.wait {
            return self.print(&operation);
        }
        let ended = follow::to_the_end(self, operation, waiting.timeout).await?;
        follow::print_ended(self, ended)
    }

    /// Splits what was done from what was not. What was not is told at once; the result says whether all, some or none.
    pub fn sorted_out<T>(&self, outcomes: Vec<Result<T, Failure>>) -> (Vec<T>, Result<(), Failure>) {
        let mut done = Vec::new();
        let mut failures = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(value) => done.push(value),
                Err(failure) => failures.push(failure),
            }
        }
        if done.is_empty() && failures.len() == 1 {
            return (done, failures.pop().map_or(Ok(()), Err));
        }
        for text in failures.iter().filter_map(Failure::told) {
            output::note(&text);
        }
        let result = match failures.len() {
            0 => Ok(()),
            failed => Err(Failure::Partial { done: done.len(), failed }),
        };
        (done, result)
    }

    /// The same where nothing is left to print.
    pub fn all_or_partial<T>(&self, outcomes: Vec<Result<T, Failure>>) -> Result<(), Failure> {
        self.sorted_out(outcomes).1
    }
}

/// Whether a request to this server can be read by others on the way.
fn is_open_road(url: &str) -> bool {
    let Ok(url) = url.parse::<reqwest::Url>() else { return false };
    let near = match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    };
    url.scheme() == "http" && !near
}

fn random_key() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Local(format!("the operating system gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unencrypted_roads_past_this_machine_are_open() {
        for near in ["http://127.0.0.1:7070", "http://localhost:1", "http://[::1]:7070", "https://gpu.example"] {
            assert!(!is_open_road(near), "{near}");
        }
        for open in ["http://gpu.example", "http://10.0.0.1:7070"] {
            assert!(is_open_road(open), "{open}");
        }
    }
}
