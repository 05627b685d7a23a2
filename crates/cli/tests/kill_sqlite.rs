//! The embedded control plane, with a fleet that really provisions and wipes, killed with SIGKILL under write load again and
//! again: nothing that was acknowledged is lost or doubled, no event is skipped, no slot is held twice.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod process;

use process::{
    Home,
    book::{misuse_a_key, reckon, repeat_some, settle},
    chronicle::Chronicle,
    claims, count,
    dice::{Dice, Seed},
    ground::{Addresses, Asker, Ground, quiet},
    load::Crowd,
    runtime,
    server::{Server, logs_are_clean},
    verify,
};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

const CLIENTS: usize = 10;
/// Lives are too short for much work to end in one. So many times everything may come to rest, and some launches are waited
/// for, so that the next kills find tenants that run.
const RESTS: usize = 10;
/// As many launches are waited for at each rest.
const WAITED_FOR: usize = 2;

fn start(home: &Path) -> Server {
    let folder = home.join("dev");
    let words =
        ["dev", "--data-dir", folder.to_str().unwrap(), "--listen", "127.0.0.1:0", "--instant", "--log", "warn"];
    Server::start(home, "dev", &words)
}

/// The operator's token, from what `dev` prints.
fn operator(server: &Server) -> String {
    loop {
        let line = server.line();
        if let Some(rest) = line.trim_start().strip_prefix("platform_operator") {
            return rest.split_whitespace().next().unwrap().to_owned();
        }
    }
}

/// What a campaign keeps from one life of the server to the next.
struct Campaign<'a> {
    home: &'a Path,
    asker: Asker,
    addresses: Addresses,
    ground: Arc<Ground>,
    chronicle: Chronicle,
    dice: Dice,
    starts: Vec<Duration>,
    claims: usize,
}

impl Campaign<'_> {
    /// One life: look at what the last one left, work, be killed.
    async fn life(&mut self, server: &mut Server, crowd: Crowd, rest: bool) -> Crowd {
        let Self { asker, ground, chronicle, dice, .. } = self;
        settle(asker, ground, &crowd.book).await;
        if rest {
            at_rest(self.home, asker, ground).await;
            crowd.launch_until_running(asker, WAITED_FOR).await;
        }
        repeat_some(asker, ground, &crowd.book, dice, 3).await;
        chronicle.read(asker, ground).await;
        let busy = crowd.begin(true);
        tokio::time::sleep(dice.between_ms(30, 150)).await;
        server.kill();
        self.addresses.remove("dev");
        busy.end().await
    }

    fn start(&mut self) -> Server {
        let server = start(self.home);
        self.starts.push(server.took);
        self.addresses.add("dev", &server.url);
        server
    }

    /// After the last kill: let everything come to rest and reckon up.
    async fn reckoning(&mut self, crowd: &Crowd) {
        let Self { asker, ground, chronicle, .. } = self;
        // Twice: what the first settles is looked at by the second.
        settle(asker, ground, &crowd.book).await;
        settle(asker, ground, &crowd.book).await;
        misuse_a_key(asker, ground, &crowd.book).await;
        let claims = at_rest(self.home, asker, ground).await;
        reckon(asker, ground, &crowd.book).await;
        chronicle.complete(asker, ground, &crowd.book).await;
        let (ran, ended) = (chronicle.ran.len(), chronicle.ended.len());
        assert!(
            claims > 100 && ran >= RESTS * WAITED_FOR && ended > 100,
            "idle: {claims} claims, {ran} ran, {ended} were released"
        );
        self.claims = claims;
    }
}

/// Lets all work end and compares the three who know who holds what: the store, its allocations, and the hosts. Says how
/// many claims there ever were.
async fn at_rest(home: &Path, asker: &mut Asker, ground: &Ground) -> usize {
    let running = quiet(asker, ground, Duration::from_secs(120)).await.into_iter().collect();
    let claims = claims::check(asker, ground).await;
    claims.agree_with(&running, &home.join("dev/fleet"));
    claims.count
}

#[test]
fn kill_sqlite() {
    let seed = Seed::new("kill_sqlite");
    let (kills, begun) = (count(200, 10_000), Instant::now());
    let home = Home::new();
    let runtime = runtime();
    let (mut dice, addresses) = (seed.dice(), Addresses::default());
    let mut server = start(home.path());
    addresses.add("dev", &server.url);
    let mut asker = Asker::new(&addresses, dice.fork());
    let ground = Arc::new(runtime.block_on(Ground::prepare(&mut asker, "load", &operator(&server))));
    let mut crowd = Crowd::new(CLIENTS, Arc::clone(&ground), &addresses, &mut dice);
    let chronicle = Chronicle::default();
    let mut campaign =
        Campaign { home: home.path(), asker, addresses, ground, chronicle, dice, starts: Vec::new(), claims: 0 };
    for number in 0..kills {
        let rest = number.is_multiple_of(kills / RESTS);
        crowd = runtime.block_on(campaign.life(&mut server, crowd, rest));
        server = campaign.start();
    }
    let killed = begun.elapsed();
    runtime.block_on(campaign.reckoning(&crowd));
    server.signal("INT");
    assert_eq!(server.ends_within(Duration::from_secs(5)), Some(0));
    verify(home.path(), &format!("sqlite:{}", home.path().join("dev/store.db").display()));
    logs_are_clean(home.path());
    report(kills, killed, begun.elapsed(), &mut campaign, &crowd);
}

fn report(kills: usize, killed: Duration, all: Duration, campaign: &mut Campaign<'_>, crowd: &Crowd) {
    let tally = crowd.book.lock().unwrap().tally.clone();
    campaign.starts.sort();
    let (starts, chronicle) = (&campaign.starts, &campaign.chronicle);
    eprintln!(
        "kill_sqlite: {kills} kills in {killed:.1?} ({all:.1?} with the reckoning); start-up median {:.0?}, slowest {:.0?}; {} acknowledged, {} refused, {} unknown; {} events; {} claims, {} allocations ran, {} were released",
        starts[starts.len() / 2],
        starts[starts.len() - 1],
        tally.acked,
        tally.refused,
        tally.unknown,
        chronicle.head(),
        campaign.claims,
        chronicle.ran.len(),
        chronicle.ended.len(),
    );
    assert!(tally.acked > 10 * kills && tally.unknown > kills, "there was no load: {tally:?}");
}
