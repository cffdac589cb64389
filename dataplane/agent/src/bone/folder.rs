//! A hub's folder: which files it has, what was hashed of them, and how far each is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use groupflow_protocol::bone::{FileName, Offer, Verdict};

use super::digest::{Digest, Stamp};
use super::outgoing::Outgoing;
use crate::input::plain;

/// Files that are looked at; what is beyond is named once.
const MAX_FILES: usize = 100_000;
/// Files that wait to be sent.
const MAX_WAITING: usize = 1000;

/// How far a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nobody wants it.
    Idle,
    /// It is hashed, and then queued.
    Hashing,
    /// It waits for its turn.
    Queued,
    /// It is being sent.
    Sending,
    /// It was sent.
    Sent,
    /// It was not: one line.
    Failed(String),
}

/// What there is to know of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// How far it is.
    pub state: State,
    /// Its hash, if it is known.
    pub digest: Option<Digest>,
    /// While it is sent: bytes that no rim is known to lack.
    pub done: u64,
    stamp: Stamp,
    mode: u16,
    /// It is new or has changed, and is sent when it has been the same for two looks.
    fresh: bool,
}

impl Listed {
    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.stamp.size
    }

    fn waits(&self) -> bool {
        matches!(self.state, State::Hashing | State::Queued | State::Sending)
    }
}

/// A file to be hashed.
pub type ToHash = (FileName, PathBuf);

/// The folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Send what is there at the first look, too.
    all: bool,
    looked: bool,
    files: BTreeMap<FileName, Listed>,
    skipped: BTreeSet<OsString>,
    ready: VecDeque<Offer>,
    hasher: Sender<ToHash>,
}

impl Folder {
    /// Not looked at yet. Who receives from `hasher` calls [`Folder::hashed`].
    pub fn new(path: PathBuf, all: bool, hasher: Sender<ToHash>) -> Folder {
        let (files, skipped, ready) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        Folder { path, all, looked: false, files, skipped, ready, hasher }
    }

    /// What is in it.
    pub fn files(&self) -> &BTreeMap<FileName, Listed> {
        &self.files
    }

    /// Looks what is there. Gives what is there and cannot be sent, each once, and why.
    pub fn look(&mut self) -> io::Result<Vec<(String, &'static str)>> {
        let mut there = BTreeSet::new();
        let mut news = Vec::new();
        for found in fs::read_dir(&self.path)? {
            let found = found?;
            let file = found.file_name();
            if file.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            // What is gone meanwhile was never there.
            let Ok(about) = found.metadata() else { continue };
            let name = file.to_str().ok_or("its name is not UTF-8").and_then(FileName::parse);
            let name = if about.is_file() { name } else { Err("it is no regular file") };
            match name {
                Ok(name) if self.files.len() < MAX_FILES || self.files.contains_key(&name) => {
                    self.see(&name, Stamp::of(&about));
                    there.insert(name);
                }
                Ok(_) => self.skip(file, "there are too many files", &mut news),
                Err(why) => self.skip(file, why, &mut news),
            }
        }
        self.files.retain(|name, file| there.contains(name) || file.waits());
        self.looked = true;
        Ok(news)
    }

    fn skip(&mut self, file: OsString, why: &'static str, news: &mut Vec<(String, &'static str)>) {
        if self.skipped.len() < MAX_FILES && !self.skipped.contains(&file) {
            news.push((file.to_string_lossy().escape_default().to_string(), why));
            self.skipped.insert(file);
        }
    }

    fn see(&mut self, name: &FileName, stamp: Stamp) {
        let fresh = self.looked || self.all;
        let Some(file) = self.files.get_mut(name) else {
            let listed = Listed { state: State::Idle, digest: None, done: 0, stamp, mode: 0, fresh };
            self.files.insert(name.clone(), listed);
            return;
        };
        if file.stamp != stamp {
            (file.stamp, file.digest, file.fresh) = (stamp, None, true);
        } else if file.fresh && !file.waits() {
            file.fresh = false;
            // With too many waiting it is tried at the next look.
            if self.want(name) == Verdict::Busy {
                if let Some(file) = self.files.get_mut(name) {
                    file.fresh = true;
                }
            }
        }
    }

    /// Somebody wants a file sent.
    pub fn want(&mut self, name: &FileName) -> Verdict {
        let path = self.path.join(name.as_str());
        let Some(stamp) = fs::symlink_metadata(&path).ok().filter(|about| about.is_file()) else {
            return Verdict::Unknown;
        };
        let stamp = Stamp::of(&stamp);
        let waiting = self.files.values().filter(|file| file.waits()).count();
        let full = self.files.len() >= MAX_FILES && !self.files.contains_key(name);
        let new = Listed { state: State::Idle, digest: None, done: 0, stamp, mode: 0, fresh: false };
        let file = match full {
            true => return Verdict::Busy,
            false => self.files.entry(name.clone()).or_insert(new),
        };
        if file.waits() {
            return Verdict::Queued;
        }
        if waiting >= MAX_WAITING {
            return Verdict::Busy;
        }
        match file.digest.filter(|_| file.stamp == stamp) {
            Some(digest) => {
                file.state = State::Queued;
                self.ready.push_back(offer(name, path, file, digest));
            }
            None => {
                (file.stamp, file.state) = (stamp, State::Hashing);
                if self.hasher.send((name.clone(), path)).is_err() {
                    file.state = State::Failed("it cannot be hashed".to_owned());
                    return Verdict::Unreadable;
                }
            }
        }
        Verdict::Queued
    }

    /// A file was hashed.
    pub fn hashed(&mut self, name: &FileName, result: io::Result<(Digest, Stamp, u16)>) {
        let path = self.path.join(name.as_str());
        let Some(file) = self.files.get_mut(name) else { return };
        match result {
            Ok((digest, stamp, mode)) => {
                (file.digest, file.stamp, file.mode, file.state) = (Some(digest), stamp, mode, State::Queued);
                self.ready.push_back(offer(name, path, file, digest));
            }
            Err(error) => file.state = State::Failed(plain(&error)),
        }
    }

    /// The next file that can be queued.
    pub fn next_ready(&mut self) -> Option<Offer> {
        self.ready.pop_front()
    }

    /// So many of its bytes are through.
    pub fn advance(&mut self, name: &FileName, done: u64) {
        if let Some(file) = self.files.get_mut(name) {
            file.done = done;
        }
    }

    /// It is so far.
    pub fn set(&mut self, name: &FileName, state: State) {
        if let Some(file) = self.files.get_mut(name) {
            file.state = state;
        }
    }
}

fn offer(name: &FileName, path: PathBuf, file: &Listed, digest: Digest) -> Offer {
    let source = Box::new(Outgoing::new(path, file.stamp));
    Offer { name: name.clone(), mode: file.mode, digest: digest.0, source }
}

/// Whether a folder can be looked at; makes it if it is not there.
pub fn prepare(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    fs::read_dir(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::outgoing::hash;
    use super::*;
    use std::sync::mpsc::{channel, Receiver};

    struct Bench {
        folder: Folder,
        to_hash: Receiver<ToHash>,
        path: PathBuf,
    }

    impl Bench {
        fn new(test: &str, all: bool) -> Bench {
            let path = std::env::temp_dir().join(format!("gfagent-folder-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            prepare(&path).expect("a folder");
            let (sender, to_hash) = channel();
            Bench { folder: Folder::new(path.clone(), all, sender), to_hash, path }
        }

        fn put(&self, name: &str, text: &str) {
            fs::write(self.path.join(name), text).expect("written");
        }

        /// Looks, and hashes what is to be; names that are ready.
        fn look(&mut self) -> Vec<String> {
            self.folder.look().expect("it is there");
            for (name, path) in self.to_hash.try_iter() {
                self.folder.hashed(&name, hash(&path));
            }
            std::iter::from_fn(|| self.folder.next_ready()).map(|offer| offer.name.to_string()).collect()
        }

        fn state(&self, name: &str) -> State {
            self.folder.files()[&self::name(name)].state.clone()
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    fn name(text: &str) -> FileName {
        FileName::parse(text).expect("a name")
    }

    #[test]
    fn what_is_dropped_is_queued_once_it_rests_and_what_was_there_when_asked_for() {
        let mut bench = Bench::new("dropped", false);
        bench.put("old", "was there");
        assert_eq!((bench.look(), bench.look()), (vec![], vec![]));
        bench.put("new", "par");
        assert!(bench.look().is_empty(), "it may still grow");
        bench.put("new", "part and more");
        assert!(bench.look().is_empty(), "it did");
        assert_eq!(bench.look(), ["new"]);
        assert_eq!((bench.state("new"), bench.state("old")), (State::Queued, State::Idle));
        assert!(bench.look().is_empty(), "once");
        assert_eq!(bench.folder.want(&name("old")), Verdict::Queued);
        assert_eq!(bench.folder.want(&name("old")), Verdict::Queued, "it is hashed already");
        assert_eq!(bench.look(), ["old"]);
        for name in ["old", "new"] {
            bench.folder.set(&self::name(name), State::Sent);
        }
        assert_eq!(bench.folder.want(&name("old")), Verdict::Queued, "again, and not hashed again");
        assert!(bench.to_hash.try_recv().is_err());
        assert_eq!(bench.look(), ["old"]);
        bench.put("new", "something else");
        bench.look();
        assert_eq!(bench.look(), ["new"], "it changed");
        assert_eq!(bench.folder.want(&name("none")), Verdict::Unknown);
        let mut all = Bench::new("all", true);
        all.put("old", "was there");
        all.look();
        assert_eq!(all.look(), ["old"]);
    }

    #[test]
    fn what_cannot_be_sent_is_named_once_and_others_are_sent() {
        let mut bench = Bench::new("skipped", true);
        fs::create_dir(bench.path.join("sub")).expect("a folder");
        std::os::unix::fs::symlink("/etc/passwd", bench.path.join("link")).expect("a link");
        bench.put(".hidden", "x");
        bench.put("a\nb", "x");
        bench.put("good", "x");
        let mut news = bench.folder.look().expect("it is there");
        news.sort();
        let names = ["a\\nb", "link", "sub"].map(str::to_owned);
        assert_eq!(news.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        assert!(bench.folder.look().expect("it is there").is_empty());
        assert_eq!(bench.folder.want(&name("link")), Verdict::Unknown, "it leaves the folder");
        assert_eq!(bench.look(), ["good"]);
        fs::remove_file(bench.path.join("good")).expect("removed");
        bench.folder.set(&name("good"), State::Sent);
        bench.look();
        assert!(bench.folder.files().is_empty());
    }
}
