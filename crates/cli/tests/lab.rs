//! The policy lab from outside: the command reads a trace, writes a page and figures, and says precisely what it does not accept.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Ran, gpuaas, ran};
use std::path::{Path, PathBuf};

const POLICIES: &str = "fifo,priority,kueue,gpuaas";
const HEADER: &str = "timestamp,duration,num_gpus,gpu_time,cluster\n";

fn excerpt() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/data/philly_excerpt.csv")
}

// Runs `gpuaas lab run` in a folder of its own.
fn lab(folder: &Path, trace: &Path, words: &[&str]) -> Ran {
    let mut command = gpuaas(folder);
    command.current_dir(folder).args(["lab", "run", "--trace"]).arg(trace).args(words);
    ran(command.output().unwrap())
}

#[test]
fn a_run_leaves_a_page_and_the_figures_of_every_policy() {
    let folder = tempfile::tempdir().unwrap();
    let of = ["--policies", POLICIES, "--limit", "200", "--out"];
    let run = |words: &[&str]| lab(folder.path(), &excerpt(), &[&of[..], words].concat());
    let done = run(&["page.html", "--json", "all.json", "-o", "json"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr.contains("200 jobs of ") && done.stderr.contains("the report is in page.html"),
        "{}",
        done.stderr
    );

    // What is printed and what is written are the same figures.
    let printed: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let text = std::fs::read_to_string(folder.path().join("all.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (rows, outcomes) = (printed["items"].as_array().unwrap(), written["outcomes"].as_array().unwrap());
    let names: Vec<&str> = rows.iter().map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(names.join(","), POLICIES);
    assert_eq!(rows.len(), outcomes.len());
    for (row, outcome) in rows.iter().zip(outcomes) {
        assert_eq!(row["policy"], outcome["policy"]);
        assert_eq!(row["wait_mean_s"], outcome["waits"]["mean_s"], "{}", row["policy"]);
        assert_eq!(row["lost_gpu_s"], outcome["stops"]["lost_gpu_s"], "{}", row["policy"]);
        assert_eq!(outcome["unfinished"], 0, "{}", row["policy"]);
    }
    assert_eq!(written["jobs"], 200);
    assert_eq!(written["answers"].as_array().unwrap().len(), 20);

    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    for name in names {
        assert_eq!(page.matches(&format!("data-plot=\"utilisation-{name}\"")).count(), 1, "{name}");
    }
    for foreign in ["<script", "<link", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(foreign), "the page asks for something elsewhere: {foreign}");
    }

    // The same again gives the same, byte for byte.
    let again = run(&["again.html"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stdout.contains("MEAN WAIT S"), "{}", again.stdout);
    assert_eq!(std::fs::read_to_string(folder.path().join("again.html")).unwrap(), page);
}

#[test]
fn what_is_not_accepted_is_named_with_what_is() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let good = "2017-10-09 07:00:00,100,4,0,a\n";
    let word = write("word.csv", &format!("{HEADER}{good}2017-10-09 07:01:00,100,many,0,a\n"));
    let short = write("short.csv", &format!("{HEADER}{good}{good}2017-10-09 07:01:00,100\n"));
    let header = write("header.csv", "who,what\na,b\n");
    let large = write("large.csv", &format!("{HEADER}2017-10-09 07:00:00,100,9,0,a\n"));
    let (none, excerpt) = (folder.path().join("none.csv"), excerpt());
    let cases: [(&Path, &[&str], &[&str]); 8] = [
        (&excerpt, &["--policies", "fifo,best"], &["best", "there is no such policy", "fifo, lifo, priority"]),
        (&excerpt, &["--limit", "0"], &["0", "a whole number from 1 to"]),
        (&excerpt, &["--gpus", "0"], &["0", "1..="]),
        (&none, &[], &["there is no file", "none.csv"]),
        (&word, &[], &["word.csv: line 3, column `num_gpus`: `many` is not accepted", "accepted: "]),
        (&short, &[], &["short.csv: line 4"]),
        (&header, &[], &["header.csv: line 1", "timestamp"]),
        (&large, &["--gpus", "8"], &["line 2", "asks for 9 GPUs", "there are 8"]),
    ];
    for (trace, words, said) in cases {
        let refused = lab(folder.path(), trace, words);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{words:?}: {}", refused.stderr);
        for part in said {
            assert!(refused.stderr.contains(part), "{} {words:?}: {part}: {}", trace.display(), refused.stderr);
        }
    }
    assert!(!folder.path().join("report.html").exists(), "a refusal leaves no report");
}

#[test]
fn a_report_that_cannot_be_written_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let failed =
        lab(folder.path(), &excerpt(), &["--policies", "fifo", "--limit", "20", "--out", "no/such/place.html"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, ""), "{}", failed.stderr);
    assert!(failed.stderr.contains("cannot write to no/such/place.html"), "{}", failed.stderr);
}
