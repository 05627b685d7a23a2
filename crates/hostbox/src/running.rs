//! A process that a test started in the box. It ends with the value, whatever the test did.

use std::{
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
};

/// A process in the box; killed when this is dropped.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    /// Starts it, with nothing to read and with all that it says added to a file.
    pub fn start(command: &mut Command, said: &Path) -> Self {
        let file = File::options().create(true).append(true).open(said).unwrap();
        let out = file.try_clone().unwrap();
        Self(Some(command.stdin(Stdio::null()).stdout(out).stderr(file).spawn().unwrap()))
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Sends it a signal, such as `-KILL`, at once and from any thread.
    pub fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap().success());
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_none()
    }

    /// Waits until it has ended by itself or by a signal; its exit status, where it has one.
    pub fn ended(mut self) -> Option<i32> {
        self.0.take().unwrap().wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
