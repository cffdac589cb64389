//! Bounds: caches, descriptors, streams.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use nix::poll::{poll, PollFd, PollFlags};
use serde_json::json;

use crate::harness::{random_bytes, send, wait_until, Manner, MemberProgram, SplitNetwork, SplitProcess};

/// Milliseconds without room in a socket after which nobody reads from it.
const WHILE: u8 = 50;

fn gated(network: &SplitNetwork, number: u32) -> (MemberProgram, Arc<AtomicBool>) {
    let gate = Arc::new(AtomicBool::new(false));
    (
        MemberProgram::start(network, number, Manner { gate: Some(Arc::clone(&gate)), ..Manner::default() }),
        gate,
    )
}

/// Writes until nothing more is taken, and nothing moves in the agent, for a while; returns the bytes.
fn fill(stream: &mut TcpStream, bytes: &[u8], agent: &SplitProcess) -> usize {
    stream.set_nonblocking(true).expect("an option");
    let (mut sent, mut last) = (0, json!(null));
    loop {
        match stream.write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        assert!(sent < bytes.len(), "somebody takes all of it");
        let mut writable = [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)];
        if poll(&mut writable, WHILE).expect("a descriptor of ours") == 0 {
            let now = agent.stats()["sessions"].take();
            if now == last {
                break;
            }
            last = now;
        }
    }
    stream.set_nonblocking(false).expect("an option");
    sent
}

#[test]
fn a_slow_member_fills_the_cache_to_its_bound_and_loses_nothing() {
    let cases = [
        ("n2n", json!({"cache_bytes": 1 << 20}), 1 << 20),
        ("e2e", json!({"cache_bytes": 1 << 20, "allowance_bytes": 100_000}), 100_000),
    ];
    for (mode, mut more, bound) in cases {
        let network = SplitNetwork::new();
        let agent = network.agent(1);
        let fast = MemberProgram::start(&network, 1, Manner::default());
        let (slow, gate) = gated(&network, 2);
        more["mode"] = mode.into();
        // Small buffers, so that the cache is what holds the bytes.
        more["send_buffer"] = 16_384.into();
        more["receive_buffer"] = 16_384.into();
        agent.set(network.spec(1, &[fast.branch(), slow.branch()], more));
        let bytes = random_bytes(30 << 20);
        let mut stream = network.connect(1);
        let sent = fill(&mut stream, &bytes, &agent);
        wait_until("the fast one has all, the slow one a full cache", || {
            let stats = agent.stats();
            let told = &stats["sessions"][0]["streams"][0];
            let cached = told["cache"].as_u64().expect("a number");
            assert!(cached <= bound, "{mode}: {told}");
            assert_eq!(told["branches"][1]["lag"], cached);
            cached > bound / 2 && told["branches"][0]["lag"] == 0
        });
        gate.store(true, Ordering::SeqCst);
        send(stream, &bytes[sent..]).expect("sent");
        assert!(fast.finish().bytes == bytes && slow.finish().bytes == bytes);
        let peak = &agent.stats()["sessions"][0]["cache_peak"];
        assert!(peak.as_u64() <= Some(bound), "{mode}: {peak}");
    }
}

#[test]
fn end_to_end_reaches_through_a_chain_of_agents() {
    let network = SplitNetwork::new();
    let agents = [network.agent(1), network.agent(2)];
    let (slow, gate) = gated(&network, 1);
    let more =
        json!({"mode": "e2e", "allowance_bytes": 100_000, "send_buffer": 16_384, "receive_buffer": 16_384});
    agents[0].set(network.spec(1, &[network.to_agent(2)], more.clone()));
    agents[1].set(network.spec(2, &[slow.branch(), network.to_agent(1)], more));
    let bytes = random_bytes(20 << 20);
    let mut stream = network.connect(1);
    let sent = fill(&mut stream, &bytes, &agents[0]);
    wait_until("the first agent knows what the member has", || {
        let stream = |agent: &SplitProcess| agent.stats()["sessions"][0]["streams"][0].clone();
        let (told, behind) = (stream(&agents[0]), stream(&agents[1]));
        let acked = told["branches"][0]["acked"].as_u64();
        // Bytes that the slow member's own TCP has acknowledged are received; at most 100,000 more are under
        // way.
        assert!(told["received"].as_u64() <= acked.map(|acked| acked + 100_000), "{told}");
        acked == behind["branches"][0]["acked"].as_u64()
    });
    gate.store(true, Ordering::SeqCst);
    send(stream, &bytes[sent..]).expect("sent");
    assert!(slow.finish().bytes == bytes);
}

/// In E2E the others go on without the slow member, which gets the rest when it reads again, unless it falls
/// behind the whole cache.
#[test]
fn an_isolated_member_is_fed_later() {
    for (length, fits) in [(1_700_000, true), (8 << 20, false)] {
        let network = SplitNetwork::new();
        let mut agent = network.agent(1);
        let fast = MemberProgram::start(&network, 1, Manner::default());
        let (slow, gate) = gated(&network, 2);
        let more = json!({
            "mode": "e2e", "cache_bytes": 2 << 20, "allowance_bytes": 500_000, "send_buffer": 16_384,
            "policy": "isolate",
        });
        agent.set(network.spec(1, &[fast.branch(), slow.branch()], more));
        let bytes = random_bytes(length);
        let stream = network.connect(1);
        let sender = std::thread::spawn({
            let bytes = bytes.clone();
            move || send(stream, &bytes)
        });
        let isolated = agent.wait_for("isolated", |_| true);
        assert_eq!(isolated["name"], "m2");
        let all = length as u64;
        wait_until("the fast one has all", || fast.count.load(Ordering::SeqCst) == all);
        if fits {
            assert_eq!(agent.stats()["sessions"][0]["streams"][0]["branches"][1]["state"], "isolated");
            gate.store(true, Ordering::SeqCst);
            agent.wait_for("caught_up", |e| e["name"] == "m2");
        } else {
            let failed = agent.wait_for("member_failed", |e| e["member"] == 2);
            let text = failed["text"].as_str().unwrap_or_default();
            assert!(text.contains("bytes behind"), "{failed}");
            gate.store(true, Ordering::SeqCst);
        }
        assert!(sender.join().expect("the sender's thread").is_ok());
        assert!(fast.finish().bytes == bytes, "the fast one has all");
        let got = slow.finish();
        assert_eq!(got.error, (!fits).then_some(ErrorKind::ConnectionReset));
        assert!(bytes.starts_with(&got.bytes) && fits == (got.bytes.len() == length), "no hole");
    }
}

#[test]
fn with_isolate_a_slow_member_is_removed_and_named() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    let fast = MemberProgram::start(&network, 1, Manner::default());
    let (slow, gate) = gated(&network, 2);
    let more = json!({"cache_bytes": 1 << 20, "send_buffer": 16_384, "policy": "isolate"});
    agent.set(network.spec(1, &[fast.branch(), slow.branch()], more));
    let bytes = random_bytes(30 << 20);
    send(network.connect(1), &bytes).expect("sent");
    assert!(fast.finish().bytes == bytes);
    let isolated = agent.wait_for("isolated", |_| true);
    assert_eq!((&isolated["name"], &isolated["lag"]), (&json!("m2"), &json!(1 << 20)));
    gate.store(true, Ordering::SeqCst);
    assert_eq!(slow.finish().error, Some(ErrorKind::ConnectionReset));
}

#[test]
fn an_agent_without_cache_memory_waits_and_refuses_more() {
    let network = SplitNetwork::new();
    let mut agent = network.agent_with(1, &["--max-cache", "1MiB"], None);
    let (slow, gate) = gated(&network, 1);
    let too_much = network.spec(1, &[slow.branch()], json!({"cache_bytes": 2 << 20}));
    let answer = agent.ask(json!({"op": "set_session", "session": too_much}));
    assert_eq!(answer["error"]["field"], "session.cache_bytes");
    assert_eq!(
        answer["error"]["text"],
        "session.cache_bytes must be at most 1048576, the agent's --max-cache"
    );
    agent.set(network.spec(1, &[slow.branch()], json!({"cache_bytes": 1 << 20, "send_buffer": 16_384})));
    let bytes = random_bytes(30 << 20);
    let mut stream = network.connect(1);
    let sent = fill(&mut stream, &bytes, &agent);
    let mut second = network.connect(1);
    let error = second.read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    assert_eq!(agent.wait_for("refused", |_| true)["code"], "cache");
    gate.store(true, Ordering::SeqCst);
    send(stream, &bytes[sent..]).expect("sent");
    assert!(slow.finish().bytes == bytes);
}

#[test]
fn an_agent_without_descriptors_refuses_and_goes_on() {
    let network = SplitNetwork::new();
    let mut agent = network.agent_with(1, &[], Some(40));
    // The kernel takes all connections, the member accepts the first one only.
    let member = std::net::TcpListener::bind((network.address(100), 0)).expect("a listener");
    let address = member.local_addr().expect("an address").to_string();
    let branch = json!({"kind": "member", "name": "m", "address": address, "member": 1});
    agent.set(network.spec(1, &[branch], json!({})));
    let first = network.connect(1);
    let (mut accepted, _) = member.accept().expect("a connection");
    // They have a descriptor here, and none, or none onward, there.
    let others: Vec<TcpStream> = (0..60).map(|_| network.connect(1)).collect();
    agent.wait_for("refused", |e| e["text"] == "no file descriptor is left (see ulimit -n)");
    drop(others);
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        accepted.read_to_end(&mut bytes).map(|_| bytes)
    });
    send(first, b"hello").expect("the first one goes on");
    assert_eq!(reader.join().expect("a reader").expect("all of it"), b"hello");
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let network = SplitNetwork::new();
    let mut agent = network.agent_with(1, &["--max-streams", "1"], None);
    let member = MemberProgram::start(&network, 1, Manner::default());
    agent.set(network.spec(1, &[member.branch()], json!({})));
    let mut first = network.connect(1);
    first.write_all(b"hel").expect("sent"); // a silent sender would give way
    wait_until("the first bytes", || agent.stats().to_string().contains(r#""received":3"#));
    let error = network.connect(1).read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    assert_eq!(agent.wait_for("refused", |_| true)["code"], "streams");
    send(first, b"lo").expect("sent");
    assert_eq!(member.finish().bytes, b"hello");
}

/// Strangers connect and say nothing, until all streams are theirs; a sender gets in nevertheless.
#[test]
fn silent_senders_keep_no_sender_out() {
    let network = SplitNetwork::new();
    let mut agent = network.agent_with(1, &["--max-streams", "2"], None);
    let member = TcpListener::bind((network.address(101), 0)).expect("a port");
    let address = member.local_addr().expect("bound").to_string();
    let branch = json!({"kind": "member", "name": "m1", "address": address, "member": 1});
    agent.set(network.spec(1, &[branch], json!({})));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = member.accept() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                // A stranger's stream is reset.
                let _ = stream.read_to_end(&mut bytes);
                let _ = (!bytes.is_empty()).then(|| tell.send(bytes));
            });
        }
    });
    let _strangers: Vec<TcpStream> = (0..4).map(|_| network.connect(1)).collect();
    let closed = agent.wait_for("stream_closed", |event| event["fault"] == "refused");
    assert_eq!(closed["bytes_in"], 0, "{closed}");
    let bytes = random_bytes(100_000);
    send(network.connect(1), &bytes).expect("it is let in");
    assert!(told.recv().expect("the member's bytes") == bytes);
}

/// The same at the port for other agents, whose first word is a preamble.
#[test]
fn silent_agents_keep_no_agent_out() {
    let network = SplitNetwork::new();
    let _agent = network.agent(1);
    let strangers: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(network.peer(1)).expect("connected")).collect();
    let mut late = TcpStream::connect(network.peer(1)).expect("connected");
    late.write_all(&[7; 64]).expect("a wrong preamble");
    let mut said = Vec::new();
    late.read_to_end(&mut said).expect("no reset");
    assert!(String::from_utf8_lossy(&said).contains("wrong preamble"), "it is heard, and told why not");
    drop(strangers);
}
