//! Runs a fixed program of the host. Never a shell: the program is an absolute path, each argument is one word, the environment
//! is empty, there is nothing on its standard input but what it is given, and it has a limit of time and of size. A program
//! that fails answers with what it said on its standard error, because that is what people need to read. What was run and how
//! long it took is told to the log, at the level of debugging: whoever asks why a host is slow sees whose time it was.

use std::{
    ffi::OsStr,
    io::{Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

/// Where the system keeps its programs; nowhere else is looked.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How long a program may take where nobody says otherwise.
pub const TIME_MAX: Duration = Duration::from_secs(60);

/// The most that is read of what a program says, on each of its two voices.
pub const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not on this host.
    #[error("the program {0} is not on this host")]
    Missing(String),
    /// It could not be started.
    #[error("{program} could not be started: {why}")]
    NotStarted {
        /// Which one.
        program: String,
        /// Why.
        why: String,
    },
    /// It did not end in time, and was ended.
    #[error("{program} did not end within {seconds} s")]
    TooLong {
        /// Which one.
        program: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Nobody wanted its answer any more, and it was ended.
    #[error("{program} was ended because it was not wanted any more")]
    NotWanted {
        /// Which one.
        program: String,
    },
    /// It said more than is read.
    #[error("{program} said more than {BYTES_MAX} bytes")]
    TooMuch {
        /// Which one.
        program: String,
    },
    /// It ended with a failure.
    #[error("{program} failed ({code}): {said}")]
    Failed {
        /// Which one.
        program: String,
        /// Its exit status, or how it was ended.
        code: String,
        /// The last of what it said on its standard error.
        said: String,
    },
}

/// What a program said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// On its standard output.
    pub out: String,
    /// On its standard error.
    pub err: String,
}

/// A program to run once.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<std::ffi::OsString>,
    input: Vec<u8>,
    time_max: Duration,
}

/// A program of the host by its name, looked for where the system keeps them.
pub fn find(name: &str) -> Result<PathBuf, Fault> {
    let found = PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file());
    found.ok_or_else(|| Fault::Missing(name.to_owned()))
}

impl Program {
    /// A program by its name.
    pub fn named(name: &str) -> Result<Self, Fault> {
        find(name).map(Self::at)
    }

    /// A program by its absolute path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), arguments: vec![], input: vec![], time_max: TIME_MAX }
    }

    /// One more argument; always one word, whatever is in it.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.arguments.push(word.as_ref().to_owned());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// What it finds on its standard input.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// How long it may take.
    #[must_use]
    pub fn within(mut self, time_max: Duration) -> Self {
        self.time_max = time_max;
        self
    }

    /// Runs it and answers what it said, if it ended well.
    pub fn run(self) -> Result<Said, Fault> {
        self.watch(|_| ())
    }

    /// Runs it, and hands on what it says on its standard output as it comes, in pieces of no particular size. For programs
    /// that tell how far they are.
    pub fn watch(self, heard: impl FnMut(&[u8])) -> Result<Said, Fault> {
        self.watch_while(heard, &|| true)
    }

    /// The same, for as long as its answer is wanted: when it is not, the program is ended within moments.
    pub fn watch_while(self, heard: impl FnMut(&[u8]), wanted: &dyn Fn() -> bool) -> Result<Said, Fault> {
        let begun = Instant::now();
        let answer = self.watched(heard, wanted);
        let took_us = begun.elapsed().as_micros();
        tracing::debug!(took_us, well = answer.is_ok(), line = self.line(), "ran");
        answer
    }

    fn watched(&self, mut heard: impl FnMut(&[u8]), wanted: &dyn Fn() -> bool) -> Result<Said, Fault> {
        const LOOK_EVERY: Duration = Duration::from_millis(50);
        let name = self.name();
        let mut child = self.start()?;
        let (tell, told) = mpsc::channel();
        for (voice, pipe) in [
            (Voice::Out, child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
            (Voice::Err, child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>)),
        ] {
            let (tell, pipe) = (tell.clone(), pipe.ok_or_else(|| self.not_started("it has no voice"))?);
            listen(voice, pipe, tell).map_err(|error| self.not_started(&error.to_string()))?;
        }
        drop(tell);
        if let Some(mut pipe) = child.stdin.take() {
            let input = self.input.clone();
            // A program that reads nothing would hold us for ever; one that ends early is judged by how it ended.
            let write = move || drop(pipe.write_all(&input));
            thread::Builder::new().spawn(write).map_err(|error| self.not_started(&error.to_string()))?;
        }
        let until = Instant::now() + self.time_max;
        let (mut out, mut err) = (vec![], vec![]);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match told.recv_timeout(left.min(LOOK_EVERY)) {
                Ok((Voice::Out, bytes)) => {
                    heard(&bytes);
                    out.extend(bytes);
                }
                Ok((Voice::Err, bytes)) => err.extend(bytes),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) if left > LOOK_EVERY => {}
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    end(child);
                    return Err(Fault::TooLong { program: name, seconds: self.time_max.as_secs() });
                }
            }
            if !wanted() {
                end(child);
                return Err(Fault::NotWanted { program: name });
            }
            if out.len() > BYTES_MAX || err.len() > BYTES_MAX {
                end(child);
                return Err(Fault::TooMuch { program: name });
            }
        }
        let Some(status) = wait(&mut child, until) else {
            end(child);
            return Err(Fault::TooLong { program: name, seconds: self.time_max.as_secs() });
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if status.success() {
            return Ok(Said { out: text(&out), err: text(&err) });
        }
        let said = if err.is_empty() { &out } else { &err };
        Err(Fault::Failed { program: name, code: how(status), said: last_of(&text(said)) })
    }

    fn start(&self) -> Result<Child, Fault> {
        let stdin = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        Command::new(&self.path)
            .args(&self.arguments)
            .env_clear()
            .env("PATH", PATH)
            .env("LC_ALL", "C")
            .current_dir("/")
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| self.not_started(&error.to_string()))
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    // As a person would type it; what it is given to read is no part of that.
    fn line(&self) -> String {
        let words = [self.path.as_os_str()].into_iter().chain(self.arguments.iter().map(AsRef::as_ref));
        words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
    }

    fn not_started(&self, why: &str) -> Fault {
        Fault::NotStarted { program: self.name(), why: why.to_owned() }
    }
}

#[derive(Debug, Clone, Copy)]
enum Voice {
    Out,
    Err,
}

// Reads to the end on a thread of its own: a program that closes nothing would hold the caller for ever.
fn listen(
    voice: Voice,
    mut pipe: Box<dyn Read + Send>,
    tell: mpsc::Sender<(Voice, Vec<u8>)>,
) -> std::io::Result<thread::JoinHandle<()>> {
    let read = move || {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = pipe.read(&mut piece) {
            if tell.send((voice, piece[..count].to_vec())).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("command".to_owned()).spawn(read)
}

fn wait(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
            _ => return None,
        }
    }
}

fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    }
}

fn last_of(said: &str) -> String {
    const CHARACTERS_MAX: usize = 600;
    let trimmed = said.trim();
    let skipped = trimmed.chars().count().saturating_sub(CHARACTERS_MAX);
    trimmed.chars().skip(skipped).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

// Ends it and all it started. One that sits in the kernel cannot be ended; it is waited for where nobody is held up.
fn end(mut child: Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = thread::Builder::new().name("command-end".to_owned()).spawn(move || drop(child.wait()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program::at("/bin/sh").arg("-c").arg(script)
    }

    #[test]
    fn what_a_program_says_is_heard_when_it_ends_well() {
        let said = shell("echo hello; echo beside >&2").run().unwrap();
        assert_eq!((said.out.as_str(), said.err.as_str()), ("hello\n", "beside\n"));
    }

    #[test]
    fn a_failure_brings_its_last_words() {
        let failed = shell("echo out; echo 'no such thing' >&2; exit 3").run().unwrap_err();
        let expected = Fault::Failed { program: "sh".into(), code: "exit 3".into(), said: "no such thing".into() };
        assert_eq!(failed, expected);
        assert_eq!(shell("kill -9 $$").run().unwrap_err().to_string(), "sh failed (signal 9): ");
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert_eq!(find("no-such-program").unwrap_err(), Fault::Missing("no-such-program".into()));
        assert!(matches!(Program::at("/nonexistent/x").run(), Err(Fault::NotStarted { .. })));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("sleep 600 & echo $! > {0}; wait", pids.display());
        let ended = shell(&script).within(Duration::from_millis(300)).run();
        assert!(matches!(ended, Err(Fault::TooLong { .. })), "{ended:?}");
        let pid = std::fs::read_to_string(&pids).unwrap();
        let late = Instant::now() + Duration::from_secs(60);
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.map_or(true, |stat| stat.rsplit(')').next().unwrap().trim().starts_with('Z'))
        };
        while !gone() {
            assert!(Instant::now() < late, "it still runs");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_is_not_wanted_any_more_is_ended() {
        let heard = std::cell::Cell::new(false);
        let ended = shell("echo begun; sleep 600").watch_while(|_| heard.set(true), &|| !heard.get());
        assert_eq!(ended, Err(Fault::NotWanted { program: "sh".into() }));
    }

    #[test]
    fn too_much_is_not_read() {
        assert!(matches!(shell("head -c 5000000 /dev/zero").run(), Err(Fault::TooMuch { .. })));
    }

    #[test]
    fn a_word_stays_one_word_and_the_environment_stays_here() {
        let said = Program::at("/bin/echo").arg("a b; $(id) 'c'").run().unwrap();
        assert_eq!(said.out, "a b; $(id) 'c'\n");
        let said = Program::at("/usr/bin/env").run().unwrap();
        let mut names: Vec<&str> = said.out.lines().collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL=C", format!("PATH={PATH}").as_str()]);
    }

    #[test]
    fn it_reads_what_it_is_given_and_tells_as_it_goes() {
        let mut pieces = vec![];
        let said = Program::at("/bin/cat").input("one two").watch(|piece| pieces.extend_from_slice(piece)).unwrap();
        assert_eq!((said.out.as_str(), pieces.as_slice()), ("one two", &b"one two"[..]));
    }
}
