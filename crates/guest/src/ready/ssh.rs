//! Who answers on a guest's SSH port. The start of an SSH connection (RFC 4253, with the curve25519-sha256 exchange of
//! RFC 8731 and ed25519 host keys of RFC 8709) is made for real up to the point where the other side has signed our
//! exchange with its host key; then the line is dropped. That proves that the guest *holds* the key it shows, which
//! `ssh-keyscan` does not: it prints the key before its signature is looked at. Nothing is ever encrypted or logged in.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use curve25519_dalek::montgomery::MontgomeryPoint;
use ed25519_dalek::{Signature, VerifyingKey};
use model::text::PublicKeyLine;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use crate::identity::{Refused, shown};

const OUR_BANNER: &str = "SSH-2.0-gpuaas_ready";
const LINE_BYTES_MAX: usize = 512;
const LINES_MAX: usize = 32;
const PACKET_BYTES_MAX: usize = 35_000;
const PACKETS_MAX: usize = 16;
const KEXINIT: u8 = 20;
const ECDH_INIT: u8 = 30;
const ECDH_REPLY: u8 = 31;

/// Why a guest is not who it should be, or does not say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SshFault {
    /// Nothing listens there.
    #[error("the port is closed")]
    Refused,
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// It cannot be reached.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// Something answers that does not greet as SSH does.
    #[error("it does not greet as SSH does: {0}")]
    NoBanner(String),
    /// It has another host key, and holds it.
    #[error("its host key is {found}, expected {expected}")]
    WrongHostKey {
        /// The fingerprint of the key it should have.
        expected: String,
        /// The fingerprint of the one it has.
        found: String,
    },
    /// It shows a key that it does not hold.
    #[error("it shows a host key that it cannot sign with")]
    BadSignature,
    /// It speaks SSH otherwise than it should.
    #[error("it breaks the rules of SSH: {0}")]
    Protocol(String),
}

/// What a guest said on SSH, once it has shown the right key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshSeen {
    /// Its greeting.
    pub banner: String,
    /// The fingerprint of its host key, as `ssh-keygen -l` shows it.
    pub fingerprint: String,
}

/// The host key that a guest should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedKey(VerifyingKey);

impl ExpectedKey {
    /// From the key's line.
    pub fn from_line(line: &PublicKeyLine) -> Result<Self, Refused> {
        let refused = || Refused::new("host key", "an ed25519 key on one line", line.as_str());
        let mut words = line.as_str().split(' ');
        let (kind, key) = (words.next(), words.next().ok_or_else(refused)?);
        let blob = base64::engine::general_purpose::STANDARD.decode(key).map_err(|_| refused())?;
        let key = ed25519_of(&blob).filter(|_| kind == Some("ssh-ed25519")).ok_or_else(refused)?;
        Ok(Self(key))
    }
}

fn ed25519_of(blob: &[u8]) -> Option<VerifyingKey> {
    let mut fields = Fields(blob);
    if fields.next().ok()? != b"ssh-ed25519" {
        return None;
    }
    let key = VerifyingKey::from_bytes(fields.next().ok()?.try_into().ok()?).ok()?;
    fields.0.is_empty().then_some(key)
}

fn blob_of(key: &VerifyingKey) -> Vec<u8> {
    let mut blob = vec![];
    put(&mut blob, b"ssh-ed25519");
    put(&mut blob, key.as_bytes());
    blob
}

fn fingerprint(blob: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(blob)))
}

/// What one attempt needs.
#[derive(Debug, Clone)]
pub struct Handshake {
    /// The key that must be shown.
    pub expected: ExpectedKey,
    /// Fresh random bytes, for this attempt alone.
    pub random: [u8; 32],
    /// How long the attempt may take as a whole: a guest that says one byte at a time must not hold anybody.
    pub within: Duration,
}

// A line with an end.
struct Limited<S> {
    stream: S,
    until: Instant,
}

impl<S> Limited<S> {
    fn in_time(&mut self) -> io::Result<&mut S> {
        if Instant::now() < self.until { Ok(&mut self.stream) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

impl<S: Read> Read for Limited<S> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.in_time()?.read(to)
    }
}

impl<S: Write> Write for Limited<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_time()?.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Makes one attempt. `dial` opens the connection: to the guest's port 22, through its network namespace where it has one,
/// with time limits set on reading and writing.
pub fn handshake<S: Read + Write>(
    attempt: &Handshake,
    dial: impl FnOnce() -> io::Result<S>,
) -> Result<SshSeen, SshFault> {
    let until = Instant::now() + attempt.within;
    let mut stream = Limited { stream: dial().map_err(|error| line_fault(&error))?, until };
    let theirs = banner(&mut stream)?;
    let fault = |error: io::Error| line_fault(&error);
    stream.write_all(format!("{OUR_BANNER}\r\n").as_bytes()).map_err(fault)?;
    let our_init = our_kexinit(&attempt.random);
    send(&mut stream, &our_init)?;
    let their_init = receive(&mut stream, KEXINIT)?;
    must_know_ours(&their_init)?;
    let public = MontgomeryPoint::mul_base_clamped(attempt.random);
    let mut opening = vec![ECDH_INIT];
    put(&mut opening, public.as_bytes());
    send(&mut stream, &opening)?;
    let reply = receive(&mut stream, ECDH_REPLY)?;
    let mut fields = Fields(&reply[1..]);
    let (blob, their_public, signed) = (fields.next()?, fields.next()?, fields.next()?);
    let their_point: [u8; 32] =
        their_public.try_into().map_err(|_| protocol("its half of the exchange is not 32 bytes"))?;
    let shared = MontgomeryPoint(their_point).mul_clamped(attempt.random);
    // RFC 8731, 3: an all-zero result means that the other side picked a point of small order.
    if shared.as_bytes() == &[0; 32] {
        return Err(protocol("its half of the exchange is worthless"));
    }
    let mut exchange = vec![];
    for part in
        [OUR_BANNER.as_bytes(), theirs.as_bytes(), &our_init, &their_init, blob, public.as_bytes(), their_public]
    {
        put(&mut exchange, part);
    }
    put_number(&mut exchange, shared.as_bytes());
    let shown_key = ed25519_of(blob).ok_or_else(|| protocol("its host key is no ed25519 key"))?;
    let mut signature = Fields(signed);
    let (kind, bytes) = (signature.next()?, signature.next()?);
    let signature = Signature::from_slice(bytes).map_err(|_| SshFault::BadSignature)?;
    let holds = kind == b"ssh-ed25519" && shown_key.verify_strict(&Sha256::digest(&exchange), &signature).is_ok();
    if !holds {
        return Err(SshFault::BadSignature);
    }
    if shown_key != attempt.expected.0 {
        let expected = fingerprint(&blob_of(&attempt.expected.0));
        return Err(SshFault::WrongHostKey { expected, found: fingerprint(blob) });
    }
    Ok(SshSeen { banner: theirs, fingerprint: fingerprint(blob) })
}

fn protocol(why: &str) -> SshFault {
    SshFault::Protocol(why.to_owned())
}

fn line_fault(error: &io::Error) -> SshFault {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => SshFault::Refused,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => SshFault::TimedOut,
        io::ErrorKind::UnexpectedEof => SshFault::Protocol("it hung up".to_owned()),
        _ => SshFault::Unreachable(error.to_string()),
    }
}

// RFC 4253, 4.2: a server may say other lines before its greeting.
fn banner(stream: &mut impl Read) -> Result<String, SshFault> {
    for _ in 0..LINES_MAX {
        let mut line = vec![];
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            match stream.read_exact(&mut byte) {
                Ok(()) if line.len() < LINE_BYTES_MAX => line.push(byte[0]),
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(line_fault(&error)),
                _ => return Err(SshFault::NoBanner(shown(&String::from_utf8_lossy(&line)))),
            }
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if text.starts_with("SSH-") {
            let good = text.starts_with("SSH-2.0-") && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
            return if good { Ok(text.to_owned()) } else { Err(SshFault::NoBanner(shown(text))) };
        }
    }
    Err(SshFault::NoBanner("many lines, none of them a greeting".to_owned()))
}

const OURS: [(&str, &str); 10] = [
    ("key exchange", "curve25519-sha256,curve25519-sha256@libssh.org"),
    ("host key", "ssh-ed25519"),
    ("cipher", "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes256-ctr"),
    ("cipher", "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes256-ctr"),
    ("mac", "hmac-sha2-256,hmac-sha2-512,hmac-sha2-256-etm@openssh.com"),
    ("mac", "hmac-sha2-256,hmac-sha2-512,hmac-sha2-256-etm@openssh.com"),
    ("compression", "none"),
    ("compression", "none"),
    ("language", ""),
    ("language", ""),
];

fn our_kexinit(random: &[u8; 32]) -> Vec<u8> {
    let mut message = vec![KEXINIT];
    // The cookie must be fresh and need not be secret; the random bytes themselves are.
    message.extend(&Sha256::new().chain_update(b"gpuaas cookie").chain_update(random).finalize()[..16]);
    for (_, names) in OURS {
        put(&mut message, names.as_bytes());
    }
    message.extend([0; 5]);
    message
}

// The first two lists decide what follows; if they share nothing with ours the other side would hang up without a word.
fn must_know_ours(their_init: &[u8]) -> Result<(), SshFault> {
    let lists = their_init.get(17..).ok_or_else(|| protocol("its offer is cut short"))?;
    let mut fields = Fields(lists);
    for (what, ours) in &OURS[..2] {
        let theirs = String::from_utf8_lossy(fields.next()?).into_owned();
        let shared = ours.split(',').any(|name| theirs.split(',').any(|their| their == name));
        if !shared {
            return Err(SshFault::Protocol(format!("it knows no {what} of ours ({ours}), only {}", shown(&theirs))));
        }
    }
    Ok(())
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<&'a [u8], SshFault> {
        let short = || protocol("a message is cut short");
        let (length, rest) = self.0.split_first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| short())?;
        let (field, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(field)
    }
}

fn put(message: &mut Vec<u8>, field: &[u8]) {
    message.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
    message.extend(field);
}

// RFC 4251, 5: a number has no leading zeros, and one where it would look negative.
fn put_number(message: &mut Vec<u8>, bytes: &[u8]) {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let mut number = bytes[start..].to_vec();
    if number.first().is_some_and(|byte| *byte >= 0x80) {
        number.insert(0, 0);
    }
    put(message, &number);
}

fn send(stream: &mut impl Write, payload: &[u8]) -> Result<(), SshFault> {
    let padding = 4 + (8 - (5 + payload.len() + 4) % 8) % 8;
    let length = u32::try_from(1 + payload.len() + padding).map_err(|_| protocol("a message is too long"))?;
    let mut packet = length.to_be_bytes().to_vec();
    packet.push(u8::try_from(padding).map_err(|_| protocol("a message is too long"))?);
    packet.extend(payload);
    packet.resize(packet.len() + padding, 0);
    stream.write_all(&packet).and_then(|()| stream.flush()).map_err(|error| line_fault(&error))
}

fn receive(stream: &mut impl Read, wanted: u8) -> Result<Vec<u8>, SshFault> {
    for _ in 0..PACKETS_MAX {
        let mut head = [0; 5];
        stream.read_exact(&mut head).map_err(|error| line_fault(&error))?;
        let [a, b, c, d, padding] = head;
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let payload = length.checked_sub(1 + usize::from(padding)).filter(|_| length <= PACKET_BYTES_MAX);
        let payload =
            payload.filter(|payload| *payload > 0).ok_or_else(|| protocol("a packet has an impossible length"))?;
        let mut body = vec![0; length - 1];
        stream.read_exact(&mut body).map_err(|error| line_fault(&error))?;
        body.truncate(payload);
        match body[0] {
            kind if kind == wanted => return Ok(body),
            1 => return Err(SshFault::Protocol(format!("it hung up: {}", disconnect_reason(&body)))),
            // Ignore, unimplemented, debug.
            2..=4 => {}
            kind => return Err(SshFault::Protocol(format!("it sent message {kind} where {wanted} was due"))),
        }
    }
    Err(protocol("it talks without end"))
}

fn disconnect_reason(body: &[u8]) -> String {
    let text = body.get(5..).and_then(|rest| Fields(rest).next().ok()).unwrap_or_default();
    shown(&String::from_utf8_lossy(text))
}

#[cfg(test)]
#[path = "ssh_tests.rs"]
mod tests;
