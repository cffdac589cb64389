//! Whole streams, slow readers, hosts that leave, and strangers.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::dispatch::Dispatch;
use super::programs::{refused, until, HostOptions, Receiver, Source};

fn data(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(17)) as u8).collect()
}

/// Records of so many bytes, each of which begins with its number.
fn records(count: usize, size: usize) -> Vec<u8> {
    let mut bytes = data(count * size);
    for (number, record) in bytes.chunks_mut(size).enumerate() {
        record[..8].copy_from_slice(&(number as u64).to_be_bytes());
    }
    bytes
}

/// The numbers of whole records that were read, in order. Each is as it was sent.
fn numbers(read: &[u8], sent: &[u8], size: usize) -> Vec<usize> {
    assert_eq!(read.len() % size, 0, "a record is cut");
    let number = |record: &[u8]| {
        let number = record[..8].iter().fold(0, |number, &byte| number << 8 | usize::from(byte));
        assert!(sent[number * size..][..size] == *record, "record {number} has changed");
        number
    };
    let numbers: Vec<usize> = read.chunks(size).map(number).collect();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "records are out of order, or doubled");
    numbers
}

fn from_start(tree: &Dispatch) -> HostOptions {
    tree.options().with("--from", "start")
}

#[test]
fn a_source_and_two_receivers() {
    for tls in [true, false] {
        let tree = Dispatch::start(tls);
        // So the second is below the first.
        let mut source = Source::start(&tree.options().with("--members", 2).with("--children", 1));
        let bytes = data(5_000_000);
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let receiver = Receiver::start(&from_start(&tree));
                thread::spawn(move || {
                    let events = receiver.events();
                    let all = receiver.rest();
                    assert!(events.has("joined"));
                    assert_eq!(events.last("complete").expect("told")["bytes"], all.len());
                    all
                })
            })
            .collect();
        source.write_all(&bytes).expect("written");
        assert_eq!(source.finish(), Ok(bytes.len() as u64), "tls: {tls}");
        for receiver in receivers {
            assert!(receiver.join().expect("it did not panic") == bytes, "tls: {tls}");
        }
    }
}

/// Bytes that are not read are not taken: a writer without a reader waits, after the caches of both hosts
/// and some sockets are full.
#[test]
fn a_reader_that_does_not_read_holds_the_writer_up() {
    const CACHE: usize = 256 << 10;
    // Sockets between, and of, the two hosts: each below a few MiB.
    const MOST: usize = 2 * CACHE + (16 << 20);
    let tree = Dispatch::start(false);
    let mut source = Source::start(&tree.options().with("--cache", CACHE));
    let receiver = Receiver::start(&from_start(&tree).with("--cache", CACHE));
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
    assert!(receiver.rest() == bytes);
    assert_eq!(writer.join().expect("it did not panic"), bytes.len() as u64);
}

/// A source that is stopped has not sent all: receivers are told so, and do not take a part for the whole.
#[test]
fn a_source_that_is_stopped_did_not_end_its_stream() {
    let tree = Dispatch::start(true);
    let mut source = Source::start(&tree.options());
    let mut receiver = Receiver::start(&from_start(&tree));
    source.write_all(b"some").expect("written");
    let mut some = [0; 4];
    receiver.read_exact(&mut some).expect("read");
    assert_eq!(&some, b"some");
    assert_eq!(source.leave().expect_err("it was stopped")["code"], "interrupted");
    let error = receiver.finish().expect_err("it is not complete");
    assert_eq!(error["code"], "sender_lost");
}

/// A source that does not wait for readers leaves when all hosts have all bytes, which can be read later.
#[test]
fn what_a_source_has_finished_can_be_read_when_it_has_gone() {
    let tree = Dispatch::start(true);
    let mut source = Source::start(&tree.options().with("--slow", "isolate"));
    let receiver = Receiver::start(&from_start(&tree).with("--slow", "isolate"));
    let events = receiver.events();
    // More than is on its way to the reader, less than a cache.
    let bytes = data(4_000_000);
    source.write_all(&bytes).expect("written");
    source.finish().expect("sent");
    until("the source has gone", || {
        events.has("joined") && events.last("progress").is_some_and(|event| event["parent"].is_null())
    });
    assert!(receiver.rest() == bytes);
}

/// A receiver that is stopped leaves; the one below it goes on with the next byte.
#[test]
fn a_receiver_that_is_stopped_is_not_missed() {
    let tree = Dispatch::start(true);
    let mut source = Source::start(&tree.options().with("--members", 2).with("--children", 1));
    let first = Receiver::start(&from_start(&tree).with("--children", 1));
    let events = first.events();
    until("the first is in the tree", || events.has("joined"));
    let mut second = Receiver::start(&from_start(&tree));
    let bytes = data(400_000);
    source.write_all(&bytes[..200_000]).expect("written");
    let mut got = vec![0; 100_000];
    second.read_exact(&mut got).expect("read");
    until("the second is below the first", || {
        let serves =
            |event: serde_json::Value| event["children"].as_array().is_some_and(|all| !all.is_empty());
        events.last("progress").is_some_and(serves)
    });
    first.leave().expect_err("it was stopped");
    source.write_all(&bytes[200_000..]).expect("written");
    let sent = thread::spawn(move || source.finish_without_one());
    got.extend(second.rest());
    assert!(got == bytes);
    sent.join().expect("it did not panic");
}

/// Records are skipped as a whole, and the host says where it goes on.
#[test]
fn a_slow_reader_gets_whole_records_and_the_host_says_where_it_goes_on() {
    const RECORD: usize = 1000;
    let tree = Dispatch::start(false);
    let small = |options: HostOptions| {
        options.with("--cache", 64 << 10).with("--slow", "skip").with("--align", RECORD)
    };
    let mut source = Source::start(&small(tree.options()));
    let receiver = Receiver::start(&small(from_start(&tree)));
    let events = receiver.events();
    let bytes = records(8_000, RECORD);
    source.write_all(&bytes).expect("written, though nobody reads");
    let sent = thread::spawn(move || source.finish().expect("sent"));
    let read = numbers(&receiver.rest(), &bytes, RECORD);
    sent.join().expect("it did not panic");
    let holes: Vec<usize> = read.windows(2).filter(|two| two[1] > two[0] + 1).map(|two| two[1]).collect();
    assert!(!holes.is_empty() && read.len() < 8_000, "{} records were read", read.len());
    let skipped = events.all().into_iter().filter(|event| event["event"] == "skipped");
    let told: Vec<u64> = skipped.filter_map(|event| event["to"].as_u64()).collect();
    assert!(holes.iter().all(|&at| told.contains(&((at * RECORD) as u64))), "{holes:?} of {told:?}");
}

/// The one below a host that is killed goes on with the next byte: none is lost, and none comes twice.
#[test]
fn a_parent_that_is_killed_takes_no_byte_with_it() {
    let tree = Dispatch::start(true);
    let mut source = Source::start(&tree.options().with("--children", 1).with("--members", 2));
    let mut first = Receiver::start(&from_start(&tree).with("--children", 1));
    let source_events = source.events();
    until("the first is below the source", || {
        let serves =
            source_events.last("progress").and_then(|event| Some(event["children"].as_array()?.len()));
        serves == Some(1)
    });
    let mut second = Receiver::start(&from_start(&tree).with("--children", 1));
    let events = second.events();
    until("the second is in the tree", || events.has("joined"));
    let bytes = data(8_000_000);
    let all = bytes.clone();
    let writer = thread::spawn(move || {
        source.write_all(&all).expect("written");
        source.finish_without_one();
    });
    let mut got = vec![0; 2_000_000];
    first.read_exact(&mut got).expect("read");
    second.read_exact(&mut got).expect("read");
    drop(first);
    got.extend(second.rest());
    assert!(got == bytes, "{} bytes", got.len());
    writer.join().expect("it did not panic");
}

#[test]
fn a_host_is_told_why_it_is_not_let_in() {
    let tree = Dispatch::start(true);
    let error = Source::start(&tree.options().with("--tls-pin", "0".repeat(64))).finish();
    let error = error.expect_err("another certificate");
    assert!(error["cause"].as_str().is_some_and(|cause| cause.contains("another certificate")), "{error}");
    let said = refused("tree-send", &tree.options().with("--tls-pin", "no fingerprint"));
    assert!(said.contains("it must be"), "{said}");
}

/// Whether the other end has neither closed nor reset a connection.
fn is_open(stranger: &mut TcpStream) -> bool {
    stranger.set_read_timeout(Some(Duration::from_millis(1))).expect("an option");
    loop {
        match stranger.read(&mut [0; 64]) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// A host turns away peers for which it has no descriptor, and others do not wait behind them.
#[test]
fn peers_without_a_descriptor_are_turned_away() {
    let tree = Dispatch::start(false);
    let at = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let limited = tree.options().with("--listen", at).with_descriptors(24);
    let mut source = Source::start(&limited);
    until("the host listens", || TcpStream::connect(at).is_ok());
    let connect = |_| TcpStream::connect(at).expect("the kernel takes it");
    let mut strangers: Vec<TcpStream> = (0..60).map(connect).collect();
    until("no stranger waits to be accepted", || !strangers.iter_mut().any(is_open));
    let receiver = Receiver::start(&from_start(&tree));
    source.write_all(b"all of it").expect("written");
    source.finish().expect("sent");
    assert_eq!(receiver.rest(), b"all of it");
}

/// Strangers connect to a host and say nothing, until they hold all places: the oldest of them gives way, and
/// not whoever comes next, as a child does.
#[test]
fn silent_strangers_keep_no_child_out() {
    let tree = Dispatch::start(false);
    let at = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let mut source = Source::start(&tree.options().with("--listen", at));
    until("the host listens", || TcpStream::connect(at).is_ok());
    // A host has 336 places. Without a word it closes each after 0.6 s, so a slow machine needs another try.
    until("the oldest gives way to the newest", || {
        let connect = |_| TcpStream::connect(at).expect("connected");
        let mut strangers: Vec<TcpStream> = (0..400).map(connect).collect();
        until("the oldest is closed", || !is_open(&mut strangers[0]));
        is_open(&mut strangers[399])
    });
    let receiver = Receiver::start(&from_start(&tree));
    source.write_all(b"all of it").expect("written");
    source.finish().expect("sent");
    assert_eq!(receiver.rest(), b"all of it");
}
