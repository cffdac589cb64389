//! A host's connection to dispatchers that are silent, have no room, or have gone.

use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use groupflow_host::poller::Poller;
use groupflow_tree::agent::dial::HostPollKey;
use groupflow_tree::agent::dispatcher_link::{DispatcherLink, LinkEvent};
use groupflow_tree::machine::messages::ServiceLine;
use groupflow_tree::machine::Members;
use serde_json::{json, Value};

use super::programs::{HostOptions, Receiver};

const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a host waits for the first word of who accepted its connection, and shorter than for the first
/// dispatchers.
const SILENT: Duration = Duration::from_secs(6);

/// Somebody who accepts connections, and its address.
fn listener() -> (TcpListener, SocketAddrV4) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let SocketAddr::V4(at) = listener.local_addr().expect("bound") else { unreachable!() };
    (listener, at)
}

/// A connection, and time that passes as the test says.
struct ControlLine {
    control: DispatcherLink,
    poller: Poller<HostPollKey>,
    now: Instant,
}

impl ControlLine {
    fn to(address: SocketAddrV4) -> ControlLine {
        let now = Instant::now();
        let control = DispatcherLink::new(address, None, PATIENCE, now);
        ControlLine { control, poller: Poller::new().expect("one"), now }
    }

    /// It is connected to this one.
    fn reach(&mut self, listener: &TcpListener) -> TcpStream {
        self.control.keep(self.now, &mut self.poller).expect("it goes on");
        let (socket, _) = listener.accept().expect("it came");
        assert_eq!(self.hear(1), [LinkEvent::Connected]);
        socket
    }

    /// So many things that happen.
    fn hear(&mut self, count: usize) -> Vec<LinkEvent> {
        let mut said = Vec::new();
        let end = Instant::now() + Duration::from_secs(10);
        while said.len() < count {
            assert!(Instant::now() < end, "{said:?}");
            let mut ready = Vec::new();
            self.poller.wait(Some(Duration::from_millis(20)), &mut ready).expect("waited");
            ready.into_iter().for_each(|(_, ready)| self.control.on_ready(ready));
            said.extend(self.control.work(self.now, &mut self.poller).expect("it goes on"));
        }
        said
    }
}

/// Dispatchers that have told how often they give a sign of life are given up when they miss it; without a
/// word from them, after a while.
#[test]
fn silent_dispatchers_are_given_up_and_tried_again() {
    let (silent, at) = listener();
    let mut line = ControlLine::to(at);
    let mut open = line.reach(&silent);
    assert_eq!(line.control.deadline(), Some(line.now + Duration::from_secs(5)));
    line.now += Duration::from_millis(10);
    open.write_all(b"{\"alive\": true}\n").expect("written");
    assert_eq!(line.hear(1), [LinkEvent::Line(ServiceLine::Alive(true))]);
    line.control.silence = Some(Duration::from_secs(2));
    assert_eq!(line.control.deadline(), Some(line.now + Duration::from_secs(2)));
    line.now += SILENT;
    line.reach(&silent);
}

/// Somebody may accept connections there who is none of them.
#[test]
fn dispatchers_that_are_never_heard_are_gone_in_the_end() {
    let (silent, at) = listener();
    let mut line = ControlLine::to(at);
    let mut open = Vec::new();
    let error = loop {
        match line.control.keep(line.now, &mut line.poller) {
            Ok(()) if line.control.is_open() => {
                open.push(silent.accept().expect("it came"));
                line.hear(1);
            }
            Ok(()) => {}
            Err(error) => break error,
        }
        line.now += SILENT;
        assert!(open.len() < 20, "it never ends");
    };
    assert_eq!(error.code, "dispatchers_gone");
    assert!(error.cause.contains("the dispatchers are silent"), "{}", error.cause);
}

/// Messages that have come are heard, though the connection has ended behind them.
#[test]
fn what_comes_with_the_end_of_a_connection_is_heard() {
    let (here, at) = listener();
    let mut line = ControlLine::to(at);
    let mut open = line.reach(&here);
    open.write_all(
        b"{\"alive\": true}\n{\"members\": {\"hosts\": 3, \"receiving\": 0, \"names\": [], \"lost\": {}}}\n",
    )
    .expect("written");
    drop(open);
    let said = line.hear(3);
    let three = Members { hosts: 3, ..Members::default() };
    let lines = [ServiceLine::Alive(true), ServiceLine::Members(three)].map(LinkEvent::Line);
    assert_eq!(said[..2], lines);
    assert_eq!(said[2..], [LinkEvent::Lost]);
}

/// Says these lines to whoever comes first, and then ends the connection.
fn says(listener: TcpListener, lines: Vec<Value>) -> thread::JoinHandle<TcpListener> {
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("it came");
        let mut hello = [0; 4096];
        assert!(socket.read(&mut hello).expect("read") > 0);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        socket.write_all(text.as_bytes()).expect("written");
        listener
    })
}

#[test]
fn a_host_that_is_told_of_the_end_ends() {
    let (here, at) = listener();
    let welcome = json!({"welcome": {"root": "1", "identity": null, "alive_ms": 1000}});
    let ended = json!({"refused": {"code": "ended", "text": "over"}});
    let sending = says(here, vec![welcome, json!({"alive": true}), json!({"later": 1}), ended]);
    let error = Receiver::start(&HostOptions::new(&at, None)).finish().expect_err("it has heard the end");
    assert_eq!(error["code"], "sender_lost", "{error}");
    sending.join().expect("it came");
}

/// A process that has as many connections as it may have, and then fewer.
#[test]
fn who_finds_no_room_comes_again() {
    let (here, at) = listener();
    let full = json!({"refused": {"code": "full", "text": "4096 hosts are connected, as many as may"}});
    let sending = says(here, vec![full]);
    let _receiver = Receiver::start(&HostOptions::new(&at, None));
    let here = sending.join().expect("it came");
    here.accept().expect("and again");
}
