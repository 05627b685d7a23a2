//! What a machine's first boot is told, for cloud-init. Built from typed values as JSON, which is YAML too: nothing that
//! somebody wrote is ever pasted into a text that is parsed. What a tenant wrote itself travels as a part of its own.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use machines::{BadOrder, UserData};
use model::task::MachineTenant;
use serde::Serialize;

/// Where the agent finds its one-time token.
pub const TOKEN_FILE: &str = "/etc/gpuaas-agent/enrollment-token";
/// Where the agent finds its settings.
pub const SETTINGS_FILE: &str = "/etc/gpuaas-agent/agent.env";

#[derive(Serialize)]
struct Host<'a> {
    write_files: [File<'a>; 2],
    runcmd: [[&'static str; 4]; 1],
}

#[derive(Serialize)]
struct File<'a> {
    path: &'static str,
    permissions: &'static str,
    owner: &'static str,
    content: &'a str,
    defer: bool,
}

/// How the platform's own host reaches the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    server: String,
    authority_sha256: String,
}

impl AgentSettings {
    /// Where agents call, such as `https://agents.example.net:7443`, and the authority that they trust.
    pub fn new(server: &str, authority_sha256: &str) -> Result<Self, BadOrder> {
        let bad = |field, expected, found: &str| BadOrder { field, expected, found: machines::shown(found, 80) };
        let plain =
            |text: &str| text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'\\' | b'$'));
        if !server.starts_with("https://") || server.len() > 255 || !plain(server) {
            return Err(bad("agents' address", "an https address", server));
        }
        if authority_sha256.len() != 64 || !authority_sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad("authority", "a SHA-256 in hexadecimal", authority_sha256));
        }
        Ok(Self { server: server.to_owned(), authority_sha256: authority_sha256.to_owned() })
    }
}

/// For the platform's own host: its one-time token, whom to trust, and that the agent runs.
pub(super) fn for_host(settings: &AgentSettings, token: &str) -> Result<UserData, BadOrder> {
    let env = format!(
        "GPUAAS_AGENT_SERVER={}\nGPUAAS_AGENT_AUTHORITY_SHA256={}\n",
        settings.server, settings.authority_sha256
    );
    // The agent runs without any rights of its own: it reads its token as a member of its group. That group comes with the
    // agent's package, so the files are written after packages are there.
    let file = |path, permissions, owner, content| File { path, permissions, owner, content, defer: true };
    cloud_config(&Host {
        write_files: [
            file(TOKEN_FILE, "0640", "root:gpuaas-agent", token),
            file(SETTINGS_FILE, "0644", "root:root", &env),
        ],
        runcmd: [["systemctl", "enable", "--now", "gpuaas-agent.service"]],
    })
}

#[derive(Serialize)]
struct Tenant<'a> {
    hostname: &'a str,
    preserve_hostname: bool,
    ssh_pwauth: bool,
    users: [User<'a>; 1],
}

#[derive(Serialize)]
struct User<'a> {
    name: &'a str,
    sudo: &'static str,
    shell: &'static str,
    lock_passwd: bool,
    ssh_authorized_keys: &'a [String],
}

/// For a tenant: who may sign in, what the machine calls itself, and what the tenant wrote.
pub(super) fn for_tenant(tenant: &MachineTenant) -> Result<UserData, BadOrder> {
    let own = Tenant {
        hostname: &tenant.host_name,
        preserve_hostname: false,
        ssh_pwauth: false,
        users: [User {
            name: &tenant.user_name,
            sudo: "ALL=(ALL) NOPASSWD:ALL",
            shell: "/bin/bash",
            lock_passwd: true,
            ssh_authorized_keys: &tenant.ssh_keys,
        }],
    };
    let Some(written) = tenant.user_data.as_deref().filter(|text| !text.is_empty()) else { return cloud_config(&own) };
    let own = cloud_config(&own)?;
    // Both parts are in base64, which holds no hyphen: nothing in them can look like the boundary.
    let part = |kind: &str, bytes: &[u8]| {
        let lines: Vec<String> = STANDARD.encode(bytes).as_bytes().chunks(76).map(text_of).collect();
        format!(
            "--{BOUNDARY}\r\nContent-Type: {kind}; charset=\"utf-8\"\r\nMIME-Version: 1.0\r\n\
             Content-Transfer-Encoding: base64\r\n\r\n{}\r\n",
            lines.join("\r\n")
        )
    };
    let head = format!("Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\r\nMIME-Version: 1.0\r\n\r\n");
    let parts = [part("text/cloud-config", own.as_bytes()), part(kind_of(written), written.as_bytes())];
    UserData::try_from(format!("{head}{}--{BOUNDARY}--\r\n", parts.concat()).into_bytes())
}

const BOUNDARY: &str = "=-=gpuaas-part=-=";

/// By its first line, as cloud-init tells them apart itself.
fn kind_of(written: &str) -> &'static str {
    if written.starts_with("#!") {
        "text/x-shellscript"
    } else if written.starts_with("#include") {
        "text/x-include-url"
    } else {
        "text/cloud-config"
    }
}

fn text_of(chunk: &[u8]) -> String {
    chunk.iter().map(|byte| char::from(*byte)).collect()
}

fn cloud_config(value: &impl Serialize) -> Result<UserData, BadOrder> {
    let json = serde_json::to_string_pretty(value).map_err(|error| BadOrder {
        field: "user data",
        expected: "something that can be written as JSON",
        found: error.to_string(),
    })?;
    UserData::try_from(format!("#cloud-config\n{json}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(data: &UserData) -> serde_json::Value {
        let text = std::str::from_utf8(data.as_bytes()).unwrap();
        serde_json::from_str(text.strip_prefix("#cloud-config\n").unwrap()).unwrap()
    }

    fn tenant(name: &str, keys: &[&str], user_data: Option<&str>) -> MachineTenant {
        MachineTenant {
            host_name: name.to_owned(),
            user_name: "gpuaas".to_owned(),
            ssh_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            user_data: user_data.map(str::to_owned),
            image: None,
        }
    }

    #[test]
    fn the_platforms_host_gets_its_token_and_whom_to_trust() {
        let settings = AgentSettings::new("https://agents.example.net:7443", &"ab".repeat(32)).unwrap();
        let told = read(&for_host(&settings, "gpe_secret").unwrap());
        assert_eq!(told["write_files"][0]["path"], TOKEN_FILE);
        // Who may read it has to be who the unit runs as, and nobody else.
        let unit = include_str!("../../../../packaging/gpuaas-agent.service");
        let group = unit.lines().find_map(|line| line.strip_prefix("Group=")).unwrap();
        assert!(unit.lines().any(|line| line == "CapabilityBoundingSet="), "it reads what its group may read");
        assert_eq!(told["write_files"][0]["owner"], format!("root:{group}"));
        assert_eq!(told["write_files"][0]["permissions"], "0640");
        assert_eq!(told["write_files"][0]["defer"], true, "the group comes with the package");
        assert_eq!(told["write_files"][0]["content"], "gpe_secret");
        let env = told["write_files"][1]["content"].as_str().unwrap();
        assert!(env.contains("GPUAAS_AGENT_SERVER=https://agents.example.net:7443\n"), "{env}");
        assert_eq!(told["runcmd"][0], serde_json::json!(["systemctl", "enable", "--now", "gpuaas-agent.service"]));
    }

    #[test]
    fn settings_that_could_say_more_than_they_should_are_refused() {
        let sha = "ab".repeat(32);
        for bad in
            ["http://a", "https://a\nX=1", "https://a b", "https://a$(x)", "https://a\"", "", &"https://a".repeat(99)]
        {
            assert!(AgentSettings::new(bad, &sha).is_err(), "{bad:?}");
        }
        for bad in ["", "zz", &"g".repeat(64), &"a".repeat(63)] {
            assert!(AgentSettings::new("https://a", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn hostile_names_and_keys_stay_in_their_fields() {
        let hostile = "x\"}]\nruncmd:\n - [rm, -rf, /]\n# ";
        let told = read(&for_tenant(&tenant(hostile, &[hostile, "ssh-ed25519 AAAA me"], None)).unwrap());
        assert_eq!(told["hostname"], hostile);
        assert_eq!(told["users"][0]["ssh_authorized_keys"][0], hostile);
        assert!(told.get("runcmd").is_none());
        assert_eq!(told["ssh_pwauth"], false);
    }

    #[test]
    fn what_the_tenant_wrote_is_a_part_of_its_own() {
        let written = format!("#!/bin/sh\necho --{BOUNDARY}--\n{}", "long line ".repeat(50));
        let data = for_tenant(&tenant("one", &["ssh-ed25519 AAAA me"], Some(&written))).unwrap();
        let text = String::from_utf8(data.as_bytes().to_vec()).unwrap();
        assert_eq!(text.matches(&format!("--{BOUNDARY}")).count(), 3, "two parts and the end");
        assert!(text.contains("text/x-shellscript"));
        let bodies: Vec<Vec<u8>> = text
            .split(&format!("--{BOUNDARY}"))
            .filter_map(|part| part.split_once("\r\n\r\n").map(|(_, body)| body.replace("\r\n", "")))
            .filter_map(|body| STANDARD.decode(body).ok())
            .collect();
        assert!(bodies.iter().any(|body| body == written.as_bytes()), "unchanged");
        assert!(bodies.iter().any(|body| body.starts_with(b"#cloud-config\n")));
        assert!(text.lines().all(|line| line.len() <= 78));
    }

    #[test]
    fn more_than_a_provider_takes_is_refused() {
        let long = "x".repeat(UserData::BYTES_MAX);
        assert!(for_tenant(&tenant("one", &[], Some(&long))).is_err());
    }
}
