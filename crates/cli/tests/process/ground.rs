//! Where clients work: a tenant with projects and two administrators, made through the API like everything else, and how to
//! ask a question when any server may be down at any moment.

use super::{
    PATIENCE,
    dice::Dice,
    http::{Answer, Http, Request},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// The addresses of the servers that may answer, for everybody at once.
#[derive(Debug, Clone, Default)]
pub struct Addresses(Arc<Mutex<Vec<(String, String)>>>);

impl Addresses {
    /// A server is reached at this address from now on.
    pub fn add(&self, name: &str, url: &str) {
        self.remove(name);
        self.0.lock().unwrap().push((name.to_owned(), url.to_owned()));
    }

    pub fn remove(&self, name: &str) {
        self.0.lock().unwrap().retain(|(known, _)| known != name);
    }

    pub fn pick(&self, dice: &mut Dice) -> Option<String> {
        let known = self.0.lock().unwrap();
        (!known.is_empty()).then(|| known[dice.below(known.len())].1.clone())
    }

    pub fn of(&self, name: &str) -> Option<String> {
        self.0.lock().unwrap().iter().find(|(known, _)| known == name).map(|(_, url)| url.clone())
    }
}

/// Asks whoever is there, again and again, until there is an answer that means something.
#[derive(Debug)]
pub struct Asker {
    http: Http,
    addresses: Addresses,
    dice: Dice,
}

impl Asker {
    pub fn new(addresses: &Addresses, dice: Dice) -> Self {
        Self { http: Http::default(), addresses: addresses.clone(), dice }
    }

    /// Another one, to ask in parallel.
    pub fn fork(&mut self) -> Self {
        Self::new(&self.addresses, self.dice.fork())
    }

    pub async fn ask(&mut self, request: &Request) -> Answer {
        let begun = Instant::now();
        let mut last = None;
        loop {
            if let Some(url) = self.addresses.pick(&mut self.dice) {
                let answer = self.http.send(&url, request, Duration::from_secs(5)).await;
                match answer {
                    Ok(answer) if is_final(&answer) => return answer,
                    other => last = Some(other),
                }
            }
            assert!(begun.elapsed() < PATIENCE, "{} {}: {last:?}", request.method, request.path);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Reads something that must be there.
    pub async fn get(&mut self, path: &str, token: &str) -> Value {
        let answer = self.ask(&Request::get(path, token)).await;
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.json());
        answer.json()
    }

    /// Creates something that must be accepted.
    pub async fn make(&mut self, path: &str, token: &str, key: &str, body: Value) -> Value {
        let answer = self.ask(&Request::post(path, token, key, Some(body.clone()))).await;
        assert!(answer.is_success(), "POST {path} {body}: {}", answer.json());
        answer.json()
    }

    /// Every item of a list.
    pub async fn list(&mut self, path: &str, token: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut next = format!("{path}?page_size=200");
        loop {
            let mut page = self.get(&next, token).await;
            items.append(page["items"].as_array_mut().unwrap());
            match page["next_page_token"].as_str() {
                Some(token) => next = format!("{path}?page_size=200&page_token={token}"),
                None => return items,
            }
        }
    }
}

/// Whether an answer settles what became of the request. Trouble on the server's side, a full allowance, and a first try that
/// is still running do not.
pub fn is_final(answer: &Answer) -> bool {
    answer.status < 500 && answer.status != 429 && answer.code() != "request_in_flight"
}

/// A project to work in, and somebody who may.
#[derive(Debug, Clone)]
pub struct Desk {
    pub project_id: String,
    pub token: String,
}

#[derive(Debug)]
pub struct Ground {
    /// A word in front of every name and key of this run.
    pub run: String,
    pub operator: String,
    pub tenant_id: String,
    pub region_id: String,
    /// What can be launched: SKU and number of GPUs, the common ones first.
    pub wares: Vec<(String, i64)>,
    pub desks: Vec<Desk>,
    /// The tokens of the administrators, each once.
    pub admins: Vec<String>,
}

impl Ground {
    pub async fn prepare(asker: &mut Asker, run: &str, operator: &str) -> Self {
        let tenant = json!({ "slug": run, "name": "Load" });
        let tenant = asker.make("/api/v1/tenants", operator, &format!("{run}-tenant"), tenant).await;
        let tenant_id = id(&tenant);
        let in_tenant = |noun: &str| format!("/api/v1/tenants/{tenant_id}/{noun}");
        usable(asker, &format!("/api/v1/tenants/{tenant_id}"), operator).await;
        let mut admins = Vec::new();
        for number in 0..2 {
            let (email, key) = (format!("admin-{number}@{run}.example"), format!("{run}-admin-{number}"));
            let body = json!({ "subject": { "email": email }, "role": "tenant_admin" });
            let member = asker.make(&in_tenant("members"), operator, &key, body).await;
            let body = json!({ "name": "load", "scope": "write", "lifetime_s": 86_400 * 7, "tenant_id": tenant_id,
                "principal_id": member["principal_id"] });
            let token = asker.make("/api/v1/tokens", operator, &format!("{key}-token"), body).await;
            admins.push(token["secret"].as_str().unwrap().to_owned());
        }
        let mut desks = Vec::new();
        for number in 0..4 {
            // One of them is so small that launches in it are refused again and again.
            let gpu_cap = if number == 0 { 3 } else { 64 };
            let body = json!({ "slug": format!("desk-{number}"), "name": "Desk", "gpu_cap": gpu_cap });
            let made = asker.make(&in_tenant("projects"), operator, &format!("{run}-desk-{number}"), body).await;
            usable(asker, &format!("/api/v1/projects/{}", id(&made)), operator).await;
            desks.push(Desk { project_id: id(&made), token: admins[number % 2].clone() });
        }
        let named = |items: &[Value], slug: &str| id(items.iter().find(|item| item["slug"] == slug).unwrap());
        let region_id = named(&asker.list("/api/v1/regions", operator).await, "eu-north");
        let skus = asker.list("/api/v1/skus", operator).await;
        let wares = [("h200-sxm-slice", 1), ("a100-sxm-slice", 1), ("h200-sxm-slice", 2), ("h200-sxm-baremetal", 8)];
        let wares = wares.into_iter().map(|(slug, gpus)| (named(&skus, slug), gpus)).collect();
        let (run, operator) = (run.to_owned(), operator.to_owned());
        Self { run, operator, tenant_id, region_id, wares, desks, admins }
    }
}

pub fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

/// Waits until the driver has made a tenant or project usable.
async fn usable(asker: &mut Asker, path: &str, token: &str) {
    let begun = Instant::now();
    while asker.get(path, token).await["execution"] != "active" {
        assert!(begun.elapsed() < PATIENCE, "{path} does not become usable");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until no work is under way: every allocation runs or has ended. Says how many run.
pub async fn quiet(asker: &mut Asker, ground: &Ground, within: Duration) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let (mut running, mut moving) = (Vec::new(), Vec::new());
        for desk in &ground.desks {
            for one in asker.list(&format!("/api/v1/projects/{}/allocations", desk.project_id), &desk.token).await {
                match (one["execution"].as_str().unwrap(), one["desired"].as_str().unwrap()) {
                    ("running", "running") => running.push(id(&one)),
                    ("released" | "refused" | "failed", _) => {}
                    _ => moving.push(one),
                }
            }
        }
        if moving.is_empty() {
            return running;
        }
        if begun.elapsed() > within {
            let shown: Vec<String> = moving.iter().take(5).map(Value::to_string).collect();
            let waits = asker.get("/api/v1/admin/waits", &ground.operator).await;
            panic!("{} allocations still move after {within:?}:\n{}\n{waits}", moving.len(), shown.join("\n"));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What the platform says about itself.
pub async fn status(asker: &mut Asker, ground: &Ground) -> (String, i64) {
    let status = asker.get("/api/v1/admin/status", &ground.operator).await;
    (status["leader"].as_str().unwrap_or_default().to_owned(), status["epoch"].as_i64().unwrap())
}

/// Waits until another replica leads, in a later epoch.
pub async fn taken_over(asker: &mut Asker, ground: &Ground, from: &str, epoch: i64, within: Duration) -> (String, i64) {
    let begun = Instant::now();
    loop {
        let (leader, now) = status(asker, ground).await;
        if now > epoch && leader != from && !leader.is_empty() {
            return (leader, now);
        }
        assert!(begun.elapsed() < within, "nobody took over from {from} in epoch {epoch} within {within:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
