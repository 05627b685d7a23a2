//! `doctor`: whether the agent can work on this host, one line a check, in words that say what to do.

use crate::{Outcome, args::Join, output};
use agent::{
    clock::now,
    state::{Enrolled, StateDir},
    wire::{CallFault, Client},
};
use api::node_plane::{FromControl, MESSAGES_PATH};
use model::{Timestamp, time::MICROS_PER_SECOND};
use std::{fs, process::ExitCode, time::Duration};
use topology::{ReadinessState, discover, readiness};

// The control plane refuses clocks further off than two minutes; half of that is time to act.
const CLOCK_S_MAX: i64 = 60;

/// How one check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Ok,
    Note,
    Bad,
}

struct Report(Vec<(Sign, String)>);

impl Report {
    fn say(&mut self, sign: Sign, text: impl Into<String>) {
        self.0.push((sign, text.into()));
    }
    fn page(&self) -> String {
        let line = |(sign, text): &(Sign, String)| {
            let sign = match sign {
                Sign::Ok => "ok  ",
                Sign::Note => "note",
                Sign::Bad => "BAD ",
            };
            format!("{sign}  {text}\n")
        };
        self.0.iter().map(line).collect()
    }
    fn is_well(&self) -> bool {
        self.0.iter().all(|(sign, _)| *sign != Sign::Bad)
    }
}

/// Checks, prints, and says by the exit code whether all is well.
pub(crate) async fn doctor(join: Join) -> Outcome {
    let mut report = Report(vec![]);
    rights(&join, &mut report);
    let enrolled = kept(&join, &mut report);
    reached(&join, enrolled.as_ref(), &mut report).await;
    host(&join, &mut report);
    output::data(&report.page())?;
    Ok(if report.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rights(join: &Join, report: &mut Report) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let user = user.split_whitespace().next().unwrap_or("?");
    if user == "0" {
        report.say(Sign::Note, "this is root; the agent needs no rights, and its service has none".to_owned());
    }
    match join.serial() {
        Some(_) => report.say(Sign::Ok, "the machine's serial number can be read".to_owned()),
        None => report.say(Sign::Note, format!("neither user {user} nor gpuaas-hostd can read a serial number")),
    }
    if !join.host().is_live() {
        return;
    }
    let socket = join.hostd_socket.display();
    match join.hands("").ready() {
        Ok(ready) if ready.missing.is_empty() => {
            report.say(Sign::Ok, format!("gpuaas-hostd at {socket} can run guests, with {}", ready.accelerator));
        }
        Ok(ready) => {
            ready.missing.into_iter().for_each(|missing| report.say(Sign::Bad, format!("gpuaas-hostd: {missing}")))
        }
        Err(fault) => report.say(Sign::Bad, format!("guests cannot be run: {fault}")),
    }
}

fn kept(join: &Join, report: &mut Report) -> Option<Enrolled> {
    let folder = join.state_dir.display();
    if !join.state_dir.exists() {
        report.say(Sign::Note, format!("{folder} is not there yet; it is made when the host is enrolled"));
        return None;
    }
    let enrolled = match StateDir::open(&join.state_dir).and_then(|state| state.enrolled()) {
        Ok(Some(enrolled)) => enrolled,
        Ok(None) => {
            report.say(Sign::Note, format!("{folder} is private; the host is not enrolled yet"));
            return None;
        }
        Err(fault) => {
            report.say(Sign::Bad, fault.to_string());
            return None;
        }
    };
    report.say(Sign::Ok, format!("{folder} is private; the host is {}", enrolled.node_id));
    match enrolled.credential() {
        Ok(credential) if now() > credential.not_after() => {
            let ended = credential.not_after();
            report.say(Sign::Bad, format!("the certificate ended at {ended}; the host has to be enrolled again"));
        }
        Ok(credential) if now() < credential.not_before() => {
            let from = credential.not_before();
            report.say(
                Sign::Bad,
                format!("the certificate is good from {from}, which is in the future; check the clock"),
            );
        }
        Ok(credential) => report.say(Sign::Ok, format!("the certificate is good until {}", credential.not_after())),
        Err(fault) => report.say(Sign::Bad, fault.to_string()),
    }
    Some(enrolled)
}

async fn reached(join: &Join, enrolled: Option<&Enrolled>, report: &mut Report) {
    let named = join.server().and_then(|server| Ok((server, join.pin(enrolled)?)));
    let (server, pin) = match named {
        Ok(named) => named,
        Err(why) => return report.say(Sign::Bad, why),
    };
    let credential = enrolled.and_then(|enrolled| enrolled.credential().ok());
    let mut client = match Client::new(server, pin, credential.as_ref()) {
        Ok(client) => client,
        Err(fault) => return report.say(Sign::Bad, fault.to_string()),
    };
    // Saying nothing changes nothing; whether it is heard shows whether the identity is accepted.
    let heard = if credential.is_some() {
        let none: [(); 0] = [];
        client.post::<Vec<FromControl>>(&format!("{MESSAGES_PATH}?wait_s=0"), &none, Duration::ZERO).await.map(|_| ())
    } else {
        client.knock(MESSAGES_PATH).await
    };
    match heard {
        Ok(()) if credential.is_some() => report.say(Sign::Ok, format!("{server} hears this node")),
        Ok(()) => report.say(Sign::Ok, format!("{server} answers and is the one that was named")),
        Err(fault @ CallFault::Refused { .. }) => report.say(Sign::Bad, format!("{server} answers: {fault}")),
        Err(fault) => report.say(Sign::Bad, format!("{server}: {fault}")),
    }
    if let Some(off_s) = client.server_date().and_then(|date| clock_off_s(date, now())) {
        let off = off_s.abs();
        if off > CLOCK_S_MAX {
            let side = if off_s > 0 { "ahead of" } else { "behind" };
            report.say(
                Sign::Bad,
                format!("the clock is {off} s {side} the control plane's; set it (chrony, systemd-timesyncd)"),
            );
        } else {
            report.say(Sign::Ok, "the clock agrees with the control plane's");
        }
    }
}

// How far this clock is ahead of the one in an HTTP date.
fn clock_off_s(date: &str, now: Timestamp) -> Option<i64> {
    let theirs = jiff::fmt::rfc2822::parse(date).ok()?.timestamp().as_second();
    Some(now.as_micros() / MICROS_PER_SECOND - theirs)
}

fn host(join: &Join, report: &mut Report) {
    let tree = match join.host().tree() {
        Ok(tree) => tree,
        Err(fault) => return report.say(Sign::Bad, format!("the host cannot be looked at: {fault}")),
    };
    let discovery = discover(&tree);
    for note in &discovery.notes {
        report.say(Sign::Note, format!("{}: {}", note.path, note.reason));
    }
    for check in readiness(&discovery).checks {
        let sign = match check.state {
            ReadinessState::Ok => Sign::Ok,
            _ if check.required => Sign::Bad,
            _ => Sign::Note,
        };
        let remedy = check.remedy.map(|remedy| format!(" {remedy}")).unwrap_or_default();
        let reboot = if check.reboot_required { " (takes a reboot)" } else { "" };
        report.say(sign, format!("{}: {}{remedy}{reboot}", check.check.as_str(), check.detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_compared_in_seconds() {
        let now = Timestamp::from_micros(784_111_777 * MICROS_PER_SECOND);
        assert_eq!(clock_off_s("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(0));
        assert_eq!(clock_off_s("Sun, 06 Nov 1994 08:48:37 GMT", now), Some(60));
        assert_eq!(clock_off_s("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(-60));
        assert_eq!(clock_off_s("yesterday", now), None);
    }
}
