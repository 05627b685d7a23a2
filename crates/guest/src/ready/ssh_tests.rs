//! The handshake against a server of our own, honest and not, and against noise.

use super::*;
use ed25519_dalek::{Signer, SigningKey};
use proptest::prelude::*;
use std::{
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn attempt(seed: u8) -> Handshake {
    Handshake { expected: ExpectedKey(key(seed).verifying_key()), random: [77; 32], within: Duration::from_secs(60) }
}

fn dial(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    Ok(stream)
}

// The other side of the exchange: shows one key and signs with another (the same one, if it is honest).
fn serve(shows: SigningKey, signs: SigningKey) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"hello\r\nSSH-2.0-test\r\n").unwrap();
        let theirs = banner(&mut stream).unwrap();
        let init = our_kexinit(&[5; 32]);
        send(&mut stream, &init).unwrap();
        let their_init = receive(&mut stream, KEXINIT).unwrap();
        let opening = receive(&mut stream, ECDH_INIT).unwrap();
        let their_public = Fields(&opening[1..]).next().unwrap();
        let public = MontgomeryPoint::mul_base_clamped([6; 32]);
        let shared = MontgomeryPoint(their_public.try_into().unwrap()).mul_clamped([6; 32]);
        let blob = blob_of(&shows.verifying_key());
        let mut exchange = vec![];
        for part in [theirs.as_bytes(), b"SSH-2.0-test", &their_init, &init, &blob, their_public, public.as_bytes()] {
            put(&mut exchange, part);
        }
        put_number(&mut exchange, shared.as_bytes());
        let mut signature = vec![];
        put(&mut signature, b"ssh-ed25519");
        put(&mut signature, &signs.sign(&Sha256::digest(&exchange)).to_bytes());
        let mut reply = vec![ECDH_REPLY];
        for part in [&blob[..], public.as_bytes(), &signature] {
            put(&mut reply, part);
        }
        send(&mut stream, &[2, 0, 0, 0, 0]).unwrap();
        send(&mut stream, &reply).unwrap();
    });
    port
}

fn say(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    port
}

#[test]
fn the_right_key_is_known_again() {
    let port = serve(key(1), key(1));
    let seen = handshake(&attempt(1), || dial(port)).unwrap();
    assert_eq!(seen.banner, "SSH-2.0-test");
    assert!(seen.fingerprint.starts_with("SHA256:"));
}

#[test]
fn another_key_and_a_borrowed_key_are_told_apart() {
    let port = serve(key(2), key(2));
    assert!(matches!(handshake(&attempt(1), || dial(port)), Err(SshFault::WrongHostKey { .. })));
    let port = serve(key(1), key(2));
    assert_eq!(handshake(&attempt(1), || dial(port)), Err(SshFault::BadSignature));
}

#[test]
fn what_is_not_ssh_is_named() {
    let closed = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    assert_eq!(handshake(&attempt(1), || dial(closed)), Err(SshFault::Refused));
    for bytes in
        [&b""[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-1.5-old\r\n", b"SSH-2.0-\x1b[31m\r\n", &[b'x'; 4000]]
    {
        let port = say(bytes);
        assert!(matches!(handshake(&attempt(1), || dial(port)), Err(SshFault::NoBanner(_))), "{bytes:?}");
    }
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let impatient = || {
        let stream = dial(port)?;
        stream.set_read_timeout(Some(Duration::from_millis(50)))?;
        Ok(stream)
    };
    assert_eq!(handshake(&attempt(1), impatient), Err(SshFault::TimedOut));
    // One byte at a time, without end.
    struct Drip;
    impl Read for Drip {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(20));
            to[0] = b'x';
            Ok(1)
        }
    }
    impl Write for Drip {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let short = Handshake { within: Duration::from_millis(100), ..attempt(1) };
    assert_eq!(handshake(&short, || Ok(Drip)), Err(SshFault::TimedOut));
    for bytes in [
        &b"SSH-2.0-x\r\n"[..],
        b"SSH-2.0-x\r\n\xff\xff\xff\xff\0",
        b"SSH-2.0-x\r\n\0\0\0\x0c\x0a\x01\0\0\0\x02\0\0\0\0\0\0",
    ] {
        let port = say(bytes);
        assert!(matches!(handshake(&attempt(1), || dial(port)), Err(SshFault::Protocol(_))), "{bytes:?}");
    }
}

#[test]
fn only_ed25519_keys_are_expected() {
    let line = |text: &str| ExpectedKey::from_line(&text.parse().unwrap());
    let blob = base64::engine::general_purpose::STANDARD.encode(blob_of(&key(1).verifying_key()));
    assert_eq!(line(&format!("ssh-ed25519 {blob} x")), Ok(attempt(1).expected));
    assert!(line(&format!("ssh-rsa {blob}")).is_err());
    for bad in ["ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 ????", "x y"] {
        assert!(line(bad).is_err(), "{bad}");
    }
}

struct Canned(io::Cursor<Vec<u8>>);

impl Read for Canned {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}
impl Write for Canned {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn no_answer_upsets_or_convinces(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in prop_oneof![Just(1u8), Just(20), Just(31), any::<u8>()]) {
        let mut canned = b"SSH-2.0-x\r\n".to_vec();
        let mut payload = vec![kind];
        payload.extend(&bytes);
        send(&mut canned, &our_kexinit(&[1; 32])).unwrap();
        send(&mut canned, &payload).unwrap();
        canned.extend(&bytes);
        let ended = handshake(&attempt(1), || Ok(Canned(io::Cursor::new(canned))));
        prop_assert!(ended.is_err());
        let raw = handshake(&attempt(1), || Ok(Canned(io::Cursor::new(bytes.clone()))));
        prop_assert!(raw.is_err());
    }

    #[test]
    fn numbers_have_no_leading_zeros(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut message = vec![];
        put_number(&mut message, &bytes);
        let number = Fields(&message).next().unwrap();
        prop_assert!(!number.starts_with(&[0]) || number.get(1).is_some_and(|byte| *byte >= 0x80));
        prop_assert!(number.first().is_none_or(|byte| *byte < 0x80));
    }
}
