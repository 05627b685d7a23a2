//! Clients that write as fast as they are answered. Each wish has a name and an `Idempotency-Key` of its own, so that
//! afterwards it can be said of every single one whether it came true, and how often.

use super::{
    PATIENCE,
    book::{Book, Fate},
    dice::Dice,
    ground::{Addresses, Asker, Ground, id},
    http::{Http, Request},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Tenant,
    Region,
    Project,
    Token,
    Launch,
    Release,
}

/// Something a client asked for. Everything else about the request follows from this.
#[derive(Debug, Clone)]
pub struct Wish {
    pub kind: Kind,
    pub number: u64,
    pub desk: usize,
    pub ware: usize,
    /// The allocation to release.
    pub allocation: Option<String>,
}

impl Wish {
    pub fn name(&self, ground: &Ground) -> String {
        format!("{}-{}", ground.run, self.number)
    }

    pub fn key(&self, ground: &Ground) -> String {
        format!("{}:{}", ground.run, self.number)
    }

    /// Who asks.
    pub fn token<'a>(&self, ground: &'a Ground) -> &'a str {
        match self.kind {
            Kind::Tenant | Kind::Region => &ground.operator,
            Kind::Project | Kind::Token | Kind::Launch | Kind::Release => &ground.desks[self.desk].token,
        }
    }

    pub fn request(&self, ground: &Ground) -> Request {
        let name = self.name(ground);
        let desk = &ground.desks[self.desk];
        let (path, body) = match self.kind {
            Kind::Tenant => ("/api/v1/tenants".to_owned(), Some(json!({ "slug": name, "name": "Made under fire" }))),
            Kind::Region => (
                "/api/v1/regions".to_owned(),
                Some(json!({ "slug": name, "name": "Made under fire", "enabled": false })),
            ),
            Kind::Project => (
                format!("/api/v1/tenants/{}/projects", ground.tenant_id),
                Some(json!({ "slug": name, "name": "Made under fire", "gpu_cap": 0 })),
            ),
            Kind::Token => (
                "/api/v1/tokens".to_owned(),
                Some(json!({ "name": name, "scope": "read", "lifetime_s": 86_400, "tenant_id": ground.tenant_id })),
            ),
            Kind::Launch => {
                let (sku_id, gpu_count) = &ground.wares[self.ware];
                let body =
                    json!({ "name": name, "sku_id": sku_id, "gpu_count": gpu_count, "region_id": ground.region_id });
                (format!("/api/v1/projects/{}/allocations", desk.project_id), Some(body))
            }
            Kind::Release => {
                (format!("/api/v1/allocations/{}/release", self.allocation.as_deref().unwrap_or_default()), None)
            }
        };
        Request::post(path, self.token(ground), &self.key(ground), body)
    }
}

/// As many allocations each client holds on to, so that they run for a while before it gives one back.
const HELD_MIN: usize = 2;
/// Clients that outlive every server rest between two wishes: all that they are promised is looked at again.
const PAUSE: Duration = Duration::from_millis(20);
/// A request that has no answer after this long has none.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

struct Worker {
    dice: Dice,
    http: Http,
    desk: usize,
    held: VecDeque<String>,
    /// The last launch was refused.
    full: bool,
}

/// The clients, what they share, and what they remember between two lives of a server.
pub struct Crowd {
    workers: Vec<Worker>,
    numbers: Arc<AtomicU64>,
    pub ground: Arc<Ground>,
    pub addresses: Addresses,
    pub book: Arc<Mutex<Book>>,
}

/// Clients at work.
pub struct Busy {
    tasks: JoinSet<Worker>,
    stop: Arc<AtomicBool>,
    idle: Crowd,
}

impl Crowd {
    pub fn new(size: usize, ground: Arc<Ground>, addresses: &Addresses, dice: &mut Dice) -> Self {
        let worker = |desk| Worker {
            dice: dice.fork(),
            http: Http::default(),
            desk: desk % ground.desks.len(),
            held: VecDeque::new(),
            full: false,
        };
        let (workers, numbers, book) = ((0..size).map(worker).collect(), Arc::default(), Arc::default());
        Self { workers, numbers, addresses: addresses.clone(), book, ground }
    }

    /// Launches so many and waits until each runs; any client may give them back later. A launch that finds no place gives
    /// what it would have needed back first.
    pub async fn launch_until_running(&self, asker: &mut Asker, count: usize) {
        const DESK: usize = 1;
        let (begun, mut running) = (Instant::now(), 0);
        while running < count {
            assert!(begun.elapsed() < PATIENCE, "only {running} of {count} launches came to run");
            let launched = self.ask(asker, Kind::Launch, DESK, None).await;
            match ended_up(asker, &self.ground, DESK, &launched).await.as_str() {
                "running" => {
                    self.book.lock().unwrap().found.push((DESK, launched));
                    running += 1;
                }
                _ => self.give_one_back(asker).await,
            }
        }
    }

    /// Releases one that runs.
    async fn give_one_back(&self, asker: &mut Asker) {
        for (desk, at) in self.ground.desks.iter().enumerate() {
            let all = asker.list(&format!("/api/v1/projects/{}/allocations", at.project_id), &at.token).await;
            let runs = |one: &&Value| one["execution"] == "running" && one["desired"] == "running";
            if let Some(one) = all.iter().find(runs) {
                self.ask(asker, Kind::Release, desk, Some(id(one))).await;
                return;
            }
        }
    }

    /// One wish, answered and written down. Says what it was about.
    async fn ask(&self, asker: &mut Asker, kind: Kind, desk: usize, allocation: Option<String>) -> String {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let wish = Wish { kind, number, desk, ware: 0, allocation };
        let answer = asker.ask(&wish.request(&self.ground)).await;
        let fate = Fate::of(Ok(answer), kind);
        let Fate::Acked(promise) = &fate else { panic!("{wish:?}: {fate:?}") };
        let about = promise.id.clone();
        self.book.lock().unwrap().add(wish, fate);
        about
    }

    /// Lets them loose. Clients of a `mortal` server end when they lose it.
    pub fn begin(mut self, mortal: bool) -> Busy {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for worker in std::mem::take(&mut self.workers) {
            let shift = Shift {
                ground: Arc::clone(&self.ground),
                addresses: self.addresses.clone(),
                book: Arc::clone(&self.book),
                numbers: Arc::clone(&self.numbers),
                stop: Arc::clone(&stop),
                mortal,
            };
            tasks.spawn(shift.run(worker));
        }
        Busy { tasks, stop, idle: self }
    }
}

impl Busy {
    pub fn book(&self) -> Arc<Mutex<Book>> {
        Arc::clone(&self.idle.book)
    }

    /// Waits until every client has ended its last request.
    pub async fn end(mut self) -> Crowd {
        self.stop.store(true, Ordering::Release);
        while let Some(worker) = self.tasks.join_next().await {
            self.idle.workers.push(worker.unwrap());
        }
        self.idle
    }
}

/// Waits until an allocation runs or has ended, and says which.
async fn ended_up(asker: &mut Asker, ground: &Ground, desk: usize, allocation: &str) -> String {
    let (path, begun) = (format!("/api/v1/allocations/{allocation}"), Instant::now());
    loop {
        let found = asker.get(&path, &ground.desks[desk].token).await;
        let state = found["execution"].as_str().unwrap();
        if ["running", "refused", "failed", "released"].contains(&state) {
            return state.to_owned();
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

struct Shift {
    ground: Arc<Ground>,
    addresses: Addresses,
    book: Arc<Mutex<Book>>,
    numbers: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    mortal: bool,
}

impl Shift {
    async fn run(self, mut worker: Worker) -> Worker {
        while !self.stop.load(Ordering::Acquire) {
            let Some(url) = self.addresses.pick(&mut worker.dice) else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            let wish = self.wish(&mut worker);
            let answer = worker.http.send(&url, &wish.request(&self.ground), ANSWER_WITHIN).await;
            let lost = answer.is_err();
            let fate = Fate::of(answer, wish.kind);
            match (&fate, wish.kind) {
                (Fate::NeverSent, Kind::Release) => worker.held.extend(wish.allocation.clone()),
                (Fate::Acked(promise), Kind::Launch) => worker.held.push_back(promise.id.clone()),
                (Fate::Refused(_), Kind::Launch) => worker.full = true,
                _ => {}
            }
            if fate != Fate::NeverSent {
                self.book.lock().unwrap().add(wish, fate);
            }
            if lost && self.mortal {
                break;
            }
            if !self.mortal {
                tokio::time::sleep(PAUSE).await;
            }
        }
        worker
    }

    fn wish(&self, worker: &mut Worker) -> Wish {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (roll, desk) = (worker.dice.below(32), worker.desk);
        // Whole nodes are few; most launches are slices.
        let ware = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3][worker.dice.below(12)];
        let mut wish = Wish { kind: Kind::Launch, number, desk, ware, allocation: None };
        wish.kind = match roll {
            0 => Kind::Tenant,
            1 => Kind::Project,
            2..=9 => Kind::Region,
            // After a refusal the next launch is left out, so that others can give something back.
            10..=12 if !std::mem::take(&mut worker.full) => Kind::Launch,
            13..=15 if worker.held.len() > HELD_MIN => Kind::Release,
            _ => Kind::Token,
        };
        if wish.kind == Kind::Launch
            && let Some(found) = self.book.lock().unwrap().found.pop()
        {
            // A launch whose answer was lost turned out to be there: nobody holds it yet.
            worker.held.push_front(found.1);
            (wish.kind, wish.desk) = (Kind::Release, found.0);
        }
        if wish.kind == Kind::Release {
            wish.allocation = worker.held.pop_front();
        }
        wish
    }
}

impl std::ops::Deref for Busy {
    type Target = Crowd;
    fn deref(&self) -> &Crowd {
        &self.idle
    }
}
