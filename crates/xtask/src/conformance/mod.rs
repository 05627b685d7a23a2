//! `cargo xtask conformance`: replays cases that were taken from the tests of other schedulers against the crate `govern`.
//!
//! A case file is JSON with a list `cases`; each case has an `id`, a `kind` (or `family`), its inputs and what is `expected`.
//! Every kind has a player, which gives the inputs to the engine under the policy profile of that scheduler and puts what came
//! out into the form of `expected`. Structure is compared, never sentences. A case whose answer depends on something that
//! this project does not have is waived by name, with the reason, in the table below.

mod flavor_assignment;
mod kai;
mod offers;
mod preemption;
mod quota;
mod read;
mod schedule_cycle;
mod sentence;
mod shares;
mod topology;
mod world;
mod yarn;

use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fs, path::Path};

/// What a player says of one case.
pub struct Played {
    /// What was expected, as far as it is compared.
    pub want: Value,
    /// What came out, in the same form.
    pub got: Value,
}

/// Gives one case to the engine; refuses a case that it cannot read, by saying why.
pub type Player = fn(&Value) -> Result<Played, String>;

/// One kind of case.
struct Kind {
    name: &'static str,
    // All cases of it must pass.
    required: bool,
    player: Player,
}

const KINDS: &[Kind] = &[
    Kind { name: "availability", required: true, player: quota::availability },
    Kind { name: "dominant_resource_share", required: true, player: quota::dominant_resource_share },
    Kind { name: "flavor_assignment", required: true, player: flavor_assignment::flavor_assignment },
    Kind { name: "kai_fair_share", required: true, player: shares::kai_fair_share },
    Kind { name: "kai_scheduling", required: false, player: kai::scheduling },
    Kind { name: "kai_time_based_share", required: true, player: shares::kai_time_based_share },
    Kind { name: "preemption_targets", required: true, player: preemption::preemption_targets },
    Kind { name: "schedule_cycle", required: true, player: schedule_cycle::schedule_cycle },
    Kind { name: "slurm_normalised_factor", required: true, player: shares::slurm_normalised_factor },
    Kind { name: "slurm_tres_billing", required: true, player: shares::slurm_tres_billing },
    Kind { name: "topology_placement", required: true, player: topology::play },
    Kind { name: "yarn_fair_shares", required: true, player: shares::yarn_fair_shares },
    Kind { name: "yarn_preemption_partitions", required: false, player: yarn::partitions },
    Kind { name: "yarn_proportional_preemption", required: true, player: yarn::proportional },
];

/// Cases that are not expected to pass: id and why.
const WAIVED: &[(&str, &str)] = &[];

/// The files that are part of the project, below the workspace's folder.
pub const OWN_FILES: &[&str] =
    &["crates/govern/tests/data/conformance/kueue.json", "crates/govern/tests/data/conformance/schedulers.json"];

/// How the cases of one kind fared.
#[derive(Debug, Default)]
struct Tally {
    pass: usize,
    fail: usize,
    waived: Vec<String>,
}

/// How all cases fared.
#[derive(Debug, Default)]
pub struct Report {
    kinds: BTreeMap<String, Tally>,
    failed: Vec<Value>,
    lines: Vec<String>,
    // Kinds that nobody here can play.
    unknown: BTreeMap<String, usize>,
}

impl Report {
    /// Whether every case of a required kind passed or is waived.
    pub fn is_good(&self) -> bool {
        let required = |name: &str| KINDS.iter().any(|kind| kind.name == name && kind.required);
        self.kinds.iter().all(|(name, tally)| tally.fail == 0 || !required(name))
    }

    /// One line a case and one a kind.
    pub fn text(&self) -> String {
        let mut text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        for (name, Tally { pass, fail, waived }) in &self.kinds {
            text += &format!("{name}: {pass} passed, {fail} failed, {} waived\n", waived.len());
        }
        for (name, count) in &self.unknown {
            text += &format!("{name}: {count} not played, no player knows this kind\n");
        }
        text
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let kinds: Map<String, Value> = self
            .kinds
            .iter()
            .map(|(name, Tally { pass, fail, waived })| {
                (name.clone(), json!({ "pass": pass, "fail": fail, "waived": waived }))
            })
            .collect();
        json!({ "kinds": kinds, "failed": self.failed, "not_played": self.unknown })
    }

    fn add(&mut self, case: &Value) {
        let word = |name: &str| case.get(name).and_then(Value::as_str);
        let (id, name) = (word("id").unwrap_or("without id"), word("kind").or_else(|| word("family")).unwrap_or(""));
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            *self.unknown.entry(name.to_owned()).or_default() += 1;
            return;
        };
        let tally = self.kinds.entry(name.to_owned()).or_default();
        let (want, got) = match (kind.player)(case) {
            Ok(Played { want, got }) if want == got => {
                tally.pass += 1;
                self.lines.push(format!("pass {id}"));
                return;
            }
            Ok(Played { want, got }) => (want, got),
            Err(why) => (case.get("expected").cloned().unwrap_or_default(), json!({ "cannot_play": why })),
        };
        if let Some((_, why)) = WAIVED.iter().find(|(waived, _)| *waived == id) {
            tally.waived.push(id.to_owned());
            self.lines.push(format!("waived {id}: {why}"));
            return;
        }
        tally.fail += 1;
        self.lines.push(format!("FAIL {id}\n  want {want}\n  got  {got}"));
        self.failed.push(json!({ "id": id, "want": want, "got": got }));
    }
}

/// Plays all cases of these files.
///
/// # Errors
/// When a file cannot be read or is no case file.
pub fn play(files: &[impl AsRef<Path>]) -> Result<Report, String> {
    let mut report = Report::default();
    for file in files {
        let file = file.as_ref();
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let whole: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let cases = whole.get("cases").and_then(Value::as_array);
        let cases = cases.ok_or_else(|| format!("{}: no list `cases` in it", file.display()))?;
        cases.iter().for_each(|case| report.add(case));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::{OWN_FILES, play};
    use std::path::{Path, PathBuf};

    #[test]
    fn every_case_of_a_required_kind_passes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files: Vec<PathBuf> = OWN_FILES.iter().map(|file| root.join(file)).collect();
        let report = play(&files).unwrap();
        assert!(report.is_good(), "{}", report.text());
    }
}
