//! `gpuaas ssh`: the system's own `ssh`, through a stream of the platform, trusting exactly the host key that the guest's
//! host reported. With `--stdio` it is that stream alone, for `ssh` to speak through.

use api::{
    allocation::{AllocationPath, AllocationShow, AllocationView},
    stream::AllocationSsh,
};
use clap::Args;
use model::{AllocationId, guest::LOGIN_USER, sku::CapacityShape};
use std::{ffi::OsString, io::Write as _, path::Path};

use super::console::carry;
use crate::{args::examples, failure::Failure, interrupt, session::Session};

/// Where to, and how.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas ssh alc_01jh2n6f4zw8q9r0s1t2v3x4y5",
    "gpuaas ssh alc_01jh2n6f4zw8q9r0s1t2v3x4y5 -- nvidia-smi",
    "gpuaas ssh alc_01jh2n6f4zw8q9r0s1t2v3x4y5 -- -L 8888:localhost:8888 -N",
])]
pub struct Ssh {
    /// Id of the allocation
    allocation: AllocationId,
    /// Connect standard input and output with the guest's SSH server and nothing else, for ProxyCommand of ssh
    #[arg(long)]
    stdio: bool,
    /// Passed on to ssh: options, then a command for the guest
    #[arg(last = true, value_name = "SSH_ARGUMENT", conflicts_with = "stdio")]
    arguments: Vec<OsString>,
}

/// Signs in to a guest.
pub async fn ssh(session: &Session, ssh: Ssh) -> Result<(), Failure> {
    let path = AllocationPath { allocation_id: ssh.allocation.clone() };
    if ssh.stdio {
        let stream = session.open_stream::<AllocationSsh>(path).await?;
        return carry(stream, None).await.map(drop);
    }
    let allocation = session.show::<AllocationShow>(path).await?;
    let known = known_host(&allocation)?;
    let own = std::env::current_exe().map_err(|error| Failure::Local(format!("cannot find this program: {error}")))?;
    let cannot = |error: std::io::Error| Failure::Local(format!("cannot write a file of known hosts: {error}"));
    let mut file = tempfile::NamedTempFile::with_prefix("gpuaas-known-hosts-").map_err(cannot)?;
    file.write_all(known.as_bytes()).and_then(|()| file.flush()).map_err(cannot)?;
    let mut arguments = options(&allocation.id, &own, file.path())?;
    arguments.extend(ssh.arguments);
    // Ctrl-C is for ssh; this process waits for it to end, and then tidies up.
    interrupt::leave_to_command();
    let ran = tokio::process::Command::new("ssh").args(arguments).envs(session.environment()).status().await;
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Ended(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Failure::Local(
            "`ssh` is not installed here; install OpenSSH's client, or use another one with `gpuaas ssh --stdio`"
                .to_owned(),
        )),
        Err(error) => Err(Failure::Local(format!("cannot start ssh: {error}"))),
    }
}

/// The line of a file of known hosts for a guest: the key that its host reported, under the allocation's id.
fn known_host(allocation: &AllocationView) -> Result<String, Failure> {
    let id = &allocation.id;
    if allocation.shape == CapacityShape::Baremetal {
        return Err(Failure::Conflict(format!(
            "{id} is a whole machine: it is its tenant's, nothing of the platform runs on it, and so the platform has no way \
             in; sign in at the machine's own address with your own key"
        )));
    }
    let Some(guest) = &allocation.observed.guest else {
        return Err(Failure::Conflict(format!(
            "the host key of {id} is not known, so nobody could tell whether it is the right guest that answers; \
             it is reported once the allocation is running"
        )));
    };
    let mut words = guest.host_key.split(' ');
    let (Some(kind), Some(key)) = (words.next(), words.next()) else { return Err(bad_key(id)) };
    let is_kind = matches!(
        kind,
        "ssh-ed25519" | "ecdsa-sha2-nistp256" | "ecdsa-sha2-nistp384" | "ecdsa-sha2-nistp521" | "ssh-rsa"
    );
    let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    if !(is_kind && is_key) {
        return Err(bad_key(id));
    }
    Ok(format!("{id} {kind} {key}\n"))
}

fn bad_key(id: &AllocationId) -> Failure {
    Failure::Conflict(format!("the host key that was reported for {id} is none: expected a key type and a key"))
}

/// What ssh is told, in front of what the person says.
fn options(id: &AllocationId, own: &Path, known_hosts: &Path) -> Result<Vec<OsString>, Failure> {
    let own = own.to_str().ok_or_else(|| Failure::Local("the path of this program is not text".to_owned()))?;
    let known_hosts =
        known_hosts.to_str().ok_or_else(|| Failure::Local("the path of a file is not text".to_owned()))?;
    let mut all: Vec<OsString> = Vec::new();
    for option in [
        format!("ProxyCommand={} ssh --stdio {id}", quoted(own)),
        format!("HostKeyAlias={id}"),
        format!("UserKnownHostsFile=\"{}\"", known_hosts.replace('%', "%%")),
        "GlobalKnownHostsFile=none".to_owned(),
        "StrictHostKeyChecking=yes".to_owned(),
        "UpdateHostKeys=no".to_owned(),
        "CheckHostIP=no".to_owned(),
        format!("User={LOGIN_USER}"),
    ] {
        all.extend(["-o".into(), option.into()]);
    }
    all.push(id.as_str().into());
    Ok(all)
}

/// A path as one word, for ssh, which puts values in for `%`, and for the shell that it hands the command to.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('%', "%%").replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::Timestamp;

    fn id() -> AllocationId {
        AllocationId::from_parts(Timestamp::from_micros(1), [1; 10])
    }

    fn reported(host_key: Option<&str>) -> AllocationView {
        let mut view = serde_json::json!({
            "id": id(), "tenant_id": "tnt_01jh2n6f4zw8q9r0s1t2v3x4y5", "project_id": "prj_01jh2n6f4zw8q9r0s1t2v3x4y5",
            "name": "x", "sku_id": "sku_01jh2n6f4zw8q9r0s1t2v3x4y5", "shape": "gpu_slice", "gpu_count": 1,
            "region_id": "rgn_01jh2n6f4zw8q9r0s1t2v3x4y5", "desired": "running", "observed": { "guest_up": true },
            "execution": "running", "projected": "", "progress": { "since": "2026-01-01T00:00:00.000Z" }, "version": 1,
            "created_at": "2026-01-01T00:00:00.000Z"
        });
        if let Some(host_key) = host_key {
            view["observed"]["guest"] = serde_json::json!({
                "mac": "52:54:00:00:00:01", "expected_ip": "10.0.0.2", "lease_state": "leased", "host_key": host_key,
                "accelerator": "kvm"
            });
        }
        serde_json::from_value(view).unwrap()
    }

    #[test]
    fn only_the_reported_key_is_known() {
        let known = known_host(&reported(Some("ssh-ed25519 AAAAC3Nz/+= root@guest"))).unwrap();
        assert_eq!(known, format!("{} ssh-ed25519 AAAAC3Nz/+=\n", id()));
    }

    #[test]
    fn without_a_key_that_is_one_nobody_is_trusted() {
        let told = |view| known_host(&view).unwrap_err().told().unwrap();
        assert!(told(reported(None)).contains("is not known"));
        let machine = AllocationView { shape: CapacityShape::Baremetal, ..reported(None) };
        assert!(told(machine).contains("is a whole machine"));
        for bad in
            ["", "ssh-ed25519", "ssh-ed25519 ", "ssh-ed25519 AA\n* ssh-rsa BB", "@cert-authority * ssh-rsa AA", "x AA"]
        {
            assert!(told(reported(Some(bad))).contains("expected a key type and a key"), "{bad:?}");
        }
    }

    #[test]
    fn ssh_trusts_that_key_alone_and_speaks_through_the_platform() {
        let told = options(&id(), Path::new("/opt/it's 100%/gpuaas"), Path::new("/tmp/k")).unwrap();
        let told: Vec<&str> = told.iter().map(|word| word.to_str().unwrap()).collect();
        let id = id();
        assert_eq!(told[1], format!(r"ProxyCommand='/opt/it'\''s 100%%/gpuaas' ssh --stdio {id}"));
        for wanted in ["StrictHostKeyChecking=yes", "GlobalKnownHostsFile=none", "UserKnownHostsFile=\"/tmp/k\""] {
            assert!(told.contains(&wanted), "{told:?}");
        }
        assert_eq!(told.last(), Some(&id.as_str()));
    }
}
