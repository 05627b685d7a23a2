//! What every client was told, and whether it is true. The rules: what was acknowledged is there, once, after every crash;
//! what was refused is not; what got no answer is settled by asking again with the same key, and then the same two rules hold.

use super::{
    dice::Dice,
    ground::{Asker, Ground, id, is_final},
    http::{Answer, Lost, Request},
    load::{Kind, Wish},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
};
use tokio::task::JoinSet;

/// What an acknowledgement said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The thing that was made, or worked on.
    pub id: String,
    /// The operation to follow, for long work.
    pub operation: Option<String>,
    status: u16,
    /// The whole answer, byte for byte.
    hash: u64,
}

/// What is known about a wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It cannot have had an effect.
    NeverSent,
    Acked(Promise),
    Refused(String),
    Unknown,
}

impl Fate {
    pub fn of(answer: Result<Answer, Lost>, kind: Kind) -> Self {
        match answer {
            Err(Lost::BeforeSending) => Self::NeverSent,
            Err(Lost::AfterSending) => Self::Unknown,
            Ok(answer) if !is_final(&answer) => Self::Unknown,
            Ok(answer) if answer.is_success() => Self::Acked(promise(&answer, kind)),
            Ok(answer) => Self::Refused(answer.code()),
        }
    }
}

fn promise(answer: &Answer, kind: Kind) -> Promise {
    let (value, mut hasher) = (answer.json(), DefaultHasher::new());
    answer.bytes.hash(&mut hasher);
    let (id, operation) = match kind {
        Kind::Tenant | Kind::Region | Kind::Project => (id(&value), None),
        Kind::Token => (id(&value["token"]), None),
        Kind::Launch | Kind::Release => (value["subject_id"].as_str().unwrap().to_owned(), Some(id(&value))),
    };
    Promise { id, operation, status: answer.status, hash: hasher.finish() }
}

#[derive(Debug, Clone)]
struct Entry {
    wish: Wish,
    fate: Fate,
}

/// How a run went, in numbers.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub acked: usize,
    pub refused: usize,
    pub unknown: usize,
}

#[derive(Debug, Default)]
pub struct Book {
    entries: Vec<Entry>,
    unknown: Vec<usize>,
    unseen: Vec<usize>,
    /// Launches that were settled later, with their desk, for any client to release.
    pub found: Vec<(usize, String)>,
    pub tally: Tally,
}

impl Book {
    pub fn add(&mut self, wish: Wish, fate: Fate) {
        let at = self.entries.len();
        match &fate {
            Fate::Acked(_) => {
                self.tally.acked += 1;
                self.unseen.push(at);
            }
            Fate::Refused(_) => self.tally.refused += 1,
            Fate::Unknown => {
                self.tally.unknown += 1;
                self.unknown.push(at);
            }
            Fate::NeverSent => return,
        }
        self.entries.push(Entry { wish, fate });
    }

    /// The acknowledged wishes of one kind.
    pub fn acked(&self, kind: Kind) -> impl Iterator<Item = (&Wish, &Promise)> {
        self.entries.iter().filter(move |entry| entry.wish.kind == kind).filter_map(|entry| match &entry.fate {
            Fate::Acked(promise) => Some((&entry.wish, promise)),
            _ => None,
        })
    }

    fn refused(&self) -> impl Iterator<Item = (&Wish, &str)> {
        self.entries.iter().filter_map(|entry| match &entry.fate {
            Fate::Refused(code) => Some((&entry.wish, code.as_str())),
            _ => None,
        })
    }

    fn take_open(&mut self) -> (Vec<(usize, Wish)>, Vec<Entry>) {
        let unknown = std::mem::take(&mut self.unknown).into_iter().map(|at| (at, self.entries[at].wish.clone()));
        let unknown = unknown.collect();
        let unseen = std::mem::take(&mut self.unseen).into_iter().map(|at| self.entries[at].clone()).collect();
        (unknown, unseen)
    }

    fn settle(&mut self, at: usize, fate: Fate) {
        if let (Fate::Acked(promise), Kind::Launch) = (&fate, self.entries[at].wish.kind) {
            self.found.push((self.entries[at].wish.desk, promise.id.clone()));
        }
        assert!(!matches!(fate, Fate::Unknown | Fate::NeverSent));
        self.entries[at].fate = fate;
        self.unseen.push(at);
    }

    fn some_acked(&self, dice: &mut Dice, count: usize) -> Vec<Entry> {
        let picks = (0..count).filter(|_| !self.entries.is_empty()).map(|_| dice.below(self.entries.len()));
        picks.map(|at| self.entries[at].clone()).filter(|entry| matches!(entry.fate, Fate::Acked(_))).collect()
    }
}

/// Asks in parallel, one client for each part of the work.
async fn spread<T: Send + 'static, F>(asker: &mut Asker, work: Vec<T>, run: impl Fn(Asker, Vec<T>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    const CLIENTS: usize = 6;
    let mut parts: Vec<Vec<T>> = (0..CLIENTS).map(|_| Vec::new()).collect();
    work.into_iter().enumerate().for_each(|(at, one)| parts[at % CLIENTS].push(one));
    let mut tasks = JoinSet::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        tasks.spawn(run(asker.fork(), part));
    }
    while let Some(done) = tasks.join_next().await {
        if let Err(error) = done {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// Settles what is open: asks again for what got no answer, and looks for everything that was acknowledged since the last
/// time.
pub async fn settle(asker: &mut Asker, ground: &Arc<Ground>, book: &Arc<Mutex<Book>>) {
    let (unknown, unseen) = book.lock().unwrap().take_open();
    let (shared, kept) = (Arc::clone(ground), Arc::clone(book));
    spread(asker, unknown, move |mut asker, part: Vec<(usize, Wish)>| {
        let (ground, book) = (Arc::clone(&shared), Arc::clone(&kept));
        async move {
            for (at, wish) in part {
                let answer = asker.ask(&wish.request(&ground)).await;
                book.lock().unwrap().settle(at, Fate::of(Ok(answer), wish.kind));
            }
        }
    })
    .await;
    let shared = Arc::clone(ground);
    spread(asker, unseen, move |mut asker, part: Vec<Entry>| {
        let ground = Arc::clone(&shared);
        async move {
            for entry in part {
                look(&mut asker, &ground, &entry).await;
            }
        }
    })
    .await;
}

/// Repeats some wishes that were acknowledged at any time, with their keys: the answers must be the same bytes.
pub async fn repeat_some(asker: &mut Asker, ground: &Ground, book: &Mutex<Book>, dice: &mut Dice, count: usize) {
    let some = book.lock().unwrap().some_acked(dice, count);
    for Entry { wish, fate } in some {
        let answer = asker.ask(&wish.request(ground)).await;
        let again = Fate::of(Ok(answer.clone()), wish.kind);
        assert_eq!(again, fate, "{wish:?} was answered differently the second time: {}", answer.json());
    }
}

/// One look at one acknowledged wish.
async fn look(asker: &mut Asker, ground: &Ground, entry: &Entry) {
    let Entry { wish, fate: Fate::Acked(promise) } = entry else { return };
    let (name, token) = (wish.name(ground), wish.token(ground));
    let (path, field, expected) = match wish.kind {
        Kind::Tenant => (format!("/api/v1/tenants/{}", promise.id), "slug", name),
        Kind::Region => (format!("/api/v1/regions/{}", promise.id), "slug", name),
        Kind::Project => (format!("/api/v1/projects/{}", promise.id), "slug", name),
        Kind::Token => (format!("/api/v1/tokens/{}", promise.id), "name", name),
        Kind::Launch => (format!("/api/v1/allocations/{}", promise.id), "name", name),
        Kind::Release => (format!("/api/v1/allocations/{}", promise.id), "desired", "released".to_owned()),
    };
    let answer = asker.ask(&Request::get(path, token)).await;
    let found = answer.json();
    assert!(answer.status == 200 && found[field] == *expected, "lost: {wish:?}, acknowledged as {promise:?}: {found}");
    if let Some(operation) = &promise.operation {
        let answer = asker.ask(&Request::get(format!("/api/v1/operations/{operation}"), token)).await;
        assert_eq!(answer.status, 200, "lost: operation {operation} of {wish:?}: {}", answer.json());
    }
}

/// Everything there is, as lists show it.
struct Everything {
    /// For each kind that is made under a name: how often the name is there, and as what.
    made: BTreeMap<(Kind, String), Vec<String>>,
    /// For each allocation, the operations that release it.
    releases: HashMap<String, Vec<String>>,
    /// The allocations, by id.
    allocations: HashMap<String, Value>,
}

async fn everything(asker: &mut Asker, ground: &Ground) -> Everything {
    let mut made: BTreeMap<(Kind, String), Vec<String>> = BTreeMap::new();
    let prefix = format!("{}-", ground.run);
    let mut note = |kind: Kind, item: &Value, name: &Value| {
        let name = name.as_str().unwrap();
        if name.starts_with(&prefix) {
            made.entry((kind, name.to_owned())).or_default().push(id(item));
        }
    };
    for (kind, path) in [(Kind::Tenant, "/api/v1/tenants"), (Kind::Region, "/api/v1/regions")] {
        asker.list(path, &ground.operator).await.iter().for_each(|item| note(kind, item, &item["slug"]));
    }
    let projects = asker.list(&format!("/api/v1/tenants/{}/projects", ground.tenant_id), &ground.operator).await;
    projects.iter().for_each(|item| note(Kind::Project, item, &item["slug"]));
    // Both administrators see all tokens of the tenant.
    let tokens = asker.list("/api/v1/tokens", &ground.admins[0]).await;
    tokens.iter().for_each(|item| note(Kind::Token, item, &item["name"]));
    let mut allocations = HashMap::new();
    for desk in &ground.desks {
        for item in asker.list(&format!("/api/v1/projects/{}/allocations", desk.project_id), &desk.token).await {
            note(Kind::Launch, &item, &item["name"]);
            allocations.insert(id(&item), item);
        }
    }
    let mut releases: HashMap<String, Vec<String>> = HashMap::new();
    for operation in asker.list("/api/v1/operations", &ground.operator).await {
        if operation["kind"] == "allocation_release" {
            releases.entry(operation["subject_id"].as_str().unwrap().to_owned()).or_default().push(id(&operation));
        }
    }
    Everything { made, releases, allocations }
}

/// Compares the whole book with everything there is, both ways. Nothing may be open in it.
pub async fn reckon(asker: &mut Asker, ground: &Ground, book: &Mutex<Book>) {
    let mut there = everything(asker, ground).await;
    let book = book.lock().unwrap();
    assert!(book.unknown.is_empty(), "{} wishes are not settled", book.unknown.len());
    for kind in [Kind::Tenant, Kind::Region, Kind::Project, Kind::Token, Kind::Launch] {
        for (wish, promise) in book.acked(kind) {
            let found = there.made.remove(&(kind, wish.name(ground))).unwrap_or_default();
            assert_eq!(found, [promise.id.as_str()], "{wish:?} was acknowledged as {promise:?}");
        }
    }
    assert_eq!(there.made, BTreeMap::new(), "made, though nobody was told so");
    for (wish, promise) in book.acked(Kind::Release) {
        let found = there.releases.remove(&promise.id).unwrap_or_default();
        assert_eq!(found, [promise.operation.as_deref().unwrap()], "{wish:?} was acknowledged as {promise:?}");
        assert_eq!(there.allocations[&promise.id]["desired"], "released", "{wish:?}");
    }
    assert_eq!(there.releases, HashMap::new(), "released, though nobody was told so");
    for (wish, code) in book.refused() {
        match (wish.kind, code) {
            (Kind::Launch, "quota_exceeded") => {}
            // It ended by itself before it could be released.
            (Kind::Release, "state_conflict") => {
                let allocation = &there.allocations[wish.allocation.as_ref().unwrap()];
                let ended = ["refused", "failed"].contains(&allocation["execution"].as_str().unwrap());
                assert!(ended, "{wish:?} was refused with {code} for {allocation}");
            }
            _ => panic!("{wish:?} was refused with {code}"),
        }
    }
}

/// Same key, other body: refused, and nothing happens.
pub async fn misuse_a_key(asker: &mut Asker, ground: &Ground, book: &Mutex<Book>) {
    let wish = book.lock().unwrap().acked(Kind::Project).last().map(|(wish, _)| wish.clone());
    let mut request = wish.expect("a project was made").request(ground);
    request.body = Some(json!({ "slug": format!("{}-other", ground.run), "name": "Other", "gpu_cap": 1 }));
    let answer = asker.ask(&request).await;
    assert_eq!((answer.status, answer.code().as_str()), (422, "idempotency_key_reused"));
}

/// The ids of everything that was acknowledged as made.
pub fn made(book: &Book) -> BTreeSet<String> {
    let kinds = [Kind::Tenant, Kind::Region, Kind::Project, Kind::Token, Kind::Launch];
    kinds.into_iter().flat_map(|kind| book.acked(kind)).map(|(_, promise)| promise.id.clone()).collect()
}
