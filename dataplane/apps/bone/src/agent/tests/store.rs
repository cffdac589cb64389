use super::*;
use crate::agent::incoming::digest_of;
use crate::machine::FileWrite;
use sha2::{Digest as _, Sha256};

struct StoreBench {
    path: PathBuf,
}

impl StoreBench {
    fn new(test: &str) -> StoreBench {
        let path = std::env::temp_dir().join(format!("gfagent-store-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        StoreBench { path }
    }

    fn open(&self, limit: u64) -> Store {
        Store::open(&self.path, limit).expect("a store").0
    }

    fn there(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }
}

impl Drop for StoreBench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn name(text: &str) -> FileName {
    FileName::parse(text).expect("a name")
}

fn announced(text: &str, bytes: &[u8]) -> Announced {
    let digest = Digest(Sha256::digest(bytes).into());
    Announced { name: name(text), size: bytes.len() as u64, digest }
}

/// Stores a file; returns the names of files that were removed for it.
fn put(store: &mut Store, text: &str, bytes: &[u8]) -> Vec<String> {
    let mut incoming = store.begin(announced(text, bytes)).expect("room");
    // The second half is written first, as repairs may arrive.
    let half = bytes.len() / 2;
    for (offset, part) in [(half, &bytes[half..]), (0, &bytes[..half])] {
        incoming.write(&FileWrite { offset: offset as u64, bytes: part.to_vec() }).expect("written");
    }
    assert!(incoming.complete().expect("read"));
    let gone = store.adopt(incoming).expect("adopted");
    gone.iter().map(ToString::to_string).collect()
}

fn verified(store: &mut Store, text: &str) -> Option<bool> {
    store.open_file(&name(text)).map(|opened| opened.verified)
}

#[test]
fn the_least_recently_used_go_first_and_the_bound_holds() {
    let bench = StoreBench::new("lru");
    let mut store = bench.open(100);
    assert!(put(&mut store, "a", &[1; 40]).is_empty());
    assert!(put(&mut store, "b", &[2; 40]).is_empty());
    assert_eq!(verified(&mut store, "a"), Some(true), "it was used");
    assert_eq!(put(&mut store, "c", &[3; 50]), ["b"]);
    assert_eq!(store.bytes(), 90);
    assert!(bench.there("a") && !bench.there("b") && bench.there("c"));
    assert!(store.begin(announced("d", &[4; 101])).is_err(), "it would never fit");
    assert_eq!(store.bytes(), 90, "nothing went for it");
    assert_eq!(put(&mut store, "d", &[4; 100]), ["a", "c"]);
    // The same name with other content.
    assert_eq!(put(&mut store, "d", &[5; 10]), [""; 0]);
    assert_eq!(store.bytes(), 10);
}

#[test]
fn it_survives_a_restart_and_hashes_before_it_trusts() {
    let bench = StoreBench::new("restart");
    let mut store = bench.open(1000);
    put(&mut store, "a", b"first");
    put(&mut store, "b", b"second");
    put(&mut store, "c", b"third");
    verified(&mut store, "a");
    store.save().expect("saved");
    drop(store.begin(announced("d", b"half")));
    fs::write(bench.path.join(HIDDEN).join("incoming-9"), b"left by a crash").expect("written");
    drop(store);
    fs::remove_file(bench.path.join("b")).expect("removed");
    fs::write(bench.path.join("stranger"), b"not ours").expect("written");
    let (mut store, lost) = Store::open(&bench.path, 1000).expect("a store");
    assert_eq!(lost, [name("b")]);
    assert!(!bench.path.join(HIDDEN).join("incoming-9").exists());
    assert_eq!(store.digest(&name("d")), None);
    assert_eq!(verified(&mut store, "stranger"), None, "what the rim did not store it does not serve");
    let opened = store.open_file(&name("a")).expect("there");
    assert!(!opened.verified);
    let found = digest_of(&opened.file).expect("read");
    assert!(store.judge(&name("a"), opened.stamp, found));
    assert_eq!(verified(&mut store, "a"), Some(true));
    // The order of use survives a restart: c is now the least recently used.
    drop(store);
    let store = bench.open(5);
    assert_eq!(store.files().map(|(name, _)| name.to_string()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_file_that_somebody_touched_is_hashed_again_and_removed_when_it_is_another() {
    let bench = StoreBench::new("touched");
    let mut store = bench.open(1000);
    put(&mut store, "a", b"before");
    let path = bench.path.join("a");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("changed");
    fs::write(&path, b"behind").expect("written");
    let opened = store.open_file(&name("a")).expect("there");
    assert!(!opened.verified);
    let found = digest_of(&opened.file).expect("read");
    assert!(!store.judge(&name("a"), opened.stamp, found));
    assert_eq!(verified(&mut store, "a"), None);
    assert!(!path.exists());
    // A symbolic link in the file's place is not followed.
    put(&mut store, "b", b"before");
    let path = bench.path.join("b");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("/etc/hosts", &path).expect("a link");
    assert_eq!(verified(&mut store, "b"), None);
}

#[test]
fn wrong_bytes_are_not_adopted_and_leave_nothing() {
    let bench = StoreBench::new("wrong");
    let mut store = bench.open(1000);
    let mut incoming = store.begin(announced("a", b"right")).expect("room");
    incoming.write(&FileWrite { offset: 0, bytes: b"wrong".to_vec() }).expect("written");
    assert!(!incoming.complete().expect("read"));
    drop(incoming);
    let left =
        fs::read_dir(bench.path.join(HIDDEN)).expect("a folder").map(|found| found.expect("one").file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
}

#[test]
fn one_rim_at_a_time_and_a_broken_index_is_named() {
    let bench = StoreBench::new("lock");
    let store = bench.open(1000);
    let error = Store::open(&bench.path, 1000).map(drop).expect_err("it is taken");
    assert!(error.cause.ends_with("is another rim's"), "{}", error.cause);
    drop(store);
    fs::write(bench.path.join(HIDDEN).join("index.json"), b"{}").expect("written");
    let error = Store::open(&bench.path, 1000).map(drop).expect_err("it makes no sense");
    assert!(error.cause.contains("version: null is not 1"), "{}", error.cause);
}

#[test]
fn a_new_bound_holds_at_once() {
    let bench = StoreBench::new("bound");
    let mut store = bench.open(1000);
    for name in ["a", "b", "c"] {
        put(&mut store, name, &[1; 100]);
    }
    let gone = |names: Vec<FileName>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(gone(store.set_limit(300)), [""; 0], "they fit");
    assert_eq!(gone(store.set_limit(200)), ["a"]);
    assert_eq!((store.bytes(), bench.there("a"), bench.there("b")), (200, false, true));
    assert!(store.begin(announced("d", &[2; 201])).is_err(), "larger than the bound");
    assert_eq!(gone(store.set_limit(50)), ["b", "c"]);
    store.set_limit(1000);
    assert_eq!(put(&mut store, "d", &[2; 900]), [""; 0], "there is room again");
}

#[test]
fn an_announcement_alone_removes_nothing() {
    let bench = StoreBench::new("announced");
    let mut store = bench.open(100);
    put(&mut store, "a", &[1; 60]);
    let incoming = store.begin(announced("b", &[2; 100])).expect("it may come");
    assert!(bench.there("a"), "nothing has come of the other yet");
    drop(incoming);
    assert_eq!(put(&mut store, "b", &[2; 100]), ["a"]);
}

#[test]
fn a_file_that_is_not_the_rims_is_never_replaced() {
    let bench = StoreBench::new("foreign");
    let mut store = bench.open(100);
    let is_foreign = |error: io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    fs::write(bench.path.join("mine"), b"precious").expect("written");
    assert!(is_foreign(store.begin(announced("mine", b"other")).expect_err("it is not the rim's")));
    let mut late = store.begin(announced("late", b"other")).expect("no such file yet");
    late.write(&FileWrite { offset: 0, bytes: b"other".to_vec() }).expect("written");
    assert!(late.complete().expect("read"));
    std::os::unix::fs::symlink("/nowhere", bench.path.join("late")).expect("a link");
    assert!(is_foreign(store.adopt(late).expect_err("it came meanwhile")));
    assert_eq!(fs::read(bench.path.join("mine")).expect("read"), b"precious");
    assert!(fs::symlink_metadata(bench.path.join("late")).is_ok_and(|about| about.is_symlink()));
    drop(store);
    assert_eq!(bench.open(100).files().count(), 0);
}

#[test]
fn a_files_mode_is_the_rims_own() {
    let bench = StoreBench::new("mode");
    let mut store = bench.open(100);
    put(&mut store, "a", b"bytes");
    let mode = |path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).expect("it").permissions());
    fs::write(bench.path.join("own"), b"").expect("written");
    assert_eq!(mode(bench.path.join("a")), mode(bench.path.join("own")));
}
