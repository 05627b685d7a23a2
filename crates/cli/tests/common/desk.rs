//! Somebody at the command line of a control plane.

use super::{Ran, plane::Plane};
use serde_json::Value;
use std::path::Path;

/// Whose home, which control plane, and with which token.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    pub home: &'a Path,
    pub plane: &'a Plane,
    pub token: &'a str,
}

impl Desk<'_> {
    pub fn run(&self, words: &[&str]) -> Ran {
        self.plane.run(self.home, self.token, words)
    }

    pub fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["-o", "json"]).collect();
        let ran = self.run(&words);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr))
    }

    /// Runs what must be refused with this problem and this exit code.
    pub fn refused(&self, code: &str, exit: i32, words: &[&str]) {
        let ran = self.run(words);
        assert!(ran.code == exit && ran.stderr.contains(code), "{words:?}: {} {}", ran.code, ran.stderr);
        // Work that was accepted and failed later has no single request to name.
        let names_request = ran.stderr.contains("  request id: ") || code == "sku_unavailable";
        assert!(names_request, "{words:?}: {}", ran.stderr);
    }

    pub fn apply(&self, text: &str, words: &[&str]) -> Ran {
        let path = self.home.join("platform.yaml");
        std::fs::write(&path, text).unwrap();
        let words: Vec<&str> =
            ["apply", "-f", path.to_str().unwrap()].into_iter().chain(words.iter().copied()).collect();
        self.run(&words)
    }

    /// Applies with consent and gives the exit code and the report.
    pub fn applied(&self, text: &str) -> (i32, Value) {
        let ran = self.apply(text, &["--yes", "-o", "json"]);
        (ran.code, serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr)))
    }

    pub fn count(&self, noun: &str) -> usize {
        self.json(&[noun, "list"])["items"].as_array().unwrap().len()
    }
}
