//! `tree::session`: hosts within programs.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use groupflow_host::options::StreamStart;
use groupflow_tree::agent::args::{EdgesArg, SlowArg};
use groupflow_tree::agent::session::{HostOptions, TreeReader, TreeWriter};
use serde_json::Value;

use super::dispatch::Dispatch;

/// Long enough for all that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn data(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(17)) as u8).collect()
}

/// Events of a host.
pub type EventLog = Arc<Mutex<Vec<(String, Value)>>>;

pub fn watched(options: HostOptions) -> (HostOptions, EventLog) {
    let events = EventLog::default();
    let told = events.clone();
    let options = options
        .on_event(move |name, fields| told.lock().expect("alive").push((name.to_owned(), fields.clone())));
    (options, events)
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: not in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether the host was told to have such an event.
pub fn has(events: &EventLog, name: &str) -> bool {
    events.lock().expect("alive").iter().any(|(event, _)| event == name)
}

fn from_start(tree: &Dispatch) -> HostOptions {
    let mut options = tree.options();
    options.from = StreamStart::Start;
    options
}

#[test]
fn a_source_and_two_receivers_in_one_program() {
    for tls in [true, false] {
        let tree = Dispatch::start(tls);
        let mut options = tree.options();
        // So the second is below the first.
        (options.members, options.host.children) = (2, 1);
        let mut source = TreeWriter::start(options).expect("started");
        let bytes = data(5_000_000);
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let (options, events) = watched(from_start(&tree));
                let mut receiver = TreeReader::start(options).expect("started");
                thread::spawn(move || {
                    let mut all = Vec::new();
                    receiver.read_to_end(&mut all).expect("read");
                    let summary = receiver.finish().expect("complete");
                    assert_eq!(summary.bytes, all.len() as u64);
                    assert!(has(&events, "joined") && has(&events, "complete"));
                    all
                })
            })
            .collect();
        source.write_all(&bytes).expect("written");
        assert_eq!(source.finish().expect("sent").bytes, bytes.len() as u64, "tls: {tls}");
        for receiver in receivers {
            assert!(receiver.join().expect("it did not panic") == bytes, "tls: {tls}");
        }
    }
}

/// Bytes that are not read are not taken: a writer without a reader waits, after the caches of both hosts
/// and some sockets are full.
#[test]
fn a_reader_that_does_not_read_holds_the_writer_up() {
    [EdgesArg::Stream, EdgesArg::Quic].into_iter().for_each(a_writer_waits);
}

fn a_writer_waits(edges: EdgesArg) {
    const CACHE: usize = 256 << 10;
    // Sockets between, and of, the two hosts: each below a few MiB.
    const MOST: usize = 2 * CACHE + (16 << 20);
    let tree = Dispatch::start(edges == EdgesArg::Quic);
    let mut options = tree.options();
    options.host.cache = CACHE as u64;
    let mut source = TreeWriter::start(options).expect("started");
    let mut options = from_start(&tree);
    options.host.edges = edges;
    options.host.cache = CACHE as u64;
    let mut receiver = TreeReader::start(options).expect("started");
    let written = Arc::new(Mutex::new(0));
    let count = written.clone();
    let bytes = data(3 * MOST);
    let all = bytes.clone();
    let writer = thread::spawn(move || {
        for chunk in all.chunks(64 << 10) {
            source.write_all(chunk).expect("written");
            *count.lock().expect("alive") += chunk.len();
        }
        source.finish().expect("sent")
    });
    let (mut before, mut since) = (0, Instant::now());
    // Nothing for a second: it waits.
    until("the writer waits", || {
        let now = *written.lock().expect("alive");
        if now != before {
            (before, since) = (now, Instant::now());
        }
        now > 0 && since.elapsed() > Duration::from_secs(1)
    });
    assert!(before < MOST, "{before} bytes were taken that nobody read");
    let mut got = Vec::new();
    receiver.read_to_end(&mut got).expect("read");
    assert!(got == bytes);
    assert_eq!(writer.join().expect("it did not panic").bytes, bytes.len() as u64);
    receiver.finish().expect("complete");
}

/// A source that is dropped has not sent all: receivers are told so, and do not take a part for the whole.
#[test]
fn a_source_that_is_dropped_did_not_end_its_stream() {
    let tree = Dispatch::start(true);
    let mut source = TreeWriter::start(tree.options()).expect("started");
    let mut receiver = TreeReader::start(from_start(&tree)).expect("started");
    source.write_all(b"some").expect("written");
    let mut some = [0; 4];
    receiver.read_exact(&mut some).expect("read");
    assert_eq!(&some, b"some");
    drop(source);
    let error = receiver.read(&mut some).expect_err("nothing more comes");
    assert!(error.to_string().contains("the source has left"), "{error}");
    let error = receiver.finish().expect_err("it is not complete");
    assert_eq!(error.code, "sender_lost");
}

/// A source leaves when all hosts have all bytes; a receiver can read them later.
#[test]
fn what_a_source_has_finished_can_be_read_when_it_has_gone() {
    let tree = Dispatch::start(true);
    let mut source = TreeWriter::start(tree.options()).expect("started");
    let (options, events) = watched(from_start(&tree));
    let mut receiver = TreeReader::start(options).expect("started");
    // More than is on its way to the reader, less than a cache.
    let bytes = data(4_000_000);
    source.write_all(&bytes).expect("written");
    source.finish().expect("sent");
    until("the source has gone", || {
        let in_the_tree = has(&events, "joined");
        let events = events.lock().expect("alive");
        let last = events.iter().rev().find(|(name, _)| name == "progress");
        in_the_tree && last.is_some_and(|(_, fields)| fields["parent"].is_null())
    });
    let mut got = Vec::new();
    receiver.read_to_end(&mut got).expect("read");
    assert!(got == bytes);
    receiver.finish().expect("complete");
}

/// A receiver that is dropped leaves; the one below it goes on with the next byte.
#[test]
fn a_receiver_that_is_dropped_is_not_missed() {
    let tree = Dispatch::start(true);
    let mut options = tree.options();
    (options.members, options.host.children) = (2, 1);
    let mut source = TreeWriter::start(options).expect("started");
    let mut first_options = from_start(&tree);
    first_options.host.children = 1;
    let (first_options, events) = watched(first_options);
    let first = TreeReader::start(first_options).expect("started");
    until("the first is in the tree", || has(&events, "joined"));
    let mut second = TreeReader::start(from_start(&tree)).expect("started");
    let bytes = data(400_000);
    source.write_all(&bytes[..200_000]).expect("written");
    let mut got = vec![0; 100_000];
    second.read_exact(&mut got).expect("read");
    let serves = |fields: &Value| fields["children"].as_array().is_some_and(|children| !children.is_empty());
    let is_parent =
        || events.lock().expect("alive").iter().any(|(name, fields)| name == "progress" && serves(fields));
    until("the second is below the first", is_parent);
    drop(first);
    source.write_all(&bytes[200_000..]).expect("written");
    let sent = thread::spawn(move || source.finish().expect("sent"));
    second.read_to_end(&mut got).expect("read");
    assert!(got == bytes);
    second.finish().expect("complete");
    sent.join().expect("it did not panic");
}

/// Each read says where it belongs; together with skips they are whole records.
#[test]
fn a_slow_reader_is_told_where_it_goes_on() {
    const RECORD: usize = 1000;
    let tree = Dispatch::start(false);
    let small = |mut options: HostOptions| {
        (options.host.cache, options.host.slow, options.host.align) =
            (64 << 10, SlowArg::Skip, RECORD as u64);
        options
    };
    let mut source = TreeWriter::start(small(tree.options())).expect("started");
    let (options, events) = watched(small(from_start(&tree)));
    let mut receiver = TreeReader::start(options).expect("started");
    let bytes = data(8_000 * RECORD);
    source.write_all(&bytes).expect("written, though nobody reads");
    let sent = thread::spawn(move || source.finish().expect("sent"));
    let (mut next, mut holes, mut count, mut chunk) = (0, Vec::new(), 0, vec![0; 10_000]);
    loop {
        let (at, more) = receiver.read_with_offset(&mut chunk).expect("read");
        if more == 0 {
            break;
        }
        assert!(bytes[at as usize..][..more] == chunk[..more], "at {at}");
        if at != next {
            holes.push(at);
        }
        next = at + more as u64;
        count += more;
    }
    sent.join().expect("it did not panic");
    receiver.finish().expect("complete");
    assert!(!holes.is_empty() && count < bytes.len(), "{count} bytes were read");
    assert!(holes.iter().all(|at| at % RECORD as u64 == 0), "{holes:?}");
    let told: Vec<u64> = events
        .lock()
        .expect("alive")
        .iter()
        .filter(|(name, _)| name == "skipped")
        .filter_map(|(_, fields)| fields["to"].as_u64())
        .collect();
    assert!(holes.iter().all(|at| told.contains(at)), "{holes:?} of {told:?}");
}

#[test]
fn a_program_is_told_why_it_is_not_let_in() {
    let tree = Dispatch::start(true);
    let mut options = tree.options();
    options.host.secure = groupflow_host::secure::SecureSend::pinned(&"0".repeat(64)).expect("a fingerprint");
    let error = TreeWriter::start(options).expect("started").finish().expect_err("another certificate");
    assert!(error.cause.contains("another certificate"), "{error}");
    let secure = groupflow_host::secure::SecureSend::plain();
    let error = HostOptions::new(tree.address, "no token", secure).err().expect("no token");
    assert!(error.cause.contains("a token is"), "{error}");
}

/// Strangers connect to a host and say nothing, until they hold all places: the oldest of them gives way, and
/// not whoever comes next, as a child does.
#[test]
fn silent_strangers_keep_no_child_out() {
    let tree = Dispatch::start(false);
    let at = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let std::net::SocketAddr::V4(at) = at else { unreachable!() };
    let mut options = tree.options();
    options.host.listen = at;
    let mut source = TreeWriter::start(options).expect("started");
    let is_open = |stranger: &mut TcpStream| {
        stranger.set_read_timeout(Some(Duration::from_millis(1))).expect("an option");
        loop {
            match stranger.read(&mut [0; 64]) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
        }
    };
    until("the host listens", || TcpStream::connect(at).is_ok());
    // A host has 336 places. Without a word it closes each after 0.6 s, so a slow machine needs another try.
    until("the oldest gives way to the newest", || {
        let connect = |_| TcpStream::connect(at).expect("connected");
        let mut strangers: Vec<TcpStream> = (0..400).map(connect).collect();
        until("the oldest is closed", || !is_open(&mut strangers[0]));
        is_open(&mut strangers[399])
    });
    let mut receiver = TreeReader::start(from_start(&tree)).expect("started");
    source.write_all(b"all of it").expect("written");
    source.finish().expect("sent");
    let mut all = Vec::new();
    receiver.read_to_end(&mut all).expect("read");
    assert_eq!(all, b"all of it");
}
