//! Edges whose data are datagrams: over a tree's hosts, and against who forges, alters and repeats them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use groupflow_host::channel::Channel;
use groupflow_host::identity::Identity;
use groupflow_host::options::From;
use groupflow_host::trust::{Pin, Trust};
use groupflow_tree::agent::args::{EdgesArg, SlowArg};
use groupflow_tree::agent::datagrams::{Datagrams, Seal, Way};
use groupflow_tree::agent::session::{Options, TreeReader, TreeWriter};
use groupflow_tree::machine::{Carries, ConnId, Datagram, Door};
use rustls::{Connection, ServerConnection};

use super::dispatch::Dispatch;
use super::sessions::{data, until, watched};

const RECORD: usize = 500;
const HOME: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn over_datagrams(options: Options) -> Options {
    let mut options = options;
    (options.host.edges, options.host.slow, options.host.align) =
        (EdgesArg::Datagrams, SlowArg::Skip, RECORD as u64);
    (options.from, options.host.children) = (From::Start, 1);
    options
}

/// What a receiver read: bytes, and those that it was not given. All that it reads is the stream's, and whole records.
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
    for tls in [true, false] {
        let tree = Dispatch::start(tls);
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
                until("it joins", || super::sessions::has(&events, "joined"));
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
            assert!(count > bytes.len() / 2, "receiver {n} got {count}, tls: {tls}");
            let events = events.lock().expect("alive");
            let (_, complete) = events.iter().find(|(name, _)| name == "complete").expect("told");
            let told = &complete["datagrams"];
            assert_eq!(told["came"].as_u64().unwrap_or(0) > 1000, n != 2, "{n}: {complete}");
            assert_eq!(told["sent"].as_u64().unwrap_or(0) > 1000, n == 0 || n == 2, "{n}: {complete}");
        }
    }
}

/// Nobody paces it: what sockets do not hold is lost, and told of; what comes are whole records.
#[test]
fn what_is_sent_too_fast_is_skipped() {
    let tree = Dispatch::start(true);
    let mut source = TreeWriter::start(over_datagrams(tree.options())).expect("started");
    let receiver = TreeReader::start(over_datagrams(tree.options())).expect("started");
    let bytes = data(60_000 * RECORD);
    let all = bytes.clone();
    // Read after all was sent, so that nothing but the sockets and the cache hold it.
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

/// Strangers who know where a host takes datagrams are not heard, and counted.
#[test]
fn strangers_do_not_get_in() {
    for tls in [true, false] {
        let tree = Dispatch::start(tls);
        let mut source = TreeWriter::start(over_datagrams(tree.options())).expect("started");
        let (options, events) = watched(over_datagrams(tree.options()));
        let receiver = TreeReader::start(options).expect("started");
        let last = |field: &str| {
            let events = events.lock().expect("alive");
            let told = events.iter().rev().find_map(|(_, fields)| fields["datagrams"][field].as_u64());
            told.unwrap_or(0)
        };
        until("it tells its port", || last("port") > 0);
        let stranger = UdpSocket::bind((HOME, 0)).expect("a port");
        let bytes = data(20 * RECORD);
        let all = bytes.clone();
        let reader = thread::spawn(move || read_all(receiver, &all));
        for (n, record) in bytes.chunks(RECORD).enumerate() {
            for length in [0, 15, 16, 24, 30, 400, 1300, 9000] {
                let forged = vec![n as u8; length];
                stranger.send_to(&forged, (HOME, last("port") as u16)).expect("sent");
            }
            source.write_all(record).expect("written");
            thread::sleep(Duration::from_millis(2));
        }
        until("they are counted", || last("refused") == 160);
        source.finish().expect("sent");
        assert_eq!(reader.join().expect("it did not panic"), (bytes.len(), 0), "tls: {tls}");
    }
}

/// Both ends of a TLS connection over loopback, after the handshake.
pub fn connected(identity: &Identity) -> (Channel, Channel) {
    let listener = TcpListener::bind((HOME, 0)).expect("a port");
    let std::net::SocketAddr::V4(address) = listener.local_addr().expect("an address") else {
        unreachable!()
    };
    let socket = TcpStream::connect(address).expect("connected");
    let trust = Trust::pinned(Pin::parse(&identity.fingerprint).expect("a pin"), address).expect("trust");
    let client = Connection::Client(trust.begin().expect("a client"));
    let mut child = Channel::begun(socket, Some(client));
    let (socket, _) = listener.accept().expect("accepted");
    let server = Connection::Server(ServerConnection::new(identity.config.clone()).expect("a server"));
    let mut parent = Channel::accepted(socket, Some(server));
    let saying = thread::spawn(move || {
        child.write_all(b"x").expect("said");
        let mut answer = [0];
        child.read_exact(&mut answer).expect("answered");
        child
    });
    let mut said = [0];
    parent.read_exact(&mut said).expect("heard");
    parent.write_all(&said).expect("answered");
    (parent, saying.join().expect("it did not panic"))
}

/// Somebody in between has every datagram, and sends it again, altered in each byte, cut, longer, and into another edge: each
/// is taken once, as it was.
#[test]
fn forged_altered_and_repeated_datagrams_are_refused() {
    let folder = std::env::temp_dir().join(format!("tree-forged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let identity = Identity::open(&folder.join("cert"), &folder.join("key")).expect("made");
    std::fs::remove_dir_all(&folder).expect("removed");
    let (edges, other_edge) = (connected(&identity), connected(&identity));
    let mut parent = Datagrams::open(HOME).expect("a socket");
    let mut child = Datagrams::open(HOME).expect("a socket");
    let between = UdpSocket::bind((HOME, 0)).expect("a port");
    between.set_read_timeout(Some(Duration::from_secs(10))).expect("a while");
    let to = (HOME, child.port());
    let mut serve = |conn: u64, tag: u64, channel: &Channel| {
        let door = Door { carries: Carries::Data, port: between.local_addr().expect("bound").port(), tag };
        parent.serve(ConnId(conn), HOME, door, Seal::of(channel, tag, Way::Down).expect("a key"));
    };
    let (one, two) = (child.expect(ConnId(1)), child.expect(ConnId(2)));
    assert!(one.tag != two.tag && one.port == child.port());
    serve(1, one.tag, &edges.0);
    serve(2, two.tag, &other_edge.0);
    // As if the second edge had the first's name; what is sealed for one says nothing at the other.
    serve(3, one.tag, &other_edge.0);
    let channels = [&edges.1, &other_edge.1];
    let mut taken = Vec::new();
    let take = |child: &mut Datagrams, expected: u64, taken: &mut Vec<(u64, u64, Vec<u8>)>| {
        let end = Instant::now() + Duration::from_secs(10);
        while child.counts.came + child.counts.refused < expected {
            assert!(Instant::now() < end, "{:?} of {expected}", child.counts);
            child.receive(
                |conn, tag| Seal::of(channels[conn.0 as usize - 1], tag, Way::Down),
                |conn, offset, bytes| taken.push((conn.0, offset, bytes.to_vec())),
            );
        }
    };
    let mut count = 0;
    let mut room = [0; 2000];
    for n in 0..20_u64 {
        let bytes = data(40 + n as usize);
        let mut send = |conn: u64| {
            parent.send(&Datagram { to: vec![ConnId(conn)], offset: n * 100, bytes: bytes.clone() });
            let (length, _) = between.recv_from(&mut room).expect("it comes by");
            room[..length].to_vec()
        };
        let (first, second, wrong) = (send(1), send(2), send(3));
        let mut all = vec![wrong];
        for at in 0..first.len() {
            let mut altered = first.clone();
            altered[at] ^= 1 << (n % 8);
            all.push(altered);
            all.push(first[..at].to_vec());
        }
        all.push([&first[..], &[0]].concat());
        for datagram in &all {
            between.send_to(datagram, to).expect("sent");
            count += 1;
            take(&mut child, count, &mut taken);
        }
        // Nothing of that was taken, nor does it keep away what is genuine.
        assert_eq!(taken.len() as u64, 2 * n);
        for datagram in [&second, &first, &first, &second] {
            between.send_to(datagram, to).expect("sent");
            count += 1;
            take(&mut child, count, &mut taken);
        }
        assert_eq!(taken[2 * n as usize..], [(2, n * 100, bytes.clone()), (1, n * 100, bytes)]);
    }
    assert_eq!((child.counts.came, child.counts.refused), (40, count - 40));
    // The edge is gone: so are its datagrams.
    parent.send(&Datagram { to: vec![ConnId(1)], offset: 9, bytes: vec![1] });
    let (length, _) = between.recv_from(&mut room).expect("it comes by");
    child.forget(ConnId(1));
    between.send_to(&room[..length], to).expect("sent");
    take(&mut child, count + 1, &mut taken);
    assert_eq!(taken.len(), 40);
}

/// The longest datagram fits a link of 1,280 bytes, headers and seal and all.
#[test]
fn datagrams_are_never_cut_on_the_way() {
    let (mut parent, tap) =
        (Datagrams::open(HOME).expect("a socket"), UdpSocket::bind((HOME, 0)).expect("a port"));
    let key = ring::aead::UnboundKey::new(&ring::aead::CHACHA20_POLY1305, &[7; 32]).expect("a key");
    let door = Door { carries: Carries::Data, port: tap.local_addr().expect("bound").port(), tag: 1 };
    parent.serve(ConnId(1), HOME, door, Seal::new(key));
    let bytes = vec![1; groupflow_tree::machine::datagram::MAX_PAYLOAD];
    parent.send(&Datagram { to: vec![ConnId(1)], offset: 0, bytes });
    let mut room = [0; 2000];
    let (length, _) = tap.recv_from(&mut room).expect("it comes");
    assert!((1200..=1280 - 48).contains(&length), "{length} bytes");
}

#[test]
fn what_does_not_go_together_with_datagrams_is_said() {
    let tree = Dispatch::start(false);
    type Change = fn(&mut Options);
    let cases: [(Change, &str); 3] = [
        (|options| options.host.slow = SlowArg::Wait, "needs --slow skip"),
        (|options| options.host.parallel = 2, "one connection"),
        (|options| options.host.align = 1 << 20, "too much to be put together"),
    ];
    for (change, text) in cases {
        let mut options = over_datagrams(tree.options());
        change(&mut options);
        let error = TreeReader::start(options).expect_err(text);
        assert!(error.cause.contains(text), "{error}");
    }
}
