//! The box from inside: its folder, its disks, its programs, and the way into a guest.

use crate::{image, running::Running};
use model::guest::LOGIN_USER;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The world as it is from inside. Files of it that end in `.err` are shown when a test fails.
#[derive(Debug)]
pub struct World {
    folder: PathBuf,
}

impl World {
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// A path in the folder of the box.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a program and answers with all that it said.
    pub fn try_inside(&self, words: &[&str]) -> Output {
        Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a program that must end well.
    pub fn inside(&self, words: &[&str]) -> String {
        let done = self.try_inside(words);
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{words:?}: {out} {err}");
        out.into_owned()
    }

    /// Starts a program that goes on; what it says is kept in `<name>.err`.
    pub fn start(&self, name: &str, command: &mut Command) -> Running {
        Running::start(command, &self.path(&format!("{name}.err")))
    }

    /// Where the root process listens.
    pub fn socket(&self) -> PathBuf {
        self.path("r/socket")
    }

    /// Writes the settings of the root process, with some words replaced; their path.
    pub fn hostd_config(&self, changes: &[(&str, &str)]) -> PathBuf {
        let text = format!(
            r#"
agent_user = "root"
emulator_user = "root"
accelerator = "tcg"
cpu_model = "qemu64"
lab = true
socket = "{socket}"
state_dir = "{state}"
firmware = {{ kind = "bios" }}
stop = {{ acpi_s = 20, destroy_s = 60 }}
ready = {{ lease_s = 120, ssh_s = 180 }}

[network]
bridge = "br-gpu"
datapath = "netdev"
subnet = "10.77.0.0/24"
gateway_ip = "10.77.0.1"
gateway_mac = "02:00:00:00:00:01"
uplink = "up0"

[images]
bytes_max = 1000000000
trusted_keys = {{ {id} = "{key}" }}
"#,
            socket = self.socket().display(),
            state = self.path("state").display(),
            id = image::KEY_ID,
            key = image::key_hex(),
        );
        let changed = changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        });
        let path = self.path("hostd.toml");
        fs::write(&path, changed).unwrap();
        path
    }

    /// A loop device over a new file; its identity and the device.
    pub fn disk(&self, name: &str, bytes: u64) -> (String, PathBuf) {
        let file = self.path(name);
        File::create(&file).unwrap().set_len(bytes).unwrap();
        let device = PathBuf::from(self.inside(&["losetup", "--find", "--show", file.to_str().unwrap()]).trim());
        (format!("loop:{}", fs::canonicalize(&file).unwrap().display()), device)
    }

    /// Whether a disk holds these bytes anywhere.
    pub fn disk_holds(&self, device: &Path, text: &str) -> bool {
        let found = Command::new("grep").args(["-q", "-a", "-F", text]).arg(device).status().unwrap();
        match found.code() {
            Some(0) => true,
            Some(1) => false,
            other => panic!("grep ended with {other:?}"),
        }
    }

    /// Runs a command in a guest over SSH, with the key it must show.
    pub fn ssh(&self, ip: &str, host_key: &str, words: &str) -> Output {
        let known = self.path(&format!("known-{ip}"));
        fs::write(&known, format!("{ip} {host_key}\n")).unwrap();
        let (identity, known) =
            (self.path("user").display().to_string(), format!("UserKnownHostsFile={}", known.display()));
        let login = format!("{LOGIN_USER}@{ip}");
        let options = [
            "-o",
            "BatchMode=yes",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "ConnectTimeout=30",
        ];
        self.try_inside(&[&["ssh", "-q", "-i", &identity, "-o", &known][..], &options, &[&login, words]].concat())
    }

    /// The tenant's key, made once.
    pub fn user_key(&self) -> String {
        let path = self.path("user");
        if !path.exists() {
            self.inside(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", path.to_str().unwrap()]);
        }
        fs::read_to_string(path.with_extension("pub")).unwrap().trim().to_owned()
    }
}
