//! A cache that fills, fails and forgets.

use super::*;
use crate::image::{ImageKind, TrustedKeys};
use ed25519_dalek::{Signer, SigningKey};
use proptest::prelude::*;

fn image(content: &[u8]) -> TrustedImage {
    image_in(ImageFormat::Qcow2, content)
}

fn image_in(format: ImageFormat, content: &[u8]) -> TrustedImage {
    let key = SigningKey::from_bytes(&[3; 32]);
    let mut spec = ImageSpec {
        id: "i".into(),
        sha256: bulk::hex(&Sha256::digest(content)),
        size_bytes: content.len() as u64,
        format,
        virtual_size_bytes: if format == ImageFormat::Raw { content.len() as u64 } else { 512 },
        minimum_disk_bytes: 512,
        kind: ImageKind::Cuda,
        signer_key_id: "k".into(),
        signature: String::new(),
    };
    spec.signature = bulk::hex(&key.sign(spec.signed_text().as_bytes()).to_bytes());
    crate::image::trust(spec, &TrustedKeys::from([("k".to_owned(), bulk::hex(key.verifying_key().as_bytes()))]))
        .unwrap()
}

fn cache(bytes_max: u64) -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path(), bytes_max).unwrap();
    (folder, cache)
}

fn refusal<T: std::fmt::Debug>(ended: Result<T, Fault>) -> ImageRefusal {
    match ended {
        Err(Fault::Refused { refusal: crate::Refusal::Image(refusal) }) => refusal,
        other => panic!("{other:?}"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = all.filter(|name| name != "lock" && !name.ends_with(".used")).collect();
    names.sort();
    names
}

#[test]
fn an_image_comes_whole_or_not_at_all() {
    let (folder, cache) = cache(1000);
    let (content, none) = (vec![7; 300], BTreeSet::new());
    let wanted = image(&content);
    assert!(matches!(refusal(cache.verify_cached(&wanted)), ImageRefusal::NotCached { .. }));
    let fetch = |bytes: &[u8]| cache.fetch(&wanted, &mut &*bytes, &none);
    assert_eq!(refusal(fetch(&content[..299])), ImageRefusal::Length { expected: 300, found: 299 });
    assert_eq!(refusal(fetch(&[7; 5000])), ImageRefusal::Length { expected: 300, found: 301 });
    assert!(matches!(refusal(fetch(&[8; 300])), ImageRefusal::Digest { .. }));
    assert!(matches!(cache.fetch(&wanted, &mut Failing, &none), Err(Fault::Io { .. })));
    assert_eq!(names(folder.path()), Vec::<String>::new());
    fetch(&content).unwrap().unchanged().unwrap();
    assert_eq!(names(folder.path()), [wanted.spec().sha256.clone()]);
    // What is there is not fetched again.
    cache.fetch(&wanted, &mut Failing, &none).unwrap();
    cache.verify_cached(&wanted).unwrap();
}

#[test]
fn two_can_hold_an_image_and_both_see_a_change() {
    let (folder, cache) = cache(1000);
    let wanted = image(&[7; 300]);
    let one = cache.fetch(&wanted, &mut &[7; 300][..], &BTreeSet::new()).unwrap();
    let two = cache.verify_cached(&wanted).unwrap();
    assert!(one.unchanged().is_ok() && two.unchanged().is_ok());
    let path = folder.path().join(&wanted.spec().sha256);
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"x", 5).unwrap();
    assert!(one.unchanged().is_err() && two.unchanged().is_err());
}

#[test]
fn a_raw_image_is_read_once_while_nobody_writes_to_it() {
    use KnownBy::{EarlierReading, Reading};
    let (folder, cache) = cache(4096);
    let content = [7; 512];
    let wanted = image_in(ImageFormat::Raw, &content);
    let known = |cache: &Cache| cache.verify_cached(&wanted).unwrap().known_by();
    cache.fetch(&wanted, &mut &content[..], &BTreeSet::new()).unwrap();
    assert_eq!([known(&cache), known(&cache), known(&cache.clone())], [Reading, EarlierReading, EarlierReading]);
    // Whoever was started anew, or has reason to doubt, reads it.
    assert_eq!(known(&Cache::open(folder.path(), 4096).unwrap()), Reading);
    cache.doubt(&wanted.spec().sha256);
    assert_eq!([known(&cache), known(&cache)], [Reading, EarlierReading]);
    // A file that was touched is read, and one that was written to is not what it was.
    let path = folder.path().join(&wanted.spec().sha256);
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!([known(&cache), known(&cache)], [Reading, EarlierReading]);
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"x", 5).unwrap();
    assert!(matches!(refusal(cache.verify_cached(&wanted)), ImageRefusal::Digest { .. }));
    assert!(matches!(refusal(cache.verify_cached(&wanted)), ImageRefusal::NotCached { .. }));
    // Of other formats it is the content of the file that a clone is compared with.
    let other = image(&[8; 300]);
    cache.fetch(&other, &mut &[8; 300][..], &BTreeSet::new()).unwrap();
    let twice = [(); 2].map(|()| cache.verify_cached(&other).unwrap().known_by());
    assert_eq!(twice, [Reading, Reading]);
}

#[test]
fn zeros_of_an_image_are_kept_as_holes() {
    let (folder, cache) = cache(1 << 30);
    let mut content = vec![0; 3 << 20];
    content[1 << 20] = 1;
    let wanted = image(&content);
    cache.fetch(&wanted, &mut content.as_slice(), &BTreeSet::new()).unwrap();
    let path = folder.path().join(&wanted.spec().sha256);
    assert!(fs::read(&path).unwrap() == content);
    assert!(fs::metadata(&path).unwrap().blocks() * 512 < 1 << 20);
    cache.verify_cached(&wanted).unwrap();
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the line is dead"))
    }
}

#[test]
fn a_file_that_is_not_what_its_name_says_goes() {
    let (folder, cache) = cache(1000);
    let content = [1; 64];
    let wanted = image(&content);
    let path = folder.path().join(&wanted.spec().sha256);
    fs::write(&path, [2; 64]).unwrap();
    assert!(matches!(refusal(cache.verify_cached(&wanted)), ImageRefusal::Digest { .. }));
    assert!(!path.exists());
    fs::write(&path, [1; 63]).unwrap();
    assert!(matches!(refusal(cache.verify_cached(&wanted)), ImageRefusal::Length { .. }));
    assert!(!path.exists());
}

#[test]
fn what_a_killed_fetch_left_is_swept_and_strangers_stay() {
    let (folder, cache) = cache(1000);
    let wanted = image(&[1; 64]);
    fs::write(folder.path().join(format!("{}.part", wanted.spec().sha256)), "half").unwrap();
    fs::write(folder.path().join("README"), "not ours").unwrap();
    cache.fetch(&wanted, &mut &[1; 64][..], &BTreeSet::new()).unwrap();
    assert_eq!(names(folder.path()), {
        let mut expected = vec!["README".to_owned(), wanted.spec().sha256.clone()];
        expected.sort();
        expected
    });
}

#[test]
fn the_image_not_used_for_longest_goes_and_a_pinned_one_never() {
    let (_folder, cache) = cache(250);
    let images: Vec<(Vec<u8>, TrustedImage)> = (0..4).map(|n| (vec![n; 100], image(&[n; 100]))).collect();
    let fetch = |at: usize, pinned: &BTreeSet<String>| cache.fetch(&images[at].1, &mut images[at].0.as_slice(), pinned);
    let digest = |at: usize| images[at].1.spec().sha256.clone();
    let held = || cache.entries().unwrap().into_iter().map(|entry| entry.sha256).collect::<BTreeSet<_>>();
    fetch(0, &BTreeSet::new()).unwrap();
    fetch(1, &BTreeSet::new()).unwrap();
    let pinned = BTreeSet::from([digest(0)]);
    fetch(2, &pinned).unwrap();
    assert_eq!(held(), BTreeSet::from([digest(0), digest(2)]));
    let both = BTreeSet::from([digest(0), digest(2)]);
    assert_eq!(refusal(fetch(3, &both)), ImageRefusal::CacheFull { needed: 100, free: 50 });
    assert_eq!(held(), both);
}

#[test]
fn clutter_is_told_and_tidied_without_what_is_pinned() {
    let (folder, cache) = cache(250);
    let digests: Vec<String> = (0..3).map(|n| image(&[n; 100]).spec().sha256.clone()).collect();
    for (digest, n) in digests.iter().zip(0..) {
        fs::write(folder.path().join(digest), [n; 100]).unwrap();
    }
    fs::write(folder.path().join("x.part"), "half").unwrap();
    assert_eq!(cache.clutter().unwrap(), (50, vec!["x.part".to_owned()]));
    let pinned: BTreeSet<String> = digests.iter().cloned().collect();
    cache.tidy(&pinned).unwrap();
    assert_eq!(cache.clutter().unwrap(), (50, vec![]), "what is pinned stays, also beyond the limit");
    cache.tidy(&BTreeSet::new()).unwrap();
    assert_eq!(cache.clutter().unwrap(), (0, vec![]));
    assert_eq!(cache.entries().unwrap().len(), 2);
    let _lock = cache.lock().unwrap();
    fs::write(folder.path().join("x.part"), "half").unwrap();
    assert_eq!(cache.clutter().unwrap(), (0, vec![]), "while a fetch is under way its part is its own");
}

#[test]
fn two_fetches_at_once_are_refused() {
    let (_folder, cache) = cache(1000);
    let _lock = cache.lock().unwrap();
    assert_eq!(refusal(cache.fetch(&image(&[1]), &mut &[1][..], &BTreeSet::new())), ImageRefusal::CacheBusy);
}

proptest! {
    #[test]
    fn room_is_made_without_touching_what_is_pinned(
        sizes in proptest::collection::vec((0u64..100, any::<bool>(), 0i128..5), 0..12), needed in 0u64..200, bytes_max in 0u64..500
    ) {
        let entries: Vec<Entry> = sizes.iter().enumerate()
            .map(|(index, (bytes, _, used_ns))| Entry { sha256: format!("{index:02}"), bytes: *bytes, used_ns: *used_ns }).collect();
        let pinned: BTreeSet<String> = sizes.iter().zip(&entries).filter(|(size, _)| size.1).map(|(_, entry)| entry.sha256.clone()).collect();
        let kept: u64 = entries.iter().filter(|entry| pinned.contains(&entry.sha256)).map(|entry| entry.bytes).sum();
        match make_room(&entries, needed, bytes_max, &pinned) {
            Err(_) => prop_assert!(kept + needed > bytes_max),
            Ok(going) => {
                prop_assert!(going.iter().all(|sha256| !pinned.contains(sha256)));
                let left = entries.iter().filter(|entry| !going.contains(&entry.sha256));
                prop_assert!(left.clone().map(|entry| entry.bytes).sum::<u64>() + needed <= bytes_max);
                let newest_gone = entries.iter().filter(|entry| going.contains(&entry.sha256)).map(|entry| entry.used_ns).max();
                let free = left.filter(|entry| !pinned.contains(&entry.sha256));
                prop_assert!(free.map(|entry| entry.used_ns).min().is_none_or(|oldest| newest_gone.is_none_or(|gone| gone <= oldest)));
            }
        }
    }
}
