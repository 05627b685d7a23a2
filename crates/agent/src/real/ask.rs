//! Asks a fixed program a fixed question. It is an absolute path with arguments from the sources, run as
//! [`command::Program`] runs everything: no shell, an empty environment, a limit of time and of size.

use command::Program;
use std::path::{Path, PathBuf};

/// The first of these paths that is a file.
pub fn first_file(paths: &[&'static str]) -> Option<&'static Path> {
    paths.iter().copied().map(Path::new).find(|path| path.is_file())
}

/// A program of the host, looked for where the system keeps them and nowhere else.
pub fn program(name: &str) -> Option<PathBuf> {
    command::find(name).ok()
}

/// What a program says on its standard output; nothing when it fails, takes too long, says too much or does not write text.
pub fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    let said = Program::at(program).args(arguments).run().ok()?;
    Some(said.out).filter(|out| !out.contains(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shell(script: &str) -> Option<String> {
        ask(Path::new("/bin/sh"), &["-c", script])
    }

    #[test]
    fn what_a_program_says_is_heard_when_it_ends_well() {
        assert_eq!(shell("echo hello; echo beside >&2").unwrap(), "hello\n");
        assert_eq!(shell("echo hello; exit 3"), None);
        assert_eq!(shell("printf '\\377'"), None);
        assert_eq!(ask(Path::new("/nonexistent/program"), &[]), None);
    }

    #[test]
    fn a_program_that_says_too_much_is_not_heard() {
        assert_eq!(shell("head -c 5000000 /dev/zero"), None);
    }

    #[test]
    fn the_environment_is_not_passed_on() {
        let said = shell("env").unwrap();
        let names: Vec<&str> = said.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(names.iter().all(|name| ["PATH", "LC_ALL", "PWD", "_", "SHLVL", "OLDPWD"].contains(name)), "{said}");
    }

    #[test]
    fn programs_are_found_where_the_system_keeps_them() {
        assert!(program("env").unwrap().is_absolute());
        assert_eq!(program("no-such-program"), None);
    }
}
