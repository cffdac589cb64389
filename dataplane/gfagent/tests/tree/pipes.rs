//! Edges over the group transport: over a tree's hosts, over a path that loses, and against who forges, alters and repeats.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::channel::Channel;
use groupflow_host::identity::Identity;
use groupflow_host::options::From;
use groupflow_tree::agent::args::EdgesArg;
use groupflow_tree::agent::datagrams::Way;
use groupflow_tree::agent::pipes::{Pipes, Seals};
use groupflow_tree::agent::session::{Options, TreeReader, TreeWriter};
use groupflow_tree::machine::{ConnId, HostId};

use super::datagrams::connected;
use super::dispatch::Dispatch;
use super::sessions::{data, has, until, watched};

const HOME: Ipv4Addr = Ipv4Addr::LOCALHOST;
const CONN: ConnId = ConnId(1);
const CHILD: HostId = HostId(7);

fn over_pipes(options: Options) -> Options {
    let mut options = options;
    (options.from, options.host.children, options.host.edges) = (From::Start, 1, EdgesArg::Group);
    options
}

/// Hosts below each other; one of them takes its stream over connections, and one has two pipes.
#[test]
fn a_stream_comes_down_a_chain_in_pipes() {
    for tls in [true, false] {
        let tree = Dispatch::start(tls);
        let mut options = over_pipes(tree.options());
        options.members = 4;
        let mut source = TreeWriter::start(options).expect("started");
        let bytes = data(6_000_000);
        let receivers: Vec<_> = (0..4)
            .map(|n| {
                let mut options = over_pipes(tree.options());
                match n {
                    1 => options.host.parallel = 2,
                    2 => options.host.edges = EdgesArg::Stream,
                    _ => {}
                }
                let (options, events) = watched(options);
                let mut receiver = TreeReader::start(options).expect("started");
                until("it joins", || has(&events, "joined"));
                let reading = thread::spawn(move || {
                    let mut all = Vec::new();
                    receiver.read_to_end(&mut all).expect("read");
                    receiver.finish().expect("complete");
                    all
                });
                (reading, events)
            })
            .collect();
        source.write_all(&bytes).expect("written");
        assert_eq!(source.finish().expect("sent").bytes, bytes.len() as u64, "tls: {tls}");
        for (n, (reading, events)) in receivers.into_iter().enumerate() {
            assert!(reading.join().expect("it did not panic") == bytes, "receiver {n}, tls: {tls}");
            let events = events.lock().expect("alive");
            let (_, complete) = events.iter().find(|(name, _)| name == "complete").expect("told");
            // Who is complete may still be passing it on; a child sends acknowledgements.
            let told = &complete["group"];
            let datagrams = |name: &str| told[name].as_u64().unwrap_or(0);
            assert_eq!(datagrams("came") > 1000, n != 2, "{n}: {complete}");
            assert!(datagrams("sent") > 0, "{n}: {complete}");
            assert_eq!(told["refused"], 0, "{n}: {complete}");
        }
    }
}

/// A parent, its child, and somebody in between who has every datagram.
struct Path {
    began: Instant,
    parent: Pipes,
    child: Pipes,
    between: UdpSocket,
    heard: Vec<u8>,
    /// Bytes that the child was given at once, and whether it was told that they are the first.
    calls: Vec<(usize, bool)>,
    rest: Vec<u8>,
    count: u64,
}

impl Path {
    fn new(channel: &Channel) -> Path {
        let (mut parent, mut child) = (Pipes::open(HOME).expect("a socket"), Pipes::open(HOME).expect("one"));
        let between = UdpSocket::bind((HOME, 0)).expect("a port");
        between.set_nonblocking(true).expect("set");
        let SocketAddr::V4(at) = between.local_addr().expect("bound") else { unreachable!() };
        let door = child.expect(Nanos::ZERO, CONN);
        let seals = Seals::of(channel, door.tag, Way::Down).expect("keys");
        assert!(parent.serve(Nanos::ZERO, (CONN, CHILD, Nanos::ZERO), at, door.tag, seals));
        assert!(parent.carries(CONN) && !child.carries(CONN));
        Path {
            began: Instant::now(),
            parent,
            child,
            between,
            heard: Vec::new(),
            calls: Vec::new(),
            rest: Vec::new(),
            count: 0,
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }

    /// Sends what is to be sent, has `meddle` say what comes of each datagram, and takes it.
    fn step(&mut self, channel: &Channel, mut meddle: impl FnMut(u64, Vec<u8>) -> Vec<Vec<u8>>) {
        let now = self.now();
        while !self.rest.is_empty() && self.parent.takes(CONN) {
            let piece: Vec<u8> = self.rest.drain(..self.rest.len().min(10_000)).collect();
            self.parent.write(CONN, &piece);
        }
        self.parent.send(now);
        self.child.send(now);
        let (parent, child) =
            (SocketAddrV4::new(HOME, self.parent.port()), SocketAddrV4::new(HOME, self.child.port()));
        let mut room = [0; 2000];
        while let Ok((length, SocketAddr::V4(from))) = self.between.recv_from(&mut room) {
            self.count += 1;
            let to = if from == parent { child } else { parent };
            for datagram in meddle(self.count, room[..length].to_vec()) {
                self.between.send_to(&datagram, to).expect("sent");
            }
        }
        self.parent.receive(
            now,
            |_, _| None,
            |_, said, _| assert!(said.is_empty(), "a child says nothing here"),
        );
        let (heard, calls) = (&mut self.heard, &mut self.calls);
        self.child.receive(
            now,
            |_, tag| Seals::of(channel, tag, Way::Up),
            |conn, said, first| {
                assert_eq!(conn, CONN);
                calls.push((said.len(), first));
                heard.extend_from_slice(said);
            },
        );
    }

    fn carry(&mut self, channel: &Channel, bytes: &[u8], meddle: impl Fn(u64, Vec<u8>) -> Vec<Vec<u8>>) {
        self.rest = bytes.to_vec();
        let end = Instant::now() + Duration::from_secs(30);
        while self.heard.len() < bytes.len() || !self.parent.is_over(self.now(), CONN) {
            self.step(channel, &meddle);
            assert!(Instant::now() < end, "{} of {} bytes", self.heard.len(), bytes.len());
        }
        assert!(self.heard == bytes);
        assert!(self.parent.failed(self.now()).is_empty() && self.child.failed(self.now()).is_empty());
    }
}

fn ends() -> (Channel, Channel) {
    let folder = std::env::temp_dir().join(format!("tree-pipes-{:?}", thread::current().id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let identity = Identity::open(&folder.join("cert"), &folder.join("key")).expect("made");
    std::fs::remove_dir_all(&folder).expect("removed");
    connected(&identity)
}

#[test]
fn what_is_lost_goes_again() {
    let (parent, child) = ends();
    let mut path = Path::new(&parent);
    let lose = |n: u64, datagram| if n % 10 == 3 { vec![] } else { vec![datagram] };
    path.carry(&child, &data(2_000_000), lose);
    assert!(path.parent.repeated() > 100, "{} were sent again", path.parent.repeated());
    let before = path.parent.repeated();
    path.parent.forget(path.now(), CONN, true);
    assert_eq!(path.parent.repeated(), before, "the count outlives the edge");
}

/// While something is missing a child is still told that its parent is there: a hole is no silence. It is told once that it begins.
#[test]
fn who_waits_for_what_is_missing_hears_signs_of_life() {
    let (parent, child) = ends();
    let mut path = Path::new(&parent);
    assert!(!path.child.hears(CONN));
    path.rest = data(100_000);
    let sync = std::cell::Cell::new(true);
    // The first packet tells where the stream is; the first with bytes is lost for ever.
    until("others come", || {
        path.step(
            &child,
            |_, datagram| if datagram.len() > 1000 && sync.replace(false) { vec![] } else { vec![datagram] },
        );
        path.child.counts.came > 5
    });
    let heard = path.calls.iter().filter(|&&(_, first)| first).count();
    assert!(path.child.hears(CONN) && !path.parent.hears(CONN));
    assert_eq!(heard, 1, "{:?}", path.calls);
    assert!(
        path.calls.iter().filter(|&&(bytes, first)| bytes == 0 && !first).count() > 0,
        "{:?}",
        path.calls
    );
}

/// Each datagram comes twice, and besides altered, cut off and lengthened: all of that is refused, in both directions.
#[test]
fn forged_altered_and_repeated_packets_change_nothing() {
    let (parent, child) = ends();
    let mut path = Path::new(&parent);
    path.carry(&child, &data(300_000), |n, datagram| {
        let mut altered = datagram.clone();
        let at = (n as usize * 37) % datagram.len();
        altered[at] ^= 1 << (n % 8);
        let (cut, longer) = (datagram[..at].to_vec(), [&datagram[..], &[0]].concat());
        vec![altered, cut, longer, datagram.clone(), datagram]
    });
    let (up, down) = (path.parent.counts, path.child.counts);
    for (end, other) in [(up, down), (down, up)] {
        assert_eq!((end.came, end.refused), (other.sent, 4 * other.sent), "{end:?} {other:?}");
    }
}

/// Those of one direction say nothing in the other, and those of one edge nothing in another.
#[test]
fn packets_that_are_sent_back_are_refused() {
    let (parent, child) = ends();
    let mut path = Path::new(&parent);
    let mut sent = 0;
    path.rest = data(20_000);
    until("some are sent back", || {
        let back = path.parent.port();
        let mut mirrored = Vec::new();
        path.step(&child, |_, datagram| {
            mirrored.push(datagram);
            vec![]
        });
        for datagram in &mirrored {
            path.between.send_to(datagram, (HOME, back)).expect("sent");
            sent += 1;
        }
        sent > 5 && path.parent.counts.refused == sent
    });
    assert_eq!(path.parent.counts.came, 0);
}

#[test]
fn a_child_that_answers_nothing_is_not_waited_for_when_it_is_to_go() {
    let (parent, child) = ends();
    let mut path = Path::new(&parent);
    path.rest = data(1000);
    path.step(&child, |_, _| vec![]);
    let now = path.now();
    assert!(!path.parent.is_over(now, CONN), "something waits");
    path.parent.end(CONN, now + Nanos::from_millis(50));
    assert!(!path.parent.is_over(now, CONN));
    assert!(path.parent.deadline().is_some_and(|due| due <= now + Nanos::from_millis(50)));
    assert!(path.parent.is_over(now + Nanos::from_millis(50), CONN));
}

/// Where datagrams do not come through the child gives its parent up, and comes again: then it is spoken to over its connection.
#[test]
fn a_child_that_was_never_heard_has_no_pipe_for_a_while() {
    let (parent, _child) = ends();
    let (mut pipes, door) = (Pipes::open(HOME).expect("a socket"), SocketAddrV4::new(HOME, 9));
    let at = Nanos::from_millis;
    let mut tag = 0;
    let mut serve = |pipes: &mut Pipes, now, child, round_trip| {
        tag += 1;
        let seals = Seals::of(&parent, tag, Way::Down).expect("keys");
        pipes.serve(now, (CONN, child, round_trip), door, tag, seals)
    };
    assert!(serve(&mut pipes, at(0), CHILD, at(0)));
    pipes.forget(at(50), CONN, true);
    assert!(serve(&mut pipes, at(50), CHILD, at(0)), "so short a time says nothing");
    pipes.forget(at(650), CONN, true);
    assert!(!serve(&mut pipes, at(650), CHILD, at(0)));
    assert!(!pipes.carries(CONN));
    assert!(serve(&mut pipes, at(650), HostId(8), at(0)), "another");
    assert!(pipes.failed(at(1600)).is_empty());
    assert!(pipes.deadline().is_some_and(|due| due <= at(1650)));
    assert_eq!(pipes.failed(at(1650)), [CONN], "it hears, and is not heard");
    assert!(serve(&mut pipes, at(700_000), CHILD, at(0)), "it may have been busy");
}

/// One that is far away, or has another parent before it could answer, is not deaf.
#[test]
fn a_child_that_could_not_be_heard_yet_keeps_its_pipe() {
    let (parent, _child) = ends();
    let (mut pipes, door) = (Pipes::open(HOME).expect("a socket"), SocketAddrV4::new(HOME, 9));
    let at = Nanos::from_millis;
    let serve = |pipes: &mut Pipes, now, round_trip| {
        let seals = Seals::of(&parent, now, Way::Down).expect("keys");
        pipes.serve(at(now), (CONN, CHILD, at(round_trip)), door, now, seals)
    };
    assert!(serve(&mut pipes, 0, 1200));
    assert!(pipes.failed(at(3399)).is_empty() && pipes.failed(at(3400)) == [CONN]);
    pipes.forget(at(2599), CONN, true);
    assert!(serve(&mut pipes, 2599, 0));
    pipes.forget(at(3000), CONN, false);
    assert!(serve(&mut pipes, 3000, 0), "it said that another serves it");
    pipes.forget(at(3400), CONN, true);
    assert!(!serve(&mut pipes, 3400, 0));
}

/// The longest datagram fits a link of 1,280 bytes, headers and seal and all.
#[test]
fn packets_are_never_cut_on_the_way() {
    let (parent, child) = ends();
    let mut path = Path::new(&parent);
    let longest = std::cell::Cell::new(0);
    path.carry(&child, &data(100_000), |_, datagram| {
        longest.set(longest.get().max(datagram.len()));
        vec![datagram]
    });
    assert!((1200..=1280 - 48).contains(&longest.get()), "{} bytes", longest.get());
}
