//! Edges over QUIC: streams and datagrams over a tree's hosts, and a parent that is killed.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use super::dispatch::Dispatch;
use super::programs::{refused, until, HostOptions, Receiver, Source};
use super::sessions::{data, numbers, records};

const RECORD: usize = 500;
const HOME: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn receiving(tree: &Dispatch) -> HostOptions {
    tree.options().with("--from", "start").with("--children", 1).with("--edges", "quic")
}

fn sending(tree: &Dispatch) -> HostOptions {
    tree.options().with("--children", 1).with("--edges", "quic")
}

fn in_datagrams(options: HostOptions) -> HostOptions {
    options.with("--edges", "datagrams").with("--slow", "skip").with("--align", RECORD)
}

/// Hosts below each other; one of them takes its stream over TCP, and one has two connections.
#[test]
fn a_stream_comes_down_a_chain_over_quic() {
    let tree = Dispatch::start(true);
    let mut source = Source::start(&sending(&tree).with("--members", 4));
    let bytes = data(6_000_000);
    let receivers: Vec<_> = (0..4)
        .map(|n| {
            let options = match n {
                1 => receiving(&tree).with("--parallel", 2),
                2 => receiving(&tree).with("--edges", "stream"),
                _ => receiving(&tree),
            };
            let receiver = Receiver::start(&options);
            let events = receiver.events();
            until("it joins", || events.has("joined"));
            (thread::spawn(move || receiver.rest()), events)
        })
        .collect();
    source.write_all(&bytes).expect("written");
    assert_eq!(source.finish(), Ok(bytes.len() as u64));
    for (n, (reading, events)) in receivers.into_iter().enumerate() {
        assert!(reading.join().expect("it did not panic") == bytes, "receiver {n}");
        // 6 MB in packets of at most 9 KB; the child of the one over TCP has a parent over QUIC.
        let told = events.last("complete").expect("told");
        assert_eq!(told["quic"]["came"].as_u64().unwrap_or(0) > 500, n != 2, "{n}: {told}");
    }
}

/// A host that is to be reached over QUIC says so when it cannot have its port.
#[test]
fn a_host_that_cannot_have_its_udp_port_says_so() {
    let tree = Dispatch::start(true);
    let other = UdpSocket::bind((HOME, 0)).expect("a port");
    let taken = other.local_addr().expect("bound");
    let error = Receiver::start(&receiving(&tree).with("--listen", taken)).finish();
    let error = error.expect_err("the port is taken");
    assert!(error["cause"].as_str().is_some_and(|cause| cause.contains("cannot listen at")), "{error}");
}

/// The one below a host that is killed goes on with the next byte: none is lost, and none comes twice.
#[test]
fn a_parent_that_is_killed_takes_no_byte_with_it() {
    let tree = Dispatch::start(true);
    let mut source = Source::start(&sending(&tree).with("--members", 2));
    let mut first = Receiver::start(&receiving(&tree));
    let source_events = source.events();
    until("the first is below the source", || {
        let serves =
            source_events.last("progress").and_then(|event| Some(event["children"].as_array()?.len()));
        serves == Some(1)
    });
    let mut second = Receiver::start(&receiving(&tree));
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

/// Hosts below each other; the last but one takes a stream, so that the last has a parent that does.
#[test]
fn a_stream_comes_down_a_chain_in_datagrams() {
    const COUNT: usize = 4000;
    let tree = Dispatch::start(true);
    let mut source = Source::start(&in_datagrams(sending(&tree)).with("--members", 4));
    let bytes = records(COUNT, RECORD);
    let receivers: Vec<_> = (0..4)
        .map(|n| {
            let options = in_datagrams(receiving(&tree));
            let receiver = Receiver::start(&if n == 2 { options.with("--edges", "stream") } else { options });
            let events = receiver.events();
            until("it joins", || events.has("joined"));
            (thread::spawn(move || receiver.rest()), events)
        })
        .collect();
    // About 40 Mbit/s.
    let began = Instant::now();
    for (n, record) in bytes.chunks(RECORD).enumerate() {
        source.write_all(record).expect("written");
        let next = began + Duration::from_micros(100 * n as u64);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    assert_eq!(source.finish(), Ok(bytes.len() as u64));
    for (n, (reading, events)) in receivers.into_iter().enumerate() {
        let count = numbers(&reading.join().expect("it did not panic"), &bytes, RECORD).len();
        // On a machine that is busy a socket may be full for a moment.
        assert!(count > COUNT / 2, "receiver {n} got {count}");
        let told = events.last("complete").expect("told");
        let came = told["datagrams"]["came"].as_u64().unwrap_or(0);
        assert_eq!(came > 1000, n != 2, "{n}: {told}");
    }
}

/// Records that are sent faster than the path takes them are late, and skipped; those that come are whole.
#[test]
fn datagrams_that_are_sent_too_fast_are_skipped() {
    const COUNT: usize = 60_000;
    let tree = Dispatch::start(true);
    let mut source = Source::start(&in_datagrams(sending(&tree)));
    let receiver = Receiver::start(&in_datagrams(receiving(&tree)).with("--deadline-ms", 1));
    let bytes = records(COUNT, RECORD);
    // Read after all was sent, so that nothing but the host's cache holds it.
    source.write_all(&bytes).expect("written, though nobody reads");
    let reading = thread::spawn(move || receiver.rest());
    source.finish().expect("sent");
    let count = numbers(&reading.join().expect("it did not panic"), &bytes, RECORD).len();
    assert!(0 < count && count < COUNT, "{count} of {COUNT} came");
}

/// Strangers who know where a host takes datagrams are not heard, and disturb nobody.
#[test]
fn strangers_do_not_get_in() {
    let tree = Dispatch::start(true);
    let at = SocketAddrV4::new(HOME, free_port());
    let mut source = Source::start(&in_datagrams(sending(&tree)).with("--listen", at));
    let receiver = Receiver::start(&in_datagrams(receiving(&tree)));
    let events = receiver.events();
    until("it joins", || events.has("joined"));
    let stranger = UdpSocket::bind((HOME, 0)).expect("a port");
    let bytes = records(20, RECORD);
    let reading = thread::spawn(move || receiver.rest());
    for (n, record) in bytes.chunks(RECORD).enumerate() {
        for length in [0, 15, 16, 24, 30, 400, 1300, 9000] {
            let mut forged = vec![n as u8; length];
            // As a client's first packet, and as one of a connection that is there.
            forged.first_mut().into_iter().for_each(|first| *first = if n % 2 == 0 { 0xc3 } else { 0x43 });
            stranger.send_to(&forged, at).expect("sent");
        }
        source.write_all(record).expect("written");
        thread::sleep(Duration::from_millis(2));
    }
    source.finish().expect("sent");
    assert!(reading.join().expect("it did not panic") == bytes);
}

/// Free for TCP and UDP, as far as is known.
fn free_port() -> u16 {
    let listener = TcpListener::bind((HOME, 0)).expect("a port");
    listener.local_addr().expect("bound").port()
}

#[test]
fn what_does_not_go_together_is_said() {
    type Change = fn(HostOptions) -> HostOptions;
    let cases: [(bool, Change, &str); 4] = [
        (true, |options| options.with("--slow", "wait"), "needs --slow skip"),
        (true, |options| options.with("--parallel", 2), "one connection"),
        (true, |options| options.with("--align", 1 << 20), "is too much for this --cache"),
        (false, |options| options, "--plain is not"),
    ];
    for (tls, change, text) in cases {
        let tree = Dispatch::start(tls);
        let said = refused("tree-recv", &change(in_datagrams(receiving(&tree))));
        assert!(said.contains(text), "{said}");
    }
}
