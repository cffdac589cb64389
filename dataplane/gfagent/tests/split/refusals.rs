//! Bad input: from senders, from agents, from the control socket, from the command line.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;

use groupflow_base::codec::Envelopes;
use groupflow_base::StreamId;
use groupflow_split::machine::frame::Preamble;
use groupflow_split::machine::frame::{Fault, SplitFrame};
use groupflow_transport::fanout::Mode;
use serde_json::{json, Value};

use crate::harness::{random_bytes, send, Manner, MemberProgram, SplitNetwork, PATIENCE, SESSION};

#[test]
fn a_session_without_members_refuses_senders() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    agent.set(network.spec(1, &[], json!({})));
    let error = network.connect(1).read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    assert_eq!(agent.wait_for("refused", |_| true)["code"], "no_members");
}

/// The answer of an agent to a peer that connects as another agent, from another agent's address.
fn answer(network: &SplitNetwork, from: u8, bytes: &[u8]) -> Result<Vec<SplitFrame>, ErrorKind> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.bind(&std::net::SocketAddrV4::new(network.address(from), 0).into()).expect("an address");
    socket.connect(&network.peer(1).into()).expect("the agent listens");
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(bytes).expect("sent");
    stream.shutdown(std::net::Shutdown::Write).expect("ended");
    let mut back = Vec::new();
    stream.read_to_end(&mut back).map_err(|e| e.kind())?;
    let (mut envelopes, mut frames, mut input) = (Envelopes::default(), Vec::new(), &back[..]);
    while let Some(frame) = SplitFrame::next(&mut envelopes, &mut input).expect("frames") {
        frames.push(frame);
    }
    Ok(frames)
}

#[test]
fn an_agent_says_why_it_does_not_take_a_stream() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    let member = MemberProgram::start(&network, 1, Manner::default());
    agent.set(network.spec(1, &[member.branch(), network.to_agent(2)], json!({})));
    let (mode, stream) = (Mode::NodeToNode, StreamId(1));
    let good = Preamble { session: SESSION, stream, offset: 0, mode };
    let cases = [
        (2, Preamble { session: 9, ..good }, "session 9 is unknown here"),
        (3, good, "is no neighbour in session 7"),
        (2, Preamble { mode: Mode::EndToEnd, ..good }, "session 7 has another mode here"),
    ];
    for (from, preamble, text) in cases {
        match &answer(&network, from, &preamble.encode()).expect("an answer")[..] {
            [SplitFrame::Failure { fault, text: told, .. }] => {
                assert!(*fault == Fault::Refused && told.contains(text), "{told}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    for (bytes, text) in [(&b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n"[..], "GFSP"), (&[0; 28], "GFSP")] {
        // A reset may overtake the answer: there was more than a preamble to read.
        if let Ok(frames) = answer(&network, 2, bytes) {
            assert!(matches!(&frames[..], [SplitFrame::Failure { text: told, .. }] if told.contains(text)));
        }
        let event = agent.wait_for("refused", |e| e["text"].as_str().is_some_and(|t| t.contains(text)));
        assert_eq!(event["code"], "peer");
    }
    assert_eq!(answer(&network, 2, b"GFSP").unwrap_or_default(), [], "cut off");
    let frames = answer(&network, 2, &[&good.encode()[..], b"hello"].concat()).expect("an answer");
    assert_eq!(frames.first(), Some(&SplitFrame::Welcome { offset: 0 }));
    assert!(frames.contains(&SplitFrame::Receipt { member: 1, bytes: 5 }), "{frames:?}");
    assert_eq!(frames.last(), Some(&SplitFrame::Progress { offset: 5, complete: true }));
    assert_eq!(member.finish().bytes, b"hello");
}

#[test]
fn noise_neither_stops_an_agent_nor_a_stream() {
    let network = SplitNetwork::new();
    let agent = network.agent(1);
    let member = MemberProgram::start(&network, 1, Manner::default());
    agent.set(network.spec(1, &[member.branch()], json!({})));
    let mut stream = network.connect(1);
    stream.write_all(b"hel").expect("sent");
    let noise = random_bytes(10_000);
    for length in [1, 27, 28, 29, 10_000] {
        let mut peer = TcpStream::connect(network.peer(1)).expect("the agent listens");
        let _ = peer.write_all(&noise[..length]);
        let mut control = UnixStream::connect(network.path("sa1.sock")).expect("the control socket");
        let _ = control.write_all(&noise[..length]);
    }
    send(stream, b"lo").expect("sent");
    assert_eq!(member.finish().bytes, b"hello");
}

#[test]
fn a_next_agent_that_talks_nonsense_is_lost() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    let nonsense = std::net::TcpListener::bind(network.peer(2)).expect("a listener");
    let member = MemberProgram::start(&network, 1, Manner::default());
    agent.set(network.spec(1, &[member.branch(), network.to_agent(2)], json!({})));
    let stream = network.connect(1);
    let frames = [
        vec![SplitFrame::Welcome { offset: 0 }, SplitFrame::Progress { offset: 1 << 60, complete: false }],
        vec![SplitFrame::Welcome { offset: 0 }, SplitFrame::Welcome { offset: 1 }],
        vec![SplitFrame::Welcome { offset: 0 }, SplitFrame::Progress { offset: 2, complete: true }],
    ];
    let more = json!({"mode": "e2e"});
    drop(stream);
    for frames in frames {
        agent.set(network.spec(1, &[network.to_agent(2)], more.clone()));
        let mut stream = network.connect(1);
        let (mut peer, _) = nonsense.accept().expect("a connection");
        // The first connection may be that of the stream that was dropped above.
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode_into(&mut bytes));
        peer.write_all(&bytes).expect("sent");
        let _ = stream.write_all(b"x");
        let closed = agent.wait_for("stream_closed", |e| e["fault"] == "agent_lost");
        assert!(closed["text"].as_str().is_some_and(|t| t.starts_with("agent sa2 is lost")), "{closed}");
    }
}

#[test]
fn the_control_socket_names_what_is_wrong_and_serves_who_asks_on() {
    let network = SplitNetwork::new();
    let agent = network.agent(1);
    let mut stream = UnixStream::connect(network.path("sa1.sock")).expect("the control socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let spec = network.spec(1, &[], json!({}));
    let mut other = spec.clone();
    other["id"] = 8.into();
    let mut foreign = spec.clone();
    foreign["congestion"] = "none-such".into();
    let requests = [
        "no json".to_owned(),
        json!({"id": 2, "op": "dance"}).to_string(),
        json!({"id": 3, "op": "set_session", "session": spec}).to_string(),
        json!({"id": 4, "op": "set_session", "session": other}).to_string(),
        json!({"id": 5, "op": "set_session", "session": foreign}).to_string(),
        json!({"id": 6, "op": "remove_session", "session": 9}).to_string(),
        json!({"id": "seven", "op": "list"}).to_string(),
    ];
    for request in &requests {
        writeln!(stream, "{request}").expect("a request");
    }
    let answers: Vec<Value> = BufReader::new(&stream)
        .lines()
        .take(requests.len())
        .map(|line| serde_json::from_str(&line.expect("a line")).expect("JSON"))
        .collect();
    let fields: Vec<&Value> = answers.iter().map(|a| &a["error"]["field"]).collect();
    let [json, dance, set, taken, congestion, unknown, list] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert_eq!(json["error"]["code"], "bad_json");
    assert_eq!((&dance["id"], &dance["error"]["field"]), (&json!(2), &json!("request.op")));
    assert_eq!((&set["id"], &set["ok"]), (&json!(3), &json!(true)), "{fields:?}");
    assert_eq!(taken["error"]["text"], "session.ports are those of session 7");
    let text = congestion["error"]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("session.congestion cannot be used: "), "{congestion}");
    assert_eq!(unknown["error"]["text"], "request.session 9 is not here");
    assert_eq!((&list["id"], &list["sessions"][0]), (&json!("seven"), &spec));
    drop(agent);
}

#[test]
fn who_watches_hears_and_who_does_not_read_stops_nobody() {
    let network = SplitNetwork::new();
    let agent = network.agent(1);
    let mut deaf = UnixStream::connect(network.path("sa1.sock")).expect("the control socket");
    let mut watcher = UnixStream::connect(network.path("sa1.sock")).expect("the control socket");
    for stream in [&mut deaf, &mut watcher] {
        writeln!(stream, "{}", json!({"id": 1, "op": "watch"})).expect("a request");
    }
    watcher.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut lines = BufReader::new(watcher)
        .lines()
        .map(|line| -> Value { serde_json::from_str(&line.expect("a line")).expect("JSON") });
    assert_eq!(lines.next().expect("an answer")["ok"], true);
    let member = MemberProgram::start(&network, 1, Manner::default());
    agent.set(network.spec(1, &[member.branch()], json!({})));
    send(network.connect(1), b"hello").expect("sent");
    let names: Vec<String> =
        lines.by_ref().take(3).map(|e| e["event"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(names, ["stream_opened", "receipt", "stream_closed"]);
}

#[test]
fn the_command_line_says_what_is_wrong() {
    let network = SplitNetwork::new();
    let agent = network.agent(1);
    let control = network.path("sa1.sock").display().to_string();
    let address = network.address(1).to_string();
    let free = network.path("other.sock").display().to_string();
    let cases: [(&[&str], i32, &str); 4] = [
        (&["split", "--name", "x"], 2, "--control"),
        (&["split", "--name", "x", "--control", ""], 2, "a value is required for '--control <PATH>'"),
        (&["split", "--name", "x", "--control", &free, "--addr", &address], 1, "cannot listen for agents at"),
        (
            &["split", "--name", "x", "--control", &control, "--peer-port", "0"],
            1,
            "cannot open the control socket: address already in use",
        ),
    ];
    for (args, code, text) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_gfagent")).args(args).output().expect("gfagent runs");
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {line}");
        assert!(line.lines().count() == 1 && line.contains(text), "{args:?}: {line}");
    }
    drop(agent);
}
