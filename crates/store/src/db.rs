//! The handle that everything else holds. [`Db::write`] and [`Db::read`] take a closure; the closure runs on an engine's
//! own thread with an open transaction, possibly several times (lost races are retried, at most
//! [`TRIES_MAX`](crate::TRIES_MAX) tries in all), so it must not have effects of its own. It must not call the `Db`
//! again either: the thread that would serve that call is the one waiting for it.
//!
//! | engine | writes | reads |
//! |---|---|---|
//! | `sqlite:PATH` | one thread, one connection, group commit | a few read-only connections, each on its thread |
//! | `sqlite::memory:` | one thread, one connection | the same thread |
//! | `postgres://…` | some connections, each on its thread; group commit when the line is long | some more |
//! | inline (simulator) | the caller's thread | the caller's thread |
//!
//! A failed COMMIT is unknown. On SQLite the store is then poisoned: every later call answers
//! [`StoreError::Poisoned`] and [`Db::on_poison`] callbacks run, so that the process can exit and recover. On
//! PostgreSQL the connection is dropped, and the caller finds out by asking again with the same idempotency key.

use std::{
    future::Future,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use model::Timestamp;
use tokio::sync::oneshot;

use crate::{
    Dialect, StoreError, Tx,
    inline::{CommitFaults, Inline},
    job::{Job, Reply},
    migrate::{self, MIGRATIONS, Migration, Opening},
    postgres::PostgresSession,
    queue::Queue,
    run::{Engine, Poison, Tally, Worker},
    sqlite::{FileHold, Role, SqliteSession},
};

/// How to open a store.
#[derive(Debug, Clone)]
pub struct DbConfig {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://…`.
    pub url: String,
    /// Connections that only read.
    pub readers: usize,
    /// Connections that write; SQLite always has one.
    pub writers: usize,
    /// How many calls may wait before the next is answered [`StoreError::Busy`].
    pub queue: usize,
    /// How many write closures may share one commit on SQLite.
    pub batch_sqlite: usize,
    /// The same on PostgreSQL, where the row locks of all of them are held until that commit.
    pub batch_postgres: usize,
    /// How long a blocked call waits for room in the line, and SQLite for a lock held by another program.
    pub patience: Duration,
    /// The id of a store that does not exist yet; random when not given.
    pub store_id: Option<String>,
    /// When this is, for the record of migrations; the start of Unix time when not given.
    pub now: Timestamp,
    /// The migrations to run; tests of upgrades give fewer than all.
    pub migrations: &'static [Migration],
}

impl DbConfig {
    /// The usual settings for an address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            readers: 4,
            writers: 8,
            queue: 4096,
            batch_sqlite: 256,
            batch_postgres: 32,
            patience: Duration::from_secs(5),
            store_id: None,
            now: Timestamp::from_micros(0),
            migrations: MIGRATIONS,
        }
    }
}

/// Counts since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Write closures whose changes were committed.
    pub closures: u64,
    /// Commits that carried them.
    pub commits: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Write calls waiting now.
    pub waiting: usize,
}

/// A store. Cheap to clone; the last clone to go ends its threads after they have served everybody in line.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db").field("dialect", &self.inner.dialect).field("counts", &self.counts()).finish()
    }
}

enum Route {
    Queued { writes: Arc<Queue>, reads: Arc<Queue> },
    Inline(Mutex<Inline>),
}

struct Inner {
    dialect: Dialect,
    route: Route,
    patience: Duration,
    poison: Arc<Poison>,
    tally: Arc<Tally>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    // Let go only after the threads have closed their connections.
    _hold: Option<FileHold>,
    #[cfg(feature = "testing")]
    sabotage: Option<Arc<crate::testing::Sabotage>>,
}

impl Inner {
    fn new(dialect: Dialect, route: Route, patience: Duration) -> Self {
        Self {
            dialect,
            route,
            patience,
            poison: Arc::default(),
            tally: Arc::default(),
            threads: Mutex::default(),
            _hold: None,
            #[cfg(feature = "testing")]
            sabotage: None,
        }
    }

    /// Starts `count` threads that serve one line, each with the session that `open` makes on it.
    fn spawn<S: Engine>(
        &self,
        name: &str,
        queue: &Arc<Queue>,
        plan: Plan,
        open: impl Fn() -> Result<S, StoreError> + Send + Clone + 'static,
    ) -> Result<(), StoreError> {
        for _ in 0..plan.threads {
            let (queue, poison, tally) = (Arc::clone(queue), Arc::clone(&self.poison), Arc::clone(&self.tally));
            let (open, (opened, wait)) = (open.clone(), mpsc::sync_channel(1));
            let serve = move || match open() {
                Err(error) => drop(opened.send(Err(error))),
                Ok(mut session) => {
                    let _ = opened.send(Ok(()));
                    let Plan { writes, batch, .. } = plan;
                    Worker { queue: &queue, poison: &poison, tally: &tally, writes, batch }.serve(&mut session);
                }
            };
            let thread = thread::Builder::new().name(name.to_owned()).spawn(serve);
            let thread = thread.map_err(|error| StoreError::Refused(format!("no thread for the store: {error}")))?;
            lock(&self.threads).push(thread);
            wait.recv().unwrap_or_else(|_| Err(StoreError::Refused("a store thread ended at its start".into())))?;
        }
        Ok(())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Route::Queued { writes, reads } = &self.route else { return };
        let closed = StoreError::Unavailable("the store is closed".into());
        writes.close(closed.clone());
        reads.close(closed);
        let this = thread::current().id();
        for thread in lock(&self.threads).drain(..) {
            // A closure may own the last clone; its thread cannot wait for itself.
            if thread.thread().id() != this {
                let _ = thread.join();
            }
        }
    }
}

/// How the threads of one line work.
#[derive(Clone, Copy)]
struct Plan {
    writes: bool,
    batch: usize,
    threads: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these locks guard is whole at every moment, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Db {
    /// Opens a store, creates it if it is new, and migrates it.
    pub fn open(config: &DbConfig) -> Result<Self, StoreError> {
        let store_id = config.store_id.clone().map_or_else(random_id, Ok)?;
        let opening = Opening { store_id: &store_id, at: config.now, known: config.migrations };
        match config.url.split_once(':') {
            Some(("sqlite", ":memory:")) => Self::open_memory(config, &opening),
            Some(("sqlite", path)) if !path.is_empty() => Self::open_file(config, PathBuf::from(path), &opening),
            Some(("postgres" | "postgresql", _)) => Self::open_postgres(config, &opening),
            _ => Err(StoreError::Refused("expected sqlite:PATH, sqlite::memory: or postgres://HOST/DATABASE".into())),
        }
    }

    /// Opens a store that exists, to look at it and nothing else: it is not migrated, every write is refused, and an
    /// embedded store may be in use by another process meanwhile.
    pub fn open_for_reading(config: &DbConfig) -> Result<Self, StoreError> {
        let (writes, reads) = (Arc::new(Queue::new(1)), Arc::new(Queue::new(config.queue)));
        writes.close(StoreError::Refused("it was opened for reading only".into()));
        let route = Route::Queued { writes, reads: Arc::clone(&reads) };
        let plan = Plan { writes: false, batch: 1, threads: config.readers.max(1) };
        let inner = match config.url.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() && path != ":memory:" => {
                let (path, patience) = (PathBuf::from(path), config.patience);
                let inner = Inner::new(Dialect::Sqlite, route, patience);
                inner.spawn("store-read", &reads, plan, move || SqliteSession::open(&path, Role::Reader, patience))?;
                inner
            }
            Some(("postgres" | "postgresql", _)) => {
                let address = PostgresSession::address(&config.url)?;
                let inner = Inner::new(Dialect::Postgres, route, config.patience);
                inner.spawn("store-read", &reads, plan, move || PostgresSession::new(&address))?;
                inner
            }
            _ => return Err(StoreError::Refused("expected sqlite:PATH or postgres://HOST/DATABASE".into())),
        };
        let (db, known) = (Self { inner: Arc::new(inner) }, config.migrations);
        db.read(move |tx| migrate::compare_all(tx, known))?;
        Ok(db)
    }

    /// A store in memory, run on the calling thread, for the simulator.
    pub fn open_inline(faults: Box<dyn CommitFaults>) -> Result<Self, StoreError> {
        let route = Route::Inline(Mutex::new(Inline::open(faults)?));
        Ok(Self { inner: Arc::new(Inner::new(Dialect::Sqlite, route, Duration::ZERO)) })
    }

    /// Another store in memory that begins as a copy of one: thousands of worlds start from the same ground, and this is
    /// much quicker than making it again. `image` comes from [`Db::inline_image`].
    pub fn open_inline_image(image: &[u8], faults: Box<dyn CommitFaults>) -> Result<Self, StoreError> {
        let route = Route::Inline(Mutex::new(Inline::open_image(image, faults)?));
        Ok(Self { inner: Arc::new(Inner::new(Dialect::Sqlite, route, Duration::ZERO)) })
    }

    /// The whole of an inline store as bytes.
    pub fn inline_image(&self) -> Result<Vec<u8>, StoreError> {
        match &self.inner.route {
            Route::Inline(inline) => lock(inline).image(),
            Route::Queued { .. } => Err(StoreError::Refused("only an inline store has an image".into())),
        }
    }

    /// How many rows were ever written to an inline store, undone ones too: while this stands still, so does the store.
    pub fn inline_changes(&self) -> Option<u64> {
        match &self.inner.route {
            Route::Inline(inline) => Some(lock(inline).changes()),
            Route::Queued { .. } => None,
        }
    }

    fn open_memory(config: &DbConfig, opening: &Opening<'_>) -> Result<Self, StoreError> {
        let mut session = SqliteSession::open_in_memory()?;
        migrate::migrate(&mut session, opening)?;
        let line = Arc::new(Queue::new(config.queue));
        let route = Route::Queued { writes: Arc::clone(&line), reads: Arc::clone(&line) };
        let mut inner = Inner::new(Dialect::Sqlite, route, config.patience);
        Self::start_sqlite_writer(&mut inner, config, &line, session)?;
        Ok(Self { inner: Arc::new(inner) })
    }

    fn open_file(config: &DbConfig, path: PathBuf, opening: &Opening<'_>) -> Result<Self, StoreError> {
        let hold = FileHold::take(&path)?;
        let mut session = SqliteSession::open(&path, Role::Writer, config.patience)?;
        migrate::migrate(&mut session, opening)?;
        let (writes, reads) = (Arc::new(Queue::new(config.queue)), Arc::new(Queue::new(config.queue)));
        let route = Route::Queued { writes: Arc::clone(&writes), reads: Arc::clone(&reads) };
        let mut inner = Inner::new(Dialect::Sqlite, route, config.patience);
        inner._hold = Some(hold);
        Self::start_sqlite_writer(&mut inner, config, &writes, session)?;
        let plan = Plan { writes: false, batch: 1, threads: config.readers.max(1) };
        let patience = config.patience;
        inner.spawn("store-read", &reads, plan, move || SqliteSession::open(&path, Role::Reader, patience))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    fn start_sqlite_writer(
        inner: &mut Inner,
        config: &DbConfig,
        line: &Arc<Queue>,
        session: SqliteSession,
    ) -> Result<(), StoreError> {
        #[cfg(feature = "testing")]
        {
            inner.sabotage = Some(Arc::clone(&session.sabotage));
        }
        let plan = Plan { writes: true, batch: config.batch_sqlite, threads: 1 };
        let handed = Arc::new(Mutex::new(Some(session)));
        let open = move || lock(&handed).take().ok_or_else(|| StoreError::Refused("one writer only".into()));
        inner.spawn("store-write", line, plan, open)
    }

    fn open_postgres(config: &DbConfig, opening: &Opening<'_>) -> Result<Self, StoreError> {
        let address = PostgresSession::address(&config.url)?;
        // On a thread of its own, because the caller may be inside an async runtime.
        let migrated = thread::scope(|scope| {
            let migrate = || {
                let mut session = PostgresSession::new(&address)?;
                session.restore()?;
                migrate::migrate(&mut session, opening)
            };
            scope.spawn(migrate).join()
        });
        migrated.unwrap_or_else(|_| Err(StoreError::Refused("the migration panicked".into())))?;
        let (writes, reads) = (Arc::new(Queue::new(config.queue)), Arc::new(Queue::new(config.queue)));
        let route = Route::Queued { writes: Arc::clone(&writes), reads: Arc::clone(&reads) };
        let inner = Inner::new(Dialect::Postgres, route, config.patience);
        let plan = Plan { writes: true, batch: config.batch_postgres, threads: config.writers.max(1) };
        let same = address.clone();
        inner.spawn("store-write", &writes, plan, move || PostgresSession::new(&same))?;
        let plan = Plan { writes: false, batch: 1, threads: config.readers.max(1) };
        inner.spawn("store-read", &reads, plan, move || PostgresSession::new(&address))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Which engine this is.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// Runs a closure in a write transaction and waits for the durable answer. Blocks; not for async code.
    pub fn write<T, E, F>(&self, run: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.blocking(run, true)
    }

    /// Runs a closure on one consistent snapshot. Blocks; not for async code.
    pub fn read<T, E, F>(&self, run: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.blocking(run, false)
    }

    /// Like [`Db::write`] for async code. Dropping the future does not stop the transaction.
    pub fn write_async<T, E, F>(&self, run: F) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.awaited(run, true)
    }

    /// Like [`Db::read`] for async code.
    pub fn read_async<T, E, F>(&self, run: F) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        self.awaited(run, false)
    }

    fn blocking<T, E, F>(&self, run: F, writes: bool) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        let line = match self.line(writes)? {
            Ok(line) => line,
            Err(inline) => return lock(inline).run(run, writes),
        };
        let (sender, answer) = mpsc::sync_channel(1);
        line.push_within(Box::new(Job::new(run, writes, Some(Reply::Blocked(sender)))), self.inner.patience);
        answer.recv().unwrap_or_else(|_| Err(StoreError::OutcomeUnknown.into()))
    }

    fn awaited<T, E, F>(&self, run: F, writes: bool) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        match self.line(writes) {
            Ok(Ok(line)) => line.push(Box::new(Job::new(run, writes, Some(Reply::Awaited(sender))))),
            Ok(Err(inline)) => drop(sender.send(lock(inline).run(run, writes))),
            Err(error) => drop(sender.send(Err(error.into()))),
        }
        // An engine thread that died with the job in hand cannot say whether it committed.
        async move { answer.await.unwrap_or_else(|_| Err(StoreError::OutcomeUnknown.into())) }
    }

    /// The line to stand in, or the connection to use directly.
    fn line(&self, writes: bool) -> Result<Result<&Queue, &Mutex<Inline>>, StoreError> {
        if self.inner.poison.is_set() {
            return Err(StoreError::Poisoned);
        }
        Ok(match &self.inner.route {
            Route::Queued { writes: line, .. } if writes => Ok(line),
            Route::Queued { reads, .. } => Ok(reads),
            Route::Inline(inline) => Err(inline),
        })
    }

    /// Whether a COMMIT ended unknown on an embedded store, so that this process must end.
    pub fn poisoned(&self) -> bool {
        self.inner.poison.is_set()
    }

    /// Runs `callback` once when the store becomes poisoned, or now if it is. It runs on an engine's thread.
    pub fn on_poison(&self, callback: impl FnOnce() + Send + 'static) {
        self.inner.poison.on_set(Box::new(callback));
    }

    /// What the store has done since it was opened. Inline stores do not count.
    pub fn counts(&self) -> Counts {
        let tally = &self.inner.tally;
        Counts {
            closures: tally.closures.load(Ordering::Relaxed),
            commits: tally.commits.load(Ordering::Relaxed),
            retries: tally.retries.load(Ordering::Relaxed),
            waiting: match &self.inner.route {
                Route::Queued { writes, .. } => writes.depth(),
                Route::Inline(_) => 0,
            },
        }
    }

    /// The switch that makes the next COMMIT fail; SQLite with a writer thread only.
    #[cfg(feature = "testing")]
    pub fn sabotage(&self) -> Option<Arc<crate::testing::Sabotage>> {
        self.inner.sabotage.clone()
    }
}

fn random_id() -> Result<String, StoreError> {
    let mut bits = [0u8; 16];
    getrandom::fill(&mut bits).map_err(|error| StoreError::Refused(format!("no randomness: {error}")))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bits)))
}
