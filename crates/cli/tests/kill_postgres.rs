//! Three replicas on PostgreSQL under write load. The leader is killed, or paused until another leads; the database itself
//! crashes. Each time another goes on in a later epoch, nothing that was acknowledged is lost or doubled, no event is
//! skipped, and no slot is held twice.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod process;

use process::{
    alarms,
    book::{misuse_a_key, reckon, repeat_some, settle},
    chronicle::Chronicle,
    claims, count,
    dice::{Dice, Seed},
    ground::{Asker, Ground, quiet, status, taken_over},
    http::{Http, Request},
    load::{Busy, Crowd},
    replicas::Replicas,
    runtime,
    server::logs_are_clean,
    until, verify,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

const CLIENTS: usize = 10;

/// Two cores are few for three replicas, a database and a fleet: one campaign at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replicas with clients at work.
struct Campaign {
    replicas: Replicas,
    asker: Asker,
    ground: Arc<Ground>,
    chronicle: Chronicle,
    dice: Dice,
    runtime: Runtime,
    busy: Option<Busy>,
}

impl Campaign {
    fn begin(seed: &Seed) -> Self {
        let (runtime, mut dice) = (runtime(), seed.dice());
        let (replicas, asker, ground) = Replicas::start(&runtime, &mut dice);
        let crowd = Crowd::new(CLIENTS, Arc::clone(&ground), &replicas.addresses, &mut dice);
        let busy = runtime.block_on(async { crowd.begin(false) });
        Self { replicas, asker, ground, chronicle: Chronicle::default(), dice, runtime, busy: Some(busy) }
    }

    /// Lets the clients work for a while.
    fn work(&mut self, least_ms: u64, most_ms: u64) {
        let span = self.dice.between_ms(least_ms, most_ms);
        self.runtime.block_on(async { tokio::time::sleep(span).await });
    }

    fn leader(&mut self) -> (String, i64) {
        self.runtime.block_on(status(&mut self.asker, &self.ground))
    }

    fn taken_over(&mut self, from: &str, epoch: i64, within: Duration) -> (String, i64) {
        self.runtime.block_on(taken_over(&mut self.asker, &self.ground, from, epoch, within))
    }

    /// Settles what is open while the clients go on.
    fn check(&mut self) {
        let Self { asker, ground, chronicle, dice, runtime, busy, .. } = self;
        let book = busy.as_ref().unwrap().book();
        runtime.block_on(async {
            settle(asker, ground, &book).await;
            repeat_some(asker, ground, &book, dice, 5).await;
            chronicle.read(asker, ground).await;
        });
    }

    /// Sends the clients home, lets everything come to rest, and reckons up.
    fn reckoning(&mut self) -> String {
        let Self { replicas, asker, ground, chronicle, runtime, busy, .. } = self;
        let crowd = runtime.block_on(busy.take().unwrap().end());
        runtime.block_on(async {
            // Twice: what the first settles is looked at by the second.
            settle(asker, ground, &crowd.book).await;
            settle(asker, ground, &crowd.book).await;
            misuse_a_key(asker, ground, &crowd.book).await;
            let running = quiet(asker, ground, Duration::from_secs(120)).await.into_iter().collect();
            reckon(asker, ground, &crowd.book).await;
            chronicle.complete(asker, ground, &crowd.book).await;
            claims::check(asker, ground).await.agree_with(&running, &replicas.fleet_folder());
        });
        verify(replicas.home.path(), &replicas.url);
        logs_are_clean(replicas.home.path());
        alarms::none_raised();
        let (ran, ended) = (chronicle.ran.len(), chronicle.ended.len());
        let tally = crowd.book.lock().unwrap().tally.clone();
        assert!(tally.acked > 500 && ran > 5 && ended > 5, "there was no load: {tally:?}, {ran} ran, {ended} ended");
        format!("{tally:?}, {} events, {ran} allocations ran, {ended} were released", chronicle.head())
    }
}

fn longest(times: &[Duration]) -> Duration {
    times.iter().copied().max().unwrap_or_default()
}

#[test]
fn kill_postgres_leader() {
    let _alone = alone();
    let (seed, kills, begun) = (Seed::new("kill_postgres_leader"), count(20, 300), Instant::now());
    let mut campaign = Campaign::begin(&seed);
    let mut times = Vec::new();
    for _ in 0..kills {
        campaign.work(200, 600);
        let (leader, epoch) = campaign.leader();
        campaign.replicas.kill(&leader);
        let silent = Instant::now();
        let (next, _) = campaign.taken_over(&leader, epoch, Duration::from_secs(30));
        times.push(silent.elapsed());
        assert!(campaign.replicas.servers.iter().any(|server| server.name == next));
        campaign.replicas.restart(&leader);
        campaign.check();
    }
    let told = campaign.reckoning();
    let (took, slowest) = (begun.elapsed(), longest(&times));
    eprintln!("kill_postgres_leader: {kills} kills in {took:.1?}; slowest take-over {slowest:.1?}; {told}");
}

#[test]
fn a_paused_leader_comes_back_to_nothing() {
    let _alone = alone();
    let (seed, pauses, begun) = (Seed::new("a_paused_leader_comes_back_to_nothing"), count(5, 100), Instant::now());
    let mut campaign = Campaign::begin(&seed);
    let mut times = Vec::new();
    for _ in 0..pauses {
        campaign.work(200, 600);
        let (leader, epoch) = campaign.leader();
        campaign.replicas.named(&leader).signal("STOP");
        campaign.replicas.addresses.remove(&leader);
        let silent = Instant::now();
        // The lease's time, and the time after which the database ends a transaction that somebody left open.
        campaign.taken_over(&leader, epoch, Duration::from_secs(20));
        times.push(silent.elapsed());
        campaign.work(100, 300);
        come_back(&mut campaign, &leader, epoch);
        campaign.check();
    }
    let told = campaign.reckoning();
    let (took, slowest) = (begun.elapsed(), longest(&times));
    eprintln!(
        "a_paused_leader_comes_back_to_nothing: {pauses} pauses in {took:.1?}; slowest take-over {slowest:.1?}; {told}"
    );
}

/// Wakes a leader that was overtaken: it must find out that its epoch is over, and then serve on as a follower.
fn come_back(campaign: &mut Campaign, name: &str, epoch: i64) {
    let Campaign { replicas, runtime, ground, .. } = campaign;
    let server = replicas.named(name);
    let from = server.log_length();
    server.signal("CONT");
    let overtaken = |text: &str| {
        text.lines().any(|line| line.contains("no longer leading") && line.contains(&format!("epoch={epoch}")))
    };
    let (url, operator) = (server.url.clone(), ground.operator.clone());
    runtime.block_on(async {
        let what = format!("{name} sees that epoch {epoch} is over");
        until(&what, Duration::from_secs(30), async || overtaken(&server.logged_since(from)).then_some(())).await;
        let request = Request::get("/api/v1/admin/status", &operator);
        let answer = Http::default().send(&url, &request, Duration::from_secs(10)).await.unwrap().json();
        assert_eq!(answer["replica"], *name, "{answer}");
        assert!(answer["leader"] != *name && answer["epoch"].as_i64().unwrap() > epoch, "{answer}");
    });
    replicas.addresses.add(name, &url);
}

#[test]
fn the_database_crashes_and_comes_back() {
    let _alone = alone();
    let (seed, crashes, begun) = (Seed::new("the_database_crashes_and_comes_back"), count(6, 200), Instant::now());
    let mut campaign = Campaign::begin(&seed);
    for _ in 0..crashes {
        campaign.work(200, 800);
        campaign.replicas.cluster.crash();
        campaign.work(50, 1500);
        campaign.replicas.cluster.revive();
        campaign.check();
        for server in &mut campaign.replicas.servers {
            assert!(server.is_running(), "{} did not survive the loss of its database", server.name);
        }
    }
    let told = campaign.reckoning();
    eprintln!("the_database_crashes_and_comes_back: {crashes} crashes in {:.1?}; {told}", begun.elapsed());
}
