use super::super::folder::hash;
use super::super::shelf::Desk;
use super::*;
use groupflow_host::process::Wake;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

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
        self.folder.end_scan();
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
        bench.folder.set(&self::name(name), FileState::Sent(None));
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
    bench.folder.set(&name("good"), FileState::Sent(None));
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
    bench.folder.set(&name(&ready[0]), FileState::Sent(None));
    bench.folder.set(&name(&ready[1]), FileState::Failed("it is gone".to_owned()));
    assert_eq!(bench.folder.want(&left), Verdict::Queued, "one has been sent");
    assert_eq!(bench.folder.want(&name(&ready[0])), Verdict::Queued, "and one was given up");
    assert_eq!(bench.folder.want(&name(&ready[1])), Verdict::Busy);
    for name in &ready[2..] {
        bench.folder.set(&self::name(name), FileState::Sent(None));
    }
    let others = bench.look();
    assert_eq!(others.len(), 2 + 4, "those that were asked for, and those that were new");
    assert_eq!(bench.state("f0001"), FileState::Sent(None), "once");
}

#[test]
fn files_that_wait_to_be_hashed_hold_up_no_scan() {
    let bench = FolderBench::new("desk", true);
    (0..400).for_each(|number| bench.put(&number.to_string(), "text"));
    let wake = Wake::new().expect("a descriptor");
    let (desk, scans) = Desk::new(bench.path.clone(), true, Duration::ZERO, wake).expect("a thread");
    // A file may be hashed once it was the same in two scans.
    (0..3).for_each(|_| drop(scans.recv().expect("a scan")));
    assert!(desk.folder().ready.len() < 400, "all files were hashed before the third scan");
}
