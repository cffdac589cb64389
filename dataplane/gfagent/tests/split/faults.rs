//! Deaths of members and agents, and the messages of them to the others.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{json, Value};

use crate::harness::{random_bytes, send, wait_until, Manner, MemberProgram, SplitNetwork, PATIENCE};

#[test]
fn a_reset_reaches_every_member() {
    let network = SplitNetwork::new();
    let mut agents = [network.agent(1), network.agent(2)];
    let members: Vec<MemberProgram> =
        (1..=2).map(|n| MemberProgram::start(&network, n, Manner::default())).collect();
    agents[0].set(network.spec(1, &[members[0].branch(), network.to_agent(2)], json!({})));
    agents[1].set(network.spec(2, &[members[1].branch(), network.to_agent(1)], json!({})));
    let mut stream = network.connect(1);
    stream.write_all(b"half of it").expect("sent");
    wait_until("all have it", || members.iter().all(|m| m.count.load(Ordering::SeqCst) == 10));
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("an option");
    drop(stream);
    for member in members {
        assert_eq!(member.finish().error, Some(ErrorKind::ConnectionReset));
    }
    for agent in &mut agents {
        let closed = agent.wait_for("stream_closed", |_| true);
        assert_eq!((&closed["outcome"], &closed["fault"]), (&json!("aborted"), &json!("reset")), "{closed}");
        assert_eq!(agent.stats()["cache_used"], 0);
    }
}

#[test]
fn a_member_that_dies_is_named_and_the_others_get_all() {
    for mode in ["n2n", "e2e"] {
        let network = SplitNetwork::new();
        let mut agents = [network.agent(1), network.agent(2)];
        let dies = Manner { dies_after: Some(1 << 20), ..Manner::default() };
        let members = [
            MemberProgram::start(&network, 1, Manner::default()),
            MemberProgram::start(&network, 2, dies),
            MemberProgram::start(&network, 3, Manner::default()),
        ];
        let more = json!({"mode": mode});
        agents[0].set(network.spec(1, &[members[0].branch(), network.to_agent(2)], more.clone()));
        let there = [members[1].branch(), members[2].branch(), network.to_agent(1)];
        agents[1].set(network.spec(2, &there, more));
        let bytes = random_bytes(16 << 20);
        let sent = send(network.connect(1), &bytes);
        let closed = agents[0].wait_for("stream_closed", |_| true);
        assert!(sent.is_ok(), "the sender notices nothing: {sent:?} {closed:#}");
        let reset = agents[0].wait_for("member_reset", |e| e["member"] == 2);
        assert!(reset["text"].as_str().is_some_and(|t| t.contains("m2: ")), "{reset}");
        let closed = agents[0].wait_for("stream_closed", |_| true);
        assert_eq!((&closed["outcome"], &closed["failed"][0]["member"]), (&json!("complete"), &json!(2)));
        assert_eq!(closed["failed"][0]["fault"], "member_reset", "{closed}");
        for (member, all) in members.into_iter().zip([true, false, true]) {
            assert_eq!(member.finish().bytes == bytes, all);
        }
    }
}

/// A server at a member's place, which takes connections one by one.
struct MemberServer(TcpListener);

impl MemberServer {
    fn new(network: &SplitNetwork, number: u32) -> (MemberServer, Value) {
        let listener = TcpListener::bind((network.address(100 + number as u8), 0)).expect("a listener");
        let address = listener.local_addr().expect("an address").to_string();
        let branch =
            json!({"kind": "member", "name": format!("m{number}"), "address": address, "member": number});
        (MemberServer(listener), branch)
    }

    /// The next connection, which begins with these bytes.
    fn accept(&self, expected: &[u8]) -> TcpStream {
        let (mut stream, _) = self.0.accept().expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut got = vec![0; expected.len()];
        stream.read_exact(&mut got).expect("bytes");
        assert_eq!(got, expected);
        stream
    }
}

fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an end, not a reset");
    bytes
}

/// As a server does that is told on one connection that what comes on another is not wanted any more. The
/// session is set anew meanwhile, as it is when other members come.
#[test]
fn a_member_that_resets_one_stream_goes_on_in_others() {
    for mode in ["n2n", "e2e"] {
        let network = SplitNetwork::new();
        let mut agents = [network.agent(1), network.agent(2)];
        let ((one, one_branch), (two, two_branch)) =
            (MemberServer::new(&network, 1), MemberServer::new(&network, 2));
        let (three, three_branch) = MemberServer::new(&network, 3);
        let more = json!({"mode": mode});
        let first = network.spec(1, &[one_branch, network.to_agent(2)], more.clone());
        agents[0].set(first.clone());
        agents[1].set(network.spec(2, &[two_branch.clone(), network.to_agent(1)], more.clone()));
        let open = |name: &[u8]| {
            let mut stream = network.connect(1);
            stream.write_all(name).expect("sent");
            (stream, one.accept(name), two.accept(name))
        };
        let (control, one_control, two_control) = open(b"control");
        let (mut data, one_data, two_data) = open(b"data");
        socket2::SockRef::from(&two_data).set_linger(Some(Duration::ZERO)).expect("an option");
        drop(two_data);
        let reset = agents[0].wait_for("member_reset", |_| true);
        assert_eq!((&reset["member"], &reset["acked"]), (&json!(2), &json!(4)), "{reset}");
        // Nobody behind the second agent is left in the stream, and it is asked again.
        agents[0].wait_for("branch_left", |e| e["name"] == "sa2");
        agents[0].set(first.clone());
        agents[1].wait_for("refused", |e| e["code"] == "no_members");
        data.write_all(b" goes").expect("sent");
        wait_until("the first member has it", || {
            agents[0].stats()["sessions"][0]["streams"]
                .as_array()
                .expect("a list")
                .iter()
                .any(|s| s["received"] == 9 && s["branches"].as_array().is_some_and(|b| b[0]["acked"] == 9))
        });
        // Then a member comes there that has not been in it.
        agents[1].set(network.spec(2, &[two_branch, three_branch, network.to_agent(1)], more));
        let late_control = three.0.accept().expect("the control stream from now on").0;
        agents[0].set(first);
        let late = three.0.accept().expect("the data stream from now on").0;
        send(data, b" on").expect("sent");
        assert_eq!((rest(one_data), rest(late)), (b" goes on".to_vec(), b" on".to_vec()));
        send(control, b"led").expect("sent");
        assert_eq!((rest(one_control), rest(two_control)), (b"led".to_vec(), b"led".to_vec()));
        assert_eq!(rest(late_control), b"led");
        let closed = agents[0].wait_for("stream_closed", |e| e["received"] == 12);
        assert_eq!(closed["outcome"], "complete");
        let failed = &closed["failed"];
        assert_eq!((failed.as_array().map(Vec::len), &failed[0]["fault"]), (Some(1), &json!("member_reset")));
        let members: Vec<u64> = closed["receipts"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|r| r["member"].as_u64())
            .collect();
        assert!(members.contains(&1) && members.contains(&3) && members.len() == 2, "{closed}");
        // A stream that begins afterwards is for everybody.
        let (next, one_next, two_next) = open(b"next");
        let three_next = three.accept(b"next");
        send(next, b"!").expect("sent");
        for server in [one_next, two_next, three_next] {
            assert_eq!(rest(server), b"!");
        }
    }
}

/// Both are there when its agent looks next.
#[test]
fn what_a_member_says_before_it_resets_goes_to_the_sender() {
    let network = SplitNetwork::new();
    let agents = [network.agent(1), network.agent(2)];
    let (server, branch) = MemberServer::new(&network, 1);
    let more = json!({"replies": "leader", "leader": 1});
    agents[0].set(network.spec(1, &[network.to_agent(2)], more.clone()));
    agents[1].set(network.spec(2, &[branch, network.to_agent(1)], more));
    let mut stream = network.connect(1);
    stream.write_all(b"request and more").expect("sent");
    let mut served = server.accept(b"request");
    agents[1].signal(Signal::SIGSTOP);
    served.write_all(b"busy").expect("said");
    // With bytes that are not read: a reset.
    drop(served);
    agents[1].signal(Signal::SIGCONT);
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"busy");
    assert_eq!(stream.read(&mut answer).map_err(|e| e.kind()), Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_member_that_does_not_listen_is_named_at_once() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    let member = MemberProgram::start(&network, 1, Manner::default());
    let nobody = json!({"kind": "member", "name": "gone", "member": 2,
        "address": format!("{}:9", network.address(200))});
    agent.set(network.spec(1, &[member.branch(), nobody], json!({})));
    send(network.connect(1), b"hello").expect("sent");
    let failed = agent.wait_for("member_failed", |_| true);
    assert_eq!((&failed["name"], &failed["text"]), (&json!("gone"), &json!("connection refused")));
    assert_eq!(member.finish().bytes, b"hello");
}

#[test]
fn a_sender_whose_last_member_dies_is_reset() {
    let network = SplitNetwork::new();
    let mut agents = [network.agent(1), network.agent(2)];
    let member = MemberProgram::start(&network, 1, Manner { dies_after: Some(1), ..Manner::default() });
    agents[0].set(network.spec(1, &[network.to_agent(2)], json!({})));
    agents[1].set(network.spec(2, &[member.branch(), network.to_agent(1)], json!({})));
    let mut stream = network.connect(1);
    stream.write_all(b"hello").expect("sent");
    let error = stream.read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    let closed = agents[0].wait_for("stream_closed", |_| true);
    assert_eq!(closed["fault"], "no_members", "{closed}");
    assert_eq!(closed["failed"][0]["member"], 1);
}

#[test]
fn a_killed_agent_resets_its_members_and_the_sender_and_serves_again_when_it_is_restarted() {
    for mode in ["n2n", "e2e"] {
        let network = SplitNetwork::new();
        let mut agents = [network.agent(1), network.agent(2)];
        let members: Vec<MemberProgram> =
            (1..=2).map(|n| MemberProgram::start(&network, n, Manner::default())).collect();
        let more = json!({"mode": mode});
        agents[0].set(network.spec(1, &[members[0].branch(), network.to_agent(2)], more.clone()));
        let there = network.spec(2, &[members[1].branch(), network.to_agent(1)], more);
        agents[1].set(there.clone());
        let mut stream = network.connect(1);
        stream.write_all(b"half of it").expect("sent");
        wait_until("all have it", || members.iter().all(|m| m.count.load(Ordering::SeqCst) == 10));
        agents[1].kill();
        let error = stream.read(&mut [0; 1]).map_err(|e| e.kind());
        assert_eq!(error, Err(ErrorKind::ConnectionReset), "{mode}");
        for member in members {
            let got = member.finish();
            assert_eq!(got.error, Some(ErrorKind::ConnectionReset), "half is not taken for all");
        }
        let closed = agents[0].wait_for("stream_closed", |_| true);
        assert_eq!(closed["fault"], "agent_lost", "{closed}");
        assert!(closed["text"].as_str().is_some_and(|t| t.starts_with("agent sa2 is lost")), "{closed}");
        agents[1] = network.agent(2);
        assert_eq!(agents[1].stats()["sessions"], json!([]), "it has forgotten its sessions");
        let member = MemberProgram::start(&network, 2, Manner::default());
        let again = network.spec(2, &[member.branch(), network.to_agent(1)], json!({"mode": mode}));
        agents[1].set(again);
        agents[0].set(network.spec(1, &[network.to_agent(2)], json!({"mode": mode})));
        send(network.connect(1), b"all of it").expect("sent");
        assert_eq!(member.finish().bytes, b"all of it", "{mode}");
    }
}

#[test]
fn an_agent_that_starts_late_is_waited_for() {
    let network = SplitNetwork::new();
    let first = network.agent(1);
    let member = MemberProgram::start(&network, 1, Manner::default());
    first.set(network.spec(1, &[network.to_agent(2)], json!({})));
    let mut stream = network.connect(1);
    let bytes = random_bytes(1 << 20);
    stream.write_all(&bytes[..1000]).expect("sent");
    let waiting = || first.stats()["sessions"][0]["streams"][0]["branches"][0]["state"] == "waiting";
    wait_until("it is refused", waiting);
    // First without the session, so that bytes that its TCP takes are thrown away, too.
    let mut second = network.agent(2);
    second.wait_for("refused", |e| e["text"].as_str().is_some_and(|t| t.contains("is unknown")));
    second.set(network.spec(2, &[member.branch(), network.to_agent(1)], json!({})));
    send(stream, &bytes[1000..]).expect("sent");
    assert!(member.finish().bytes == bytes);
}

#[test]
fn a_session_that_is_removed_resets_its_streams() {
    let network = SplitNetwork::new();
    let agent = network.agent(1);
    let gate = Arc::new(AtomicBool::new(true));
    let member = MemberProgram::start(&network, 1, Manner { gate: Some(gate), ..Manner::default() });
    agent.set(network.spec(1, &[member.branch()], json!({})));
    let mut stream = network.connect(1);
    stream.write_all(b"hello").expect("sent");
    wait_until("it has it", || member.count.load(Ordering::SeqCst) == 5);
    let answer = agent.ask(json!({"op": "remove_session", "session": crate::harness::SESSION}));
    assert_eq!((&answer["ok"], &answer["streams"]), (&json!(true), &json!(1)));
    assert_eq!(member.finish().error, Some(ErrorKind::ConnectionReset));
    let error = stream.read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    let refused = std::net::TcpStream::connect(network.session(1)).map_err(|e| e.kind()).map(drop);
    assert_eq!(refused, Err(ErrorKind::ConnectionRefused), "the session is unknown now");
}
