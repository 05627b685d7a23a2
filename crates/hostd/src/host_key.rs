//! The host key of a guest, made on its host: an ed25519 pair, the private half in OpenSSH's own format (described in its
//! source as PROTOCOL.key). It is written to the guest's seed and to its record, and nowhere else.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ed25519_dalek::SigningKey;
use guest::seed::HostKey;

const KIND: &[u8] = b"ssh-ed25519";
const LINE_CHARACTERS: usize = 70;

/// Why no key could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no host key could be made: {0}")]
pub struct KeyFault(String);

/// A new key.
pub fn make() -> Result<HostKey, KeyFault> {
    let mut bytes = [0; 36];
    getrandom::fill(&mut bytes).map_err(|error| KeyFault(error.to_string()))?;
    let (seed, check) = bytes.split_at(32);
    let (Ok(seed), Ok(check)) = (seed.try_into(), check.try_into()) else {
        return Err(KeyFault("too few random bytes".to_owned()));
    };
    from_seed(seed, check)
}

fn from_seed(seed: [u8; 32], check: [u8; 4]) -> Result<HostKey, KeyFault> {
    let key = SigningKey::from_bytes(&seed);
    let public = key.verifying_key();
    let mut blob = vec![];
    put(&mut blob, KIND);
    put(&mut blob, public.as_bytes());
    let line = format!("ssh-ed25519 {}", STANDARD.encode(&blob));
    let public_line = line.parse().map_err(|_| KeyFault("its public half is no line".to_owned()))?;
    Ok(HostKey { private_openssh: private(&key, &blob, check), public: public_line })
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    to.extend(bytes);
}

fn private(key: &SigningKey, blob: &[u8], check: [u8; 4]) -> String {
    let mut secret = [check, check].concat();
    put(&mut secret, KIND);
    put(&mut secret, key.verifying_key().as_bytes());
    put(&mut secret, &key.to_keypair_bytes());
    put(&mut secret, b"");
    // Filled up with 1, 2, 3 … to a multiple of eight.
    for byte in 1u8..8 {
        if secret.len().is_multiple_of(8) {
            break;
        }
        secret.push(byte);
    }
    let mut all = b"openssh-key-v1\0".to_vec();
    // No cipher, no key derivation and its options: it is protected by who may read the file.
    for none in [&b"none"[..], b"none", b""] {
        put(&mut all, none);
    }
    all.extend(1u32.to_be_bytes());
    put(&mut all, blob);
    put(&mut all, &secret);
    let text = STANDARD.encode(all);
    let lines: Vec<&str> =
        text.as_bytes().chunks(LINE_CHARACTERS).filter_map(|c| std::str::from_utf8(c).ok()).collect();
    format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", lines.join("\n"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::print_stderr)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn no_two_keys_are_alike_and_their_lines_are_keys() {
        let (one, other) = (make().unwrap(), make().unwrap());
        assert_ne!(one.public, other.public);
        assert!(guest::ready::ExpectedKey::from_line(&one.public).is_ok());
        assert!(!format!("{one:?}").contains("PRIVATE"));
    }

    #[test]
    fn openssh_reads_the_private_half_and_finds_the_public_one() {
        let Ok(keygen) = command::find("ssh-keygen") else {
            assert!(std::env::var("GPUAAS_REAL").as_deref() != Ok("require"), "ssh-keygen is not installed");
            eprintln!("SKIPPED openssh_reads_the_private_half: ssh-keygen is not installed");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3 {
            let key = from_seed([number; 32], [1, 2, 3, number]).unwrap();
            let path = folder.path().join(number.to_string());
            fs::write(&path, &key.private_openssh).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let said = command::Program::at(&keygen).arg("-y").arg("-f").arg(&path).run().unwrap();
            assert_eq!(said.out.trim(), key.public.as_str());
        }
    }
}
