//! Edges over QUIC: streams and datagrams over a tree's hosts, where UDP is blocked, and when a parent is
//! killed.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use groupflow_host::options::StreamStart;
use groupflow_tree::agent::args::{EdgesArg, SlowArg};
use groupflow_tree::agent::session::{HostOptions, TreeReader, TreeWriter};
use serde_json::Value;

use super::dispatch::{Dispatch, TOKEN};
use super::sessions::{data, has, until, watched, EventLog};

const RECORD: usize = 500;
const HOME: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn over_quic(options: HostOptions) -> HostOptions {
    let mut options = options;
    (options.from, options.host.children, options.host.edges) = (StreamStart::Start, 1, EdgesArg::Quic);
    options
}

fn over_datagrams(options: HostOptions) -> HostOptions {
    let mut options = over_quic(options);
    (options.host.edges, options.host.slow, options.host.align) =
        (EdgesArg::Datagrams, SlowArg::Skip, RECORD as u64);
    options
}

/// The last event of a host that has all bytes.
fn complete(events: &EventLog) -> Value {
    let events = events.lock().expect("alive");
    events.iter().find(|(name, _)| name == "complete").expect("told").1.clone()
}

fn read_whole(mut receiver: TreeReader) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        receiver.read_to_end(&mut all).expect("read");
        receiver.finish().expect("complete");
        all
    })
}

/// Hosts below each other; one of them takes its stream over TCP, and one has two connections.
#[test]
fn a_stream_comes_down_a_chain_over_quic() {
    let tree = Dispatch::start(true);
    let mut options = over_quic(tree.options());
    options.members = 4;
    let mut source = TreeWriter::start(options).expect("started");
    let bytes = data(6_000_000);
    let receivers: Vec<_> = (0..4)
        .map(|n| {
            let mut options = over_quic(tree.options());
            match n {
                1 => options.host.parallel = 2,
                2 => options.host.edges = EdgesArg::Stream,
                _ => {}
            }
            let (options, events) = watched(options);
            let receiver = TreeReader::start(options).expect("started");
            until("it joins", || has(&events, "joined"));
            (read_whole(receiver), events)
        })
        .collect();
    source.write_all(&bytes).expect("written");
    assert_eq!(source.finish().expect("sent").bytes, bytes.len() as u64);
    for (n, (reading, events)) in receivers.into_iter().enumerate() {
        assert!(reading.join().expect("it did not panic") == bytes, "receiver {n}");
        assert!(!has(&events, "notice"), "receiver {n}");
        // 6 MB in packets of at most 9 KB; the child of the one over TCP has a parent over QUIC.
        let told = complete(&events);
        assert_eq!(told["quic"]["came"].as_u64().unwrap_or(0) > 500, n != 2, "{n}: {told}");
    }
}

/// Somebody else has the parent's UDP port, and says nothing: so it is where UDP is blocked.
#[test]
fn where_udp_is_blocked_the_stream_comes_over_tcp_and_that_is_said() {
    let tree = Dispatch::start(true);
    let silent = UdpSocket::bind((HOME, 0)).expect("a port");
    let SocketAddr::V4(taken) = silent.local_addr().expect("bound") else { unreachable!() };
    let mut options = tree.options();
    options.host.listen = taken;
    let mut source = TreeWriter::start(options).expect("it is not the source that wants QUIC");
    for over in [over_quic as fn(HostOptions) -> HostOptions, over_datagrams] {
        let began = Instant::now();
        let (options, events) = watched(over(tree.options()));
        let receiver = TreeReader::start(options).expect("started");
        until("it is said", || has(&events, "notice"));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let text =
            events.lock().expect("alive").iter().find(|(name, _)| name == "notice").map(|(_, f)| f.clone());
        assert_eq!(text.expect("said")["what"], "over_tcp");
        drop(receiver);
    }
    let (options, events) = watched(over_quic(tree.options()));
    let reading = read_whole(TreeReader::start(options).expect("started"));
    until("it joins", || has(&events, "joined"));
    let bytes = data(3_000_000);
    source.write_all(&bytes).expect("written");
    source.finish().expect("sent");
    assert!(reading.join().expect("it did not panic") == bytes);
    let mut room = [0; 2000];
    assert!(silent.recv(&mut room).is_ok_and(|length| length >= 1200), "UDP was tried first");
}

/// A host that is to be reached over QUIC says so when it cannot have its port.
#[test]
fn a_host_that_cannot_have_its_udp_port_says_so() {
    let tree = Dispatch::start(true);
    let other = UdpSocket::bind((HOME, 0)).expect("a port");
    let SocketAddr::V4(taken) = other.local_addr().expect("bound") else { unreachable!() };
    let mut options = over_quic(tree.options());
    options.host.listen = taken;
    let error = TreeReader::start(options).expect("started").finish().expect_err("the port is taken");
    assert!(error.cause.contains("cannot listen at"), "{error}");
}

/// `gfagent tree-recv`, which can be killed.
struct ReceiverProcess(Child);

impl ReceiverProcess {
    fn start(tree: &Dispatch, edges: &str) -> ReceiverProcess {
        let pin = tree.pin.clone().expect("encrypted");
        let child = Command::new(env!("CARGO_BIN_EXE_gfagent"))
            .args(["tree-recv", "--to", &tree.address.to_string(), "--tls-pin", &pin])
            .env("GROUPFLOW_TOKEN", TOKEN)
            .args(["--listen", "127.0.0.1:0", "--children", "1", "--edges", edges, "--from", "start"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        ReceiverProcess(child)
    }
}

impl Drop for ReceiverProcess {
    fn drop(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }
}

/// The one below a host that is killed goes on with the next byte: none is lost, and none comes twice.
#[test]
fn a_parent_that_is_killed_takes_no_byte_with_it() {
    let tree = Dispatch::start(true);
    let mut options = over_quic(tree.options());
    options.members = 2;
    let (options, source_events) = watched(options);
    let mut source = TreeWriter::start(options).expect("started");
    let first = ReceiverProcess::start(&tree, "quic");
    let serves = |events: &EventLog| {
        let events = events.lock().expect("alive");
        let last = events.iter().rev().find(|(name, _)| name == "progress");
        last.and_then(|(_, fields)| fields["children"].as_array().map(Vec::len)).unwrap_or(0)
    };
    until("the first is below the source", || serves(&source_events) == 1);
    let (options, events) = watched(over_quic(tree.options()));
    let mut second = TreeReader::start(options).expect("started");
    until("the second is in the tree", || has(&events, "joined"));
    let bytes = data(8_000_000);
    let all = bytes.clone();
    let writer = thread::spawn(move || {
        source.write_all(&all).expect("written");
        source.finish().expect("sent")
    });
    let mut got = vec![0; 2_000_000];
    second.read_exact(&mut got).expect("read");
    drop(first);
    second.read_to_end(&mut got).expect("read");
    assert!(got == bytes, "{} bytes", got.len());
    second.finish().expect("complete");
    writer.join().expect("it did not panic");
    assert!(!has(&events, "notice"), "over QUIC, before and after");
}

/// Bytes that a receiver read, and bytes that were skipped. All that it reads is the stream's, in whole
/// records.
fn read_all(mut receiver: TreeReader, all: &[u8]) -> (usize, usize) {
    let (mut next, mut count, mut missing, mut chunk) = (0, 0, 0, vec![0; 7_000]);
    loop {
        let (at, more) = receiver.read_with_offset(&mut chunk).expect("read");
        let at = at as usize;
        if more == 0 {
            missing += all.len() - next;
            receiver.finish().expect("complete");
            return (count, missing);
        }
        if at != next {
            assert!(at > next && at % RECORD == 0 && next % RECORD == 0, "from {next} to {at}");
            missing += at - next;
        }
        assert!(all[at..at + more] == chunk[..more], "at {at}");
        (next, count) = (at + more, count + more);
    }
}

/// Hosts below each other; the last but one takes a stream, so that the last has a parent that does.
#[test]
fn a_stream_comes_down_a_chain_in_datagrams() {
    let tree = Dispatch::start(true);
    let mut options = over_datagrams(tree.options());
    options.members = 4;
    let mut source = TreeWriter::start(options).expect("started");
    let bytes = data(4000 * RECORD);
    let receivers: Vec<_> = (0..4)
        .map(|n| {
            let mut options = over_datagrams(tree.options());
            if n == 2 {
                options.host.edges = EdgesArg::Stream;
            }
            let (options, events) = watched(options);
            let receiver = TreeReader::start(options).expect("started");
            until("it joins", || has(&events, "joined"));
            let all = bytes.clone();
            (thread::spawn(move || read_all(receiver, &all)), events)
        })
        .collect();
    // About 40 Mbit/s.
    let began = Instant::now();
    for (n, record) in bytes.chunks(RECORD).enumerate() {
        source.write_all(record).expect("written");
        thread::sleep(
            (began + Duration::from_micros(100 * n as u64)).saturating_duration_since(Instant::now()),
        );
    }
    assert_eq!(source.finish().expect("sent").bytes, bytes.len() as u64);
    for (n, (receiver, events)) in receivers.into_iter().enumerate() {
        let (count, missing) = receiver.join().expect("it did not panic");
        assert_eq!(count + missing, bytes.len());
        // On a machine that is busy a socket may be full for a moment.
        assert!(count > bytes.len() / 2, "receiver {n} got {count}");
        let told = complete(&events);
        let came = told["datagrams"]["came"].as_u64().unwrap_or(0);
        assert_eq!(came > 1000, n != 2, "{n}: {told}");
    }
}

/// Records that are sent faster than the path takes them are late, and skipped; those that come are whole.
#[test]
fn datagrams_that_are_sent_too_fast_are_skipped() {
    let tree = Dispatch::start(true);
    let mut source = TreeWriter::start(over_datagrams(tree.options())).expect("started");
    let mut options = over_datagrams(tree.options());
    options.host.deadline_ms = 1;
    let receiver = TreeReader::start(options).expect("started");
    let bytes = data(60_000 * RECORD);
    let all = bytes.clone();
    // Read after all was sent, so that nothing but the host's cache holds it.
    let (sent, told) = std::sync::mpsc::channel();
    let reader = thread::spawn(move || {
        told.recv().expect("told");
        read_all(receiver, &all)
    });
    source.write_all(&bytes).expect("written, though nobody reads");
    sent.send(()).expect("it waits");
    source.finish().expect("sent");
    let (count, missing) = reader.join().expect("it did not panic");
    assert_eq!(count + missing, bytes.len());
    assert!(missing > 0 && count > 0, "{count} came, {missing} did not");
}

/// Strangers who know where a host takes datagrams are not heard, and disturb nobody.
#[test]
fn strangers_do_not_get_in() {
    let tree = Dispatch::start(true);
    let mut options = over_datagrams(tree.options());
    options.host.listen = SocketAddrV4::new(HOME, free_port());
    let at = options.host.listen;
    let mut source = TreeWriter::start(options).expect("started");
    let (options, events) = watched(over_datagrams(tree.options()));
    let receiver = TreeReader::start(options).expect("started");
    until("it joins", || has(&events, "joined"));
    let stranger = UdpSocket::bind((HOME, 0)).expect("a port");
    let bytes = data(20 * RECORD);
    let all = bytes.clone();
    let reader = thread::spawn(move || read_all(receiver, &all));
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
    assert_eq!(reader.join().expect("it did not panic"), (bytes.len(), 0));
}

/// Free for TCP and UDP, as far as is known.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind((HOME, 0)).expect("a port");
    listener.local_addr().expect("bound").port()
}

#[test]
fn what_does_not_go_together_is_said() {
    type Change = fn(&mut HostOptions);
    let cases: [(bool, Change, &str); 4] = [
        (true, |options| options.host.slow = SlowArg::Wait, "needs --slow skip"),
        (true, |options| options.host.parallel = 2, "one connection"),
        (true, |options| options.host.align = 1 << 20, "too much to be put together"),
        (false, |_| {}, "--plain is not"),
    ];
    for (tls, change, text) in cases {
        let tree = Dispatch::start(tls);
        let mut options = over_datagrams(tree.options());
        change(&mut options);
        let error = TreeReader::start(options).expect_err(text);
        assert!(error.cause.contains(text), "{error}");
    }
    let gone = ["tree-recv", "--to", "127.0.0.1:1", "--plain", "--edges", "group"];
    let mut program = Command::new(env!("CARGO_BIN_EXE_gfagent"));
    let done = program.args(gone).env("GROUPFLOW_TOKEN", TOKEN).output().expect("run");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(2) && said.contains("write quic"), "{said}");
}
