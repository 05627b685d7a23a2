//! Asks a fixed program a fixed question. Never a shell: the program is an absolute path, the arguments are in the sources,
//! the environment is empty, there is nothing on its standard input, and it has a time limit and a size limit.

use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io::Read,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// How long a program may take. The GPU driver's own may need seconds for each GPU when nothing keeps the driver awake.
pub const TIME_MAX: Duration = Duration::from_secs(60);
/// The most that is read of what it says.
pub const BYTES_MAX: u64 = 4 * 1024 * 1024;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The first of these paths that is a file.
pub fn first_file(paths: &[&'static str]) -> Option<&'static Path> {
    paths.iter().copied().map(Path::new).find(|path| path.is_file())
}

/// A program of the host, looked for where the system keeps them and nowhere else.
pub fn program(name: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// What a program says on its standard output; nothing when it fails, takes too long or says too much.
pub fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    ask_within(program, arguments, TIME_MAX)
}

fn ask_within(program: &Path, arguments: &[&str], time_max: Duration) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let said = child.stdout.take().and_then(|stdout| listen(stdout, time_max));
    let ended_well = said.is_some() && wait(&mut child, Duration::from_secs(1));
    if !ended_well {
        end(child);
    }
    said.filter(|_| ended_well).and_then(|bytes| String::from_utf8(bytes).ok())
}

// Reads to the end on a thread of its own: a program that closes nothing would hold this one for ever.
fn listen(stdout: ChildStdout, time_max: Duration) -> Option<Vec<u8>> {
    let (heard, hears) = mpsc::channel();
    let read = move || {
        let mut bytes = vec![];
        let whole = stdout.take(BYTES_MAX + 1).read_to_end(&mut bytes).is_ok();
        let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= BYTES_MAX);
        let _ = heard.send((whole && fits).then_some(bytes));
    };
    thread::Builder::new().name("ask".to_owned()).spawn(read).ok()?;
    hears.recv_timeout(time_max).ok().flatten()
}

fn wait(child: &mut Child, time_max: Duration) -> bool {
    let until = Instant::now() + time_max;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            _ => return false,
        }
    }
}

// Ends it and all it started. One that sits in the kernel cannot be ended; it is waited for where nobody is held up.
fn end(mut child: Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = thread::Builder::new().name("reap".to_owned()).spawn(move || child.wait());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shell(script: &str, time_max: Duration) -> Option<String> {
        ask_within(Path::new("/bin/sh"), &["-c", script], time_max)
    }

    #[test]
    fn what_a_program_says_is_heard_when_it_ends_well() {
        assert_eq!(shell("echo hello", TIME_MAX).unwrap(), "hello\n");
        assert_eq!(shell("echo hello; exit 3", TIME_MAX), None);
        assert_eq!(ask(Path::new("/nonexistent/program"), &[]), None);
    }

    #[test]
    fn a_program_that_does_not_end_is_not_waited_for() {
        assert_eq!(shell("sleep 600", Duration::from_millis(50)), None);
    }

    #[test]
    fn ending_a_program_ends_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("sleep 600 & echo $! $$ > {0}.new; mv {0}.new {0}; wait", pids.display());
        let child = Command::new("/bin/sh").args(["-c", &script]).process_group(0).spawn().unwrap();
        until(|| pids.exists());
        end(child);
        let text = std::fs::read_to_string(&pids).unwrap();
        let gone = |pid: &str| {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            state.map_or(true, |stat| stat.rsplit(')').next().unwrap().trim().starts_with('Z'))
        };
        until(|| text.split_whitespace().all(gone));
    }

    fn until(holds: impl Fn() -> bool) {
        let late = Instant::now() + Duration::from_secs(120);
        while !holds() {
            assert!(Instant::now() < late, "waited for ever");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_program_that_says_too_much_is_not_heard() {
        assert_eq!(shell("head -c 5000000 /dev/zero", TIME_MAX), None);
    }

    #[test]
    fn the_environment_is_not_passed_on() {
        let said = shell("env", TIME_MAX).unwrap();
        let names: Vec<&str> = said.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(names.iter().all(|name| ["PATH", "LC_ALL", "PWD", "_", "SHLVL", "OLDPWD"].contains(name)), "{said}");
    }
}
