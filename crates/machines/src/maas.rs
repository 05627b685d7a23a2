//! A MAAS server as provider of machines, over its published API 2.0 (MAAS 2.9 or later, where a machine has workload
//! annotations).
//!
//! How a deployment is recognised: MAAS takes one allocated machine and installs it, and refuses to install one that is
//! already being installed. So the order's mark is written as a workload annotation while the machine is only allocated;
//! MAAS shows it with the machine and removes it when the machine is given back. The allocation itself carries the mark as
//! its agent name, which MAAS does not show but can be asked for, so even an allocation whose answer was lost is recognised.
//!
//! Two habits of MAAS are guarded against: asked for a machine that is not free, it may compose a virtual machine elsewhere
//! and give that; and an answer of 409 does not say which state is in the way, so the machine is read again.
//!
//! The key goes out in every request as it is (OAuth PLAINTEXT), so plain HTTP is refused except to this very host.

mod form;
mod http;
mod oauth;
mod wire;

use crate::{
    fault::Fault,
    machine::{Machine, MachineStatus, OrderMark, ProviderId, TagName},
    plan::{self, Allocation, Rest},
    provider::{Answer, BreakOrder, DeployOrder, Erase, MachineProvider, ReleaseOrder},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use form::Form;
use http::{Connection, Request};
pub use oauth::{ApiKey, Signing};

/// Where the server is and how long it is waited for.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its address, such as `https://maas.example:5443/MAAS`.
    pub url: String,
    /// Its key.
    pub key: ApiKey,
    /// Send the key over plain HTTP to another host too. For a network that somebody else protects.
    pub plain_http_allowed: bool,
    /// Certificates (PEM) to trust besides the system's, for a server with a private authority.
    pub extra_roots_pem: Vec<u8>,
    /// What an answer may cost.
    pub limits: Limits,
}

/// What an answer may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands.
    pub connect_ms: u64,
    /// Until the whole answer is there.
    pub answer_ms: u64,
    /// One machine, or a list of tags.
    pub answer_bytes: usize,
    /// The list of all machines; MAAS writes some 50 KiB for each.
    pub list_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // A busy MAAS takes tens of seconds to list a large fleet, and its own proxy gives up after a minute.
        Self { connect_ms: 5_000, answer_ms: 70_000, answer_bytes: 4 << 20, list_bytes: 256 << 20 }
    }
}

/// What the mark is written under.
const MARK_KEY: &str = "gpuaas-order";

/// A MAAS server.
#[derive(Debug)]
pub struct Maas {
    connection: Connection,
}

impl Maas {
    /// A client for the server. Nothing is sent yet.
    pub fn new(settings: &Settings, signing: Signing) -> Result<Self, Fault> {
        Ok(Self { connection: Connection::new(settings, signing)? })
    }

    async fn read(&self, id: &ProviderId) -> Result<Machine, Fault> {
        let request = Request::get(format!("reading machine {id}"), &["machines", id.as_str()]).about(id);
        let seen = wire::machine(&request.what, &self.connection.send(&request).await?)?;
        same(&request.what, id, seen)
    }

    async fn change(&self, what: &str, id: &ProviderId, op: &'static str, form: Form) -> Result<Machine, Fault> {
        let request =
            Request::post(format!("{what} machine {id}"), &["machines", id.as_str()]).op(op).form(form).about(id);
        let body = self.connection.send(&request).await?;
        // Some versions answer a change with nothing; then the machine tells what came of it.
        if body.is_empty() {
            return self.read(id).await;
        }
        same(&request.what, id, wire::machine(&request.what, &body)?)
    }

    async fn take(&self, id: &ProviderId, mark: &OrderMark) -> Result<Machine, Fault> {
        let form = Form::new()
            .with("system_id", id.as_str())
            .with("agent_name", mark.as_str())
            .with("comment", &format!("gpuaas order {mark}"));
        let request =
            Request::post(format!("allocating machine {id}"), &["machines"]).op("allocate").form(form).about(id);
        let taken = wire::machine(&request.what, &self.connection.send(&request).await?)?;
        if taken.id == *id {
            return Ok(taken);
        }
        // It was given to us by this very call and nothing is on it; keeping it would leak it.
        let given_back = taken.status == MachineStatus::Allocated
            && self
                .change("giving back", &taken.id, "release", Form::new().with("comment", "not asked for"))
                .await
                .is_ok();
        Err(Fault::WrongMachine { expected: id.clone(), found: taken.id, given_back })
    }

    /// Whether the machine was allocated with this mark as its agent name.
    async fn taken_with(&self, id: &ProviderId, mark: &OrderMark) -> Result<bool, Fault> {
        let request = Request::get(format!("asking whose machine {id} is"), &["machines"])
            .query("id", id.as_str())
            .query("agent_name", mark.as_str());
        let found = wire::machines(&request.what, &self.connection.send(&request).await?)?;
        // Only this machine can be in the answer. A server that ignores the filter would show more, and prove nothing.
        Ok(matches!(found.as_slice(), [only] if only.id == *id))
    }

    async fn write_mark(&self, id: &ProviderId, mark: &OrderMark) -> Result<Machine, Fault> {
        let form = Form::new().with(MARK_KEY, mark.as_str());
        let marked = self.change("marking", id, "set_workload_annotations", form).await?;
        // The answer may be older than the annotation; only what is read back counts.
        let seen = if marked.carries(mark) { marked } else { self.read(id).await? };
        if seen.carries(mark) { Ok(seen) } else { Err(plan::conflict(&seen, "marked with this order", "")) }
    }

    async fn allocate_now(&self, id: &ProviderId, mark: &OrderMark) -> Result<Machine, Fault> {
        let mut seen = self.read(id).await?;
        if plan::allocation(&seen, mark)? == Allocation::Take {
            seen = match self.take(id, mark).await {
                Ok(_) => return self.write_mark(id, mark).await,
                Err(Fault::Conflict { .. }) => self.read(id).await?,
                Err(fault) => return Err(fault),
            };
        }
        match plan::allocation(&seen, mark)? {
            Allocation::Done => Ok(seen),
            Allocation::Unmarked if self.taken_with(id, mark).await? => self.write_mark(id, mark).await,
            Allocation::Unmarked => Err(plan::conflict(&seen, "taken by this order", "it was taken by somebody else")),
            Allocation::Take => Err(plan::conflict(&seen, "free to take", "the provider would not give it")),
        }
    }

    async fn deploy_now(&self, id: &ProviderId, order: &DeployOrder) -> Result<Machine, Fault> {
        let seen = self.read(id).await?;
        if plan::deployment(&seen, order.mark())? == Rest::Done {
            return Ok(seen);
        }
        let mut form = Form::new()
            .with("osystem", order.system())
            .with("distro_series", order.image())
            .with("comment", &format!("gpuaas order {}", order.mark()));
        if let Some(kernel) = order.kernel() {
            form = form.with("hwe_kernel", kernel);
        }
        if !order.user_data().as_bytes().is_empty() {
            form =
                form.secret("user_data", order.user_data().as_bytes(), &STANDARD.encode(order.user_data().as_bytes()));
        }
        match self.change("deploying", id, "deploy", form).await {
            Err(Fault::Conflict { .. }) => self.settle(id, |seen| plan::deployment(seen, order.mark())).await,
            answer => answer,
        }
    }

    async fn release_now(&self, id: &ProviderId, order: &ReleaseOrder) -> Result<Machine, Fault> {
        let seen = self.read(id).await?;
        if plan::release(&seen, order)? == Rest::Done {
            return Ok(seen);
        }
        let yes = |wanted: bool| if wanted { "true" } else { "false" };
        // All three are said each time: what is left out is decided by a setting of the server.
        let form = Form::new()
            .with("comment", &order.comment)
            .with("erase", yes(order.erase != Erase::None))
            .with("secure_erase", yes(order.erase == Erase::Secure))
            .with("quick_erase", yes(order.erase == Erase::Quick));
        match self.change("releasing", id, "release", form).await {
            Err(Fault::Conflict { .. }) => self.settle(id, |seen| plan::release(seen, order)).await,
            answer => answer,
        }
    }

    async fn break_now(&self, id: &ProviderId, order: &BreakOrder) -> Result<Machine, Fault> {
        let seen = self.read(id).await?;
        if plan::breaking(&seen, order)? == Rest::Done {
            return Ok(seen);
        }
        let form = Form::new().with("comment", &order.comment);
        match self.change("marking as broken", id, "mark_broken", form).await {
            Err(Fault::Conflict { .. }) => self.settle(id, |seen| plan::breaking(seen, order)).await,
            answer => answer,
        }
    }

    /// After a refusal because of the machine's state: another call of the same order may have been faster.
    async fn settle(
        &self,
        id: &ProviderId,
        rest: impl FnOnce(&Machine) -> Result<Rest, Fault>,
    ) -> Result<Machine, Fault> {
        let seen = self.read(id).await?;
        match rest(&seen)? {
            Rest::Done => Ok(seen),
            Rest::Act => Err(plan::conflict(&seen, "in a state that allows it", "the provider refused")),
        }
    }

    async fn list_now(&self) -> Result<Vec<Machine>, Fault> {
        let request = Request::get("listing machines".to_owned(), &["machines"]).long();
        wire::machines(&request.what, &self.connection.send(&request).await?)
    }

    async fn tags_now(&self) -> Result<Vec<String>, Fault> {
        let request = Request::get("listing tags".to_owned(), &["tags"]);
        wire::tags(&request.what, &self.connection.send(&request).await?)
    }

    async fn tag_now(&self, id: &ProviderId, name: &TagName) -> Result<(), Fault> {
        let counted = match self.update_nodes(name, "add", id).await {
            Err(Fault::NotFound { .. }) => {
                self.tag_make(name).await?;
                self.update_nodes(name, "add", id).await?
            }
            counted => counted?,
        };
        match counted.added {
            0 => Err(Fault::NotFound { what: format!("machine {id}") }),
            _ => Ok(()),
        }
    }

    async fn tag_make(&self, name: &TagName) -> Result<(), Fault> {
        let form = Form::new().with("name", name.as_str()).with("comment", "Made by gpuaas.");
        let request = Request::post(format!("making tag {name}"), &["tags"]).form(form);
        match self.connection.send(&request).await {
            Ok(_) => Ok(()),
            // Somebody else may have made it in between; then it is there now.
            Err(fault @ Fault::Refused { status: 400, .. }) => {
                if self.tags_now().await?.iter().any(|tag| tag == name.as_str()) { Ok(()) } else { Err(fault) }
            }
            Err(fault) => Err(fault),
        }
    }

    async fn untag_now(&self, id: &ProviderId, name: &TagName) -> Result<(), Fault> {
        match self.update_nodes(name, "remove", id).await {
            Ok(_) | Err(Fault::NotFound { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    async fn update_nodes(&self, name: &TagName, how: &'static str, id: &ProviderId) -> Result<wire::Counted, Fault> {
        let request = Request::post(format!("updating tag {name}"), &["tags", name.as_str()])
            .op("update_nodes")
            .form(Form::new().with(how, id.as_str()));
        wire::counted(&request.what, &self.connection.send(&request).await?)
    }
}

/// An answer about another machine is no answer.
fn same(what: &str, id: &ProviderId, seen: Machine) -> Result<Machine, Fault> {
    if seen.id == *id {
        return Ok(seen);
    }
    Err(Fault::Unparsable {
        what: what.to_owned(),
        expected: format!("about machine {id}"),
        found: format!("it is about {}", seen.id),
    })
}

impl MachineProvider for Maas {
    fn list(&self) -> Answer<'_, Vec<Machine>> {
        Box::pin(self.list_now())
    }
    fn machine<'a>(&'a self, id: &'a ProviderId) -> Answer<'a, Machine> {
        Box::pin(self.read(id))
    }
    fn allocate<'a>(&'a self, id: &'a ProviderId, mark: &'a OrderMark) -> Answer<'a, Machine> {
        Box::pin(self.allocate_now(id, mark))
    }
    fn deploy<'a>(&'a self, id: &'a ProviderId, order: &'a DeployOrder) -> Answer<'a, Machine> {
        Box::pin(self.deploy_now(id, order))
    }
    fn release<'a>(&'a self, id: &'a ProviderId, order: &'a ReleaseOrder) -> Answer<'a, Machine> {
        Box::pin(self.release_now(id, order))
    }
    fn mark_broken<'a>(&'a self, id: &'a ProviderId, order: &'a BreakOrder) -> Answer<'a, Machine> {
        Box::pin(self.break_now(id, order))
    }
    fn tag<'a>(&'a self, id: &'a ProviderId, name: &'a TagName) -> Answer<'a, ()> {
        Box::pin(self.tag_now(id, name))
    }
    fn untag<'a>(&'a self, id: &'a ProviderId, name: &'a TagName) -> Answer<'a, ()> {
        Box::pin(self.untag_now(id, name))
    }
    fn tags(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.tags_now())
    }
}
