//! A hub's folder: its files, their hashes, and the state of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::{fs, io};

use groupflow_host::error::plain;

use super::digest::{FileDigest, Stamp};
use super::outgoing::OutgoingFile;
use crate::machine::{FileName, Offer, Verdict};

/// The most files that are considered; the first file beyond is reported once.
const MAX_FILES: usize = 100_000;
/// The most files that may wait to be sent.
const MAX_WAITING: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Nobody wants the file.
    Idle,
    /// The file is being hashed, and will then be queued.
    Hashing,
    /// The file waits for its turn.
    Queued,
    /// The file is being sent.
    Sending,
    Sent,
    /// The file was not sent; one line says why.
    Failed(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub state: FileState,
    /// The file's hash, if it is known.
    pub digest: Option<FileDigest>,
    /// While the file is sent: bytes that no rim is known to lack.
    pub done: u64,
    stamp: Stamp,
    mode: u16,
    /// The file is new or has changed; it is sent once two scans in a row find it unchanged.
    fresh: bool,
    /// The number of the last scan that found the file.
    seen: u64,
}

impl Listed {
    pub fn size(&self) -> u64 {
        self.stamp.size
    }

    fn waits(&self) -> bool {
        matches!(self.state, FileState::Hashing | FileState::Queued | FileState::Sending)
    }
}

pub type ToHash = (FileName, PathBuf);

/// An entry of the folder that cannot be sent, and why.
pub type Skipped = (String, &'static str);

/// An entry that a scan found: its name and, for a regular file, its stamp.
pub type Found = (OsString, Option<Stamp>);

/// Scans a directory. This may take long, so the folder is not locked meanwhile.
pub fn scan(path: &Path) -> io::Result<Vec<Found>> {
    let mut there = Vec::new();
    for found in fs::read_dir(path)? {
        let found = found?;
        if found.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // An entry that has vanished meanwhile counts as never seen.
        let Ok(about) = found.metadata() else { continue };
        there.push((found.file_name(), about.is_file().then(|| Stamp::of(&about))));
    }
    Ok(there)
}

/// The files of a hub, and which of them are to be sent.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether the files that the first scan finds are sent, too.
    all: bool,
    /// The number of scans taken in.
    looks: u64,
    pub files: BTreeMap<FileName, Listed>,
    /// The number of files that wait to be sent, or are being sent.
    waiting: usize,
    skipped: BTreeSet<OsString>,
    /// Files that are ready to be queued.
    pub ready: VecDeque<Offer>,
    /// Files that could not be hashed.
    pub unhashed: Vec<FileName>,
    hasher: Sender<ToHash>,
}

impl Folder {
    /// A folder not scanned yet. The receiver of `hasher` must call [`Folder::hashed`].
    pub fn new(path: PathBuf, all: bool, hasher: Sender<ToHash>) -> Folder {
        let (files, skipped, ready) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        let unhashed = Vec::new();
        Folder { path, all, looks: 0, files, waiting: 0, skipped, ready, unhashed, hasher }
    }

    /// Takes in a part of a scan. Returns the entries that cannot be sent, each of them only once.
    pub fn take_in(&mut self, found: &[Found]) -> Vec<Skipped> {
        let mut news = Vec::new();
        for (file, stamp) in found {
            let name = file.to_str().ok_or("its name is not UTF-8").and_then(FileName::parse);
            let known = name.and_then(|name| Ok((name, stamp.ok_or("it is no regular file")?)));
            match known {
                Ok((name, stamp)) if self.files.len() < MAX_FILES || self.files.contains_key(&name) => {
                    self.see(&name, stamp);
                }
                Ok(_) => self.skip(file, "there are too many files", &mut news),
                Err(why) => self.skip(file, why, &mut news),
            }
        }
        news
    }

    /// Ends a scan that was taken in: a file that it did not find is gone.
    pub fn looked(&mut self) {
        let look = self.looks;
        self.files.retain(|_, file| file.seen == look || file.waits());
        self.looks += 1;
    }

    fn skip(&mut self, file: &OsString, why: &'static str, news: &mut Vec<Skipped>) {
        if self.skipped.len() < MAX_FILES && !self.skipped.contains(file) {
            news.push((file.to_string_lossy().escape_default().to_string(), why));
            self.skipped.insert(file.clone());
        }
    }

    fn see(&mut self, name: &FileName, stamp: Stamp) {
        let (fresh, room) = (self.looks > 0 || self.all, self.waiting < MAX_WAITING);
        let Some(file) = self.files.get_mut(name) else {
            let listed = Listed { fresh, ..self.listed(stamp) };
            self.files.insert(name.clone(), listed);
            return;
        };
        file.seen = self.looks;
        if file.stamp != stamp {
            (file.stamp, file.digest, file.fresh) = (stamp, None, true);
        } else if file.fresh && room && !file.waits() {
            file.fresh = false;
            self.want(name);
        }
    }

    fn listed(&self, stamp: Stamp) -> Listed {
        let (state, digest, seen) = (FileState::Idle, None, self.looks);
        Listed { state, digest, done: 0, stamp, mode: 0, fresh: false, seen }
    }

    /// Asks for a file to be sent.
    pub fn want(&mut self, name: &FileName) -> Verdict {
        let Some(stamp) = self.stamp(name) else { return Verdict::Unknown };
        if self.files.len() >= MAX_FILES && !self.files.contains_key(name) {
            return Verdict::Busy;
        }
        let new = self.listed(stamp);
        let file = self.files.entry(name.clone()).or_insert(new);
        if file.waits() {
            return Verdict::Queued;
        }
        if self.waiting >= MAX_WAITING {
            return Verdict::Busy;
        }
        if let Some(digest) = file.digest.filter(|_| file.stamp == stamp) {
            self.queue(name, digest);
            return Verdict::Queued;
        }
        file.stamp = stamp;
        if self.hasher.send((name.clone(), self.path.join(name.as_str()))).is_err() {
            self.set(name, FileState::Failed("it cannot be hashed".to_owned()));
            return Verdict::Unreadable;
        }
        self.set(name, FileState::Hashing);
        Verdict::Queued
    }

    /// The stamp of a file that is in the folder now.
    fn stamp(&self, name: &FileName) -> Option<Stamp> {
        let about = fs::symlink_metadata(self.path.join(name.as_str())).ok();
        about.filter(fs::Metadata::is_file).map(|about| Stamp::of(&about))
    }

    fn queue(&mut self, name: &FileName, digest: FileDigest) {
        let Some(file) = self.files.get(name) else { return };
        let source = Box::new(OutgoingFile::new(self.path.join(name.as_str()), file.stamp));
        self.ready.push_back(Offer { name: name.clone(), mode: file.mode, digest: digest.0, source });
        self.set(name, FileState::Queued);
    }

    pub fn hashed(&mut self, name: &FileName, result: io::Result<(FileDigest, Stamp, u16)>) {
        let Some(file) = self.files.get_mut(name) else { return };
        match result {
            Ok((digest, stamp, mode)) => {
                (file.digest, file.stamp, file.mode) = (Some(digest), stamp, mode);
                self.queue(name, digest);
            }
            Err(error) => {
                self.set(name, FileState::Failed(plain(&error)));
                self.unhashed.push(name.clone());
            }
        }
    }

    /// Why a file that could not be read is not sent. `None`: the file has changed, and is sent once it
    /// rests.
    pub fn why_unsent(&self, name: &FileName) -> Option<Verdict> {
        let Some(stamp) = self.stamp(name) else { return Some(Verdict::Unknown) };
        let same = self.files.get(name).is_some_and(|file| file.stamp == stamp && !file.fresh);
        same.then_some(Verdict::Unreadable)
    }

    /// Notes how many bytes of a file no rim is known to lack.
    pub fn advance(&mut self, name: &FileName, done: u64) {
        if let Some(file) = self.files.get_mut(name) {
            file.done = done;
        }
    }

    pub fn set(&mut self, name: &FileName, state: FileState) {
        let Some(file) = self.files.get_mut(name) else { return };
        let waited = file.waits();
        file.state = state;
        self.waiting = self.waiting + usize::from(file.waits()) - usize::from(waited);
    }
}

/// Checks that a folder can be scanned; makes the folder if there is none.
pub fn prepare(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    fs::read_dir(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::outgoing::hash;
    use super::*;
    use std::sync::mpsc::{channel, Receiver};

    struct FolderBench {
        folder: Folder,
        to_hash: Receiver<ToHash>,
        path: PathBuf,
    }

    impl FolderBench {
        fn new(test: &str, all: bool) -> FolderBench {
            let path = std::env::temp_dir().join(format!("gfagent-folder-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            prepare(&path).expect("a folder");
            let (sender, to_hash) = channel();
            FolderBench { folder: Folder::new(path.clone(), all, sender), to_hash, path }
        }

        fn put(&self, name: &str, text: &str) {
            fs::write(self.path.join(name), text).expect("written");
        }

        fn look_only(&mut self) -> Vec<Skipped> {
            let found = scan(&self.path).expect("it is there");
            let (one, other) = found.split_at(found.len() / 2);
            let news = [self.folder.take_in(one), self.folder.take_in(other)].concat();
            self.folder.looked();
            news
        }

        /// Scans the folder and hashes new files; returns the names of files that are ready.
        fn look(&mut self) -> Vec<String> {
            self.look_only();
            for (name, path) in self.to_hash.try_iter() {
                self.folder.hashed(&name, hash(&path));
            }
            std::iter::from_fn(|| self.folder.ready.pop_front()).map(|offer| offer.name.to_string()).collect()
        }

        fn state(&self, name: &str) -> FileState {
            self.folder.files[&self::name(name)].state.clone()
        }
    }

    impl Drop for FolderBench {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    fn name(text: &str) -> FileName {
        FileName::parse(text).expect("a name")
    }

    #[test]
    fn what_is_dropped_is_queued_once_it_rests_and_what_was_there_when_asked_for() {
        let mut bench = FolderBench::new("dropped", false);
        bench.put("old", "was there");
        assert_eq!((bench.look(), bench.look()), (vec![], vec![]));
        bench.put("new", "par");
        assert!(bench.look().is_empty(), "it may still grow");
        bench.put("new", "part and more");
        assert!(bench.look().is_empty(), "it did");
        assert_eq!(bench.look(), ["new"]);
        assert_eq!((bench.state("new"), bench.state("old")), (FileState::Queued, FileState::Idle));
        assert!(bench.look().is_empty(), "once");
        assert_eq!(bench.folder.want(&name("old")), Verdict::Queued);
        assert_eq!(bench.folder.want(&name("old")), Verdict::Queued, "it is hashed already");
        assert_eq!(bench.look(), ["old"]);
        for name in ["old", "new"] {
            bench.folder.set(&self::name(name), FileState::Sent);
        }
        assert_eq!(bench.folder.want(&name("old")), Verdict::Queued, "again, and not hashed again");
        assert!(bench.to_hash.try_recv().is_err());
        assert_eq!(bench.look(), ["old"]);
        bench.put("new", "something else");
        bench.look();
        assert_eq!(bench.look(), ["new"], "it changed");
        assert_eq!(bench.folder.want(&name("none")), Verdict::Unknown);
        let mut all = FolderBench::new("all", true);
        all.put("old", "was there");
        all.look();
        assert_eq!(all.look(), ["old"]);
    }

    #[test]
    fn who_wants_what_cannot_be_read_is_told_why_unless_it_is_sent_yet() {
        let mut bench = FolderBench::new("why", false);
        bench.put("a", "one");
        bench.look();
        assert_eq!(bench.folder.want(&name("a")), Verdict::Queued);
        bench.folder.hashed(&name("a"), Err(io::Error::other("no such luck")));
        assert_eq!(std::mem::take(&mut bench.folder.unhashed), [name("a")]);
        assert_eq!(bench.folder.why_unsent(&name("a")), Some(Verdict::Unreadable));
        bench.put("a", "another one");
        assert_eq!(bench.folder.why_unsent(&name("a")), None, "it has changed");
        bench.look_only();
        assert_eq!(bench.folder.why_unsent(&name("a")), None, "it is sent when it rests");
        fs::remove_file(bench.path.join("a")).expect("removed");
        assert_eq!(bench.folder.why_unsent(&name("a")), Some(Verdict::Unknown));
        assert!(std::mem::take(&mut bench.folder.unhashed).is_empty());
    }

    #[test]
    fn what_cannot_be_sent_is_named_once_and_others_are_sent() {
        let mut bench = FolderBench::new("skipped", true);
        fs::create_dir(bench.path.join("sub")).expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", bench.path.join("link")).expect("a link");
        bench.put(".hidden", "x");
        bench.put("a\nb", "x");
        bench.put("good", "x");
        let mut news = bench.look_only();
        news.sort();
        let names = ["a\\nb", "link", "sub"].map(str::to_owned);
        assert_eq!(news.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        assert!(bench.look_only().is_empty());
        assert_eq!(bench.folder.want(&name("link")), Verdict::Unknown, "it leaves the folder");
        assert_eq!(bench.look(), ["good"]);
        fs::remove_file(bench.path.join("good")).expect("removed");
        bench.folder.set(&name("good"), FileState::Sent);
        bench.look();
        assert!(bench.folder.files.is_empty());
    }

    #[test]
    fn a_thousand_wait_and_the_others_follow_as_these_are_sent() {
        let mut bench = FolderBench::new("many", true);
        for n in 0..MAX_WAITING + 5 {
            bench.put(&format!("f{n:04}"), "x");
        }
        bench.look();
        let ready = bench.look();
        assert_eq!(ready.len(), MAX_WAITING);
        assert!(bench.look().is_empty(), "no room");
        let left = (0..MAX_WAITING + 5).map(|n| format!("f{n:04}")).find(|name| !ready.contains(name));
        let left = name(&left.expect("five wait for room"));
        assert_eq!(bench.folder.want(&left), Verdict::Busy);
        bench.folder.set(&name(&ready[0]), FileState::Sent);
        bench.folder.set(&name(&ready[1]), FileState::Failed("it is gone".to_owned()));
        assert_eq!(bench.folder.want(&left), Verdict::Queued, "one has been sent");
        assert_eq!(bench.folder.want(&name(&ready[0])), Verdict::Queued, "and one was given up");
        assert_eq!(bench.folder.want(&name(&ready[1])), Verdict::Busy);
        for name in &ready[2..] {
            bench.folder.set(&self::name(name), FileState::Sent);
        }
        let others = bench.look();
        assert_eq!(others.len(), 2 + 4, "those that were asked for, and those that were new");
        assert_eq!(bench.state("f0001"), FileState::Sent, "once");
    }
}
