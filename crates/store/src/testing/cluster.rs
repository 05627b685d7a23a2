//! A PostgreSQL server that lives as long as the test process and leaves nothing behind. One shared cluster a process,
//! one fresh database a test. The server never runs as root: when the tests do, it runs as the user `postgres`.
//!
//! A small shell stands between the tests and the server. It waits on a pipe that only the test process holds open, so
//! that the server is stopped and its directory removed however the tests end: normally, by a panic, or by SIGKILL.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio_postgres::NoTls;

// $1 directory, $2 bin, $3 port. Obeys words on its input and answers each with a line; at the end of the input the
// tests are gone.
const GUARD: &str = r#"
trap '' INT TERM HUP
start() {
  "$2/postgres" -D "$1/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$1" \
    -c max_connections=300 -c shared_buffers=64MB -c fsync=on -c log_min_messages=fatal \
    >"$1/log" 2>&1 </dev/null &
  server=$!
}
crash() { kill -QUIT "$server" 2>/dev/null; wait "$server"; }
start "$@"
while read -r word; do
  case "$word" in
    crash) crash ;;
    start) start "$@" ;;
  esac
  echo done
done
crash
rm -rf "$1"
"#;

const UP_WITHIN: Duration = Duration::from_secs(60);

/// The shell beside the server, and the pipes to it.
#[derive(Debug)]
struct Guard {
    shell: Child,
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// A running temporary server.
#[derive(Debug)]
pub struct PostgresCluster {
    directory: PathBuf,
    port: u16,
    databases: AtomicU64,
    guard: Mutex<Guard>,
}

impl PostgresCluster {
    /// The cluster that all tests of this process share. It is stopped when the process ends.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresCluster> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts a cluster of its own; dropping it stops it. For tests that hurt the server.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start.
    pub fn start() -> Self {
        let bin = installed();
        // Another process may take the port between our look and the server's; then start over.
        for _ in 0..5 {
            let cluster = Self::launch(&bin);
            if cluster.comes_up() {
                return cluster;
            }
        }
        panic!("no free port for the temporary PostgreSQL in five tries");
    }

    fn launch(bin: &Path) -> Self {
        let directory = output(as_server_user("mktemp").args(["-d", "/tmp/gpuaas-pg-XXXXXX"]));
        let directory = PathBuf::from(directory.trim());
        let mut initdb = as_server_user(bin.join("initdb"));
        initdb.arg("-D").arg(directory.join("data"));
        initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]);
        output(&mut initdb);
        let port = free_port();
        let mut guard = as_server_user("sh");
        guard.args(["-c", GUARD, "guard"]).arg(&directory).arg(bin).arg(port.to_string());
        // A group of its own: Ctrl-C at the terminal must not reach the server before the guard can clean up.
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut shell = guard.spawn().expect("a shell to guard the temporary PostgreSQL");
        let answers = BufReader::new(shell.stdout.take().expect("the guard's answers"));
        let guard = Mutex::new(Guard { words: shell.stdin.take(), shell, answers });
        Self { directory, port, databases: AtomicU64::new(0), guard }
    }

    /// Waits until the server answers. False when it lost the race for its port.
    fn comes_up(&self) -> bool {
        let until = Instant::now() + UP_WITHIN;
        loop {
            let Err(error) = self.try_admin("SELECT 1") else { return true };
            let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            if log.contains("could not create any TCP/IP sockets") {
                return false;
            }
            assert!(Instant::now() < until, "the temporary PostgreSQL did not come up: {error}\n{log}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server at once, without a checkpoint, as a crash would; clients see their connections break.
    pub fn crash(&self) {
        self.tell("crash");
    }

    /// Starts the server again after a crash, on the same address, and waits until it has recovered.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn revive(&self) {
        self.tell("start");
        assert!(self.comes_up(), "another process took the port of the crashed server");
    }

    fn tell(&self, word: &str) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let words = guard.words.as_mut().expect("the guard listens");
        writeln!(words, "{word}").and_then(|()| words.flush()).expect("the guard hears");
        let mut answer = String::new();
        guard.answers.read_line(&mut answer).expect("the guard answers");
        assert_eq!(answer.trim(), "done");
    }

    /// Creates an empty database and answers its address (over the local socket).
    ///
    /// # Panics
    /// When the server does not do it.
    pub fn fresh_database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.admin(&format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Where the server's files are, until it is stopped.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The address of a database over the local socket.
    pub fn url(&self, database: &str) -> String {
        let socket = self.directory.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{socket}:{}/{database}", self.port)
    }

    /// The address of a database over loopback TCP.
    pub fn tcp_url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements as the superuser, outside the store.
    ///
    /// # Panics
    /// When they fail.
    pub fn admin(&self, sql: &str) {
        if let Err(error) = self.try_admin(sql) {
            panic!("{sql}: {error}");
        }
    }

    /// Runs statements as the superuser in the database of an address.
    ///
    /// # Panics
    /// When they fail.
    pub fn admin_in(&self, url: &str, sql: &str) {
        if let Err(error) = run_sql(url, sql) {
            panic!("{sql}: {error}");
        }
    }

    fn try_admin(&self, sql: &str) -> Result<(), String> {
        run_sql(&self.url("postgres"), sql)
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        // The end of the pipe is the sign to stop.
        drop(guard.words.take());
        let _ = guard.shell.wait();
    }
}

/// Runs statements in one database on a connection of its own.
fn run_sql(url: &str, sql: &str) -> Result<(), String> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(url, NoTls).await.map_err(|error| format!("{error:?}"))?;
            let driver = tokio::spawn(connection);
            let done = client.batch_execute(sql).await.map_err(|error| format!("{error:?}"));
            drop(client);
            let _ = driver.await;
            done
        })
    };
    // The caller may be inside a runtime, which cannot be blocked.
    thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|_| Err("the connection panicked".to_owned()))
}

/// The newest installed server.
fn installed() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|version| Path::new(&format!("/usr/lib/postgresql/{version}/bin/postgres")).exists())
        .max();
    let newest =
        newest.expect("these tests need a PostgreSQL server: `make test` installs it, or apt install postgresql");
    PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin"))
}

/// A command that does not run as root.
fn as_server_user(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let root = std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0);
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    // The tests' own directory may be closed to that user.
    command.current_dir("/");
    command
}

fn output(command: &mut Command) -> String {
    let answer = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(answer.status.success(), "{command:?}: {}", String::from_utf8_lossy(&answer.stderr));
    String::from_utf8_lossy(&answer.stdout).into_owned()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
    listener.local_addr().expect("a bound port has an address").port()
}
