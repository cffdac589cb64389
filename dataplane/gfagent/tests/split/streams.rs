//! Streams as they should be: chains, ends, replies, late members.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use serde_json::{json, Value};

use crate::harness::{random_bytes, send, wait_until, Manner, MemberProgram, SplitNetwork, SplitProcess};

/// sa1 - sa2 - sa3, a member at each.
fn chain(network: &SplitNetwork, more: Value, manner: &Manner) -> (Vec<SplitProcess>, Vec<MemberProgram>) {
    let agents: Vec<SplitProcess> = (1..=3).map(|n| network.agent(n)).collect();
    let members: Vec<MemberProgram> =
        (1..=3).map(|n| MemberProgram::start(network, n, manner.clone())).collect();
    for (index, agent) in agents.iter().enumerate() {
        let number = index as u8 + 1;
        let mut branches = vec![members[index].branch()];
        // All neighbours are named: a stream does not go back where it came from.
        branches.extend((number > 1).then(|| network.to_agent(number - 1)));
        branches.extend((number < 3).then(|| network.to_agent(number + 1)));
        agent.set(network.spec(number, &branches, more.clone()));
    }
    (agents, members)
}

#[test]
fn every_member_of_a_chain_gets_the_same_bytes_and_the_sender_a_receipt_for_each() {
    for (mode, entry) in [("n2n", 1), ("e2e", 1), ("n2n", 2), ("e2e", 3)] {
        let network = SplitNetwork::new();
        let bytes = random_bytes(20 << 20);
        let (mut agents, members) = chain(&network, json!({"mode": mode}), &Manner::default());
        let back = send(network.connect(entry), &bytes).expect("sent");
        assert_eq!(back, b"", "replies are dropped by default");
        let sa = &mut agents[usize::from(entry) - 1];
        for member in members {
            let number = member.number;
            let event = sa.wait_for("receipt", |e| e["member"] == number);
            assert_eq!(event["bytes"], bytes.len(), "{mode}");
            let got = member.finish();
            assert!(got.error.is_none() && got.bytes == bytes, "{mode}: member {number} differs");
        }
        let closed = sa.wait_for("stream_closed", |_| true);
        assert_eq!((&closed["outcome"], &closed["bytes_in"]), (&json!("complete"), &json!(bytes.len())));
        let stats = sa.stats();
        let session = &stats["sessions"][0];
        assert_eq!(session["closed"][0]["receipts"].as_array().map(Vec::len), Some(3), "{stats}");
        let copies = if entry == 2 { 3 } else { 2 };
        assert_eq!(session["bytes_out"], copies * bytes.len(), "{stats}");
        assert_eq!((&stats["streams"], &stats["cache_used"]), (&json!(0), &json!(0)));
    }
}

#[test]
fn many_streams_at_once_stay_apart() {
    let network = SplitNetwork::new();
    let agents = [network.agent(1), network.agent(2)];
    let listener = std::net::TcpListener::bind((network.address(100), 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let member = json!({"kind": "member", "name": "m", "address": address.to_string(), "member": 1});
    agents[0].set(network.spec(1, &[network.to_agent(2)], json!({})));
    agents[1].set(network.spec(2, &[member, network.to_agent(1)], json!({})));
    let count = 20;
    let member = std::thread::spawn(move || {
        let mut all = Vec::new();
        let readers: Vec<_> = (0..count)
            .map(|_| {
                let (mut stream, _) = listener.accept().expect("a connection");
                std::thread::spawn(move || {
                    let mut bytes = Vec::new();
                    std::io::Read::read_to_end(&mut stream, &mut bytes).expect("all of it");
                    bytes
                })
            })
            .collect();
        all.extend(readers.into_iter().map(|reader| reader.join().expect("a reader")));
        all
    });
    let sent: Vec<Vec<u8>> = (0..count).map(|n| random_bytes(100_000 + n)).collect();
    std::thread::scope(|scope| {
        for bytes in &sent {
            scope.spawn(|| send(network.connect(1), bytes).expect("sent"));
        }
    });
    let mut got = member.join().expect("the member");
    got.sort_by_key(Vec::len);
    assert!(got == sent, "streams are mixed up");
}

#[test]
fn replies_go_to_the_sender_as_the_session_says() {
    let reply = |n: u8| vec![b'0' + n; 100_000];
    for (replies, expected) in [("leader", [0, 100_000, 0]), ("merge", [100_000; 3]), ("drop", [0; 3])] {
        let network = SplitNetwork::new();
        let agents: Vec<SplitProcess> = (1..=2).map(|n| network.agent(n)).collect();
        let members: Vec<MemberProgram> = (1..=3)
            .map(|n| MemberProgram::start(&network, n, Manner { reply: reply(n as u8), ..Manner::default() }))
            .collect();
        let more = json!({"replies": replies, "leader": 2});
        let here = [members[0].branch(), network.to_agent(2)];
        agents[0].set(network.spec(1, &here, more.clone()));
        let there = [members[1].branch(), members[2].branch(), network.to_agent(1)];
        agents[1].set(network.spec(2, &there, more));
        let back = send(network.connect(1), b"hello").expect("sent");
        let counts = [b'1', b'2', b'3'].map(|byte| back.iter().filter(|&&b| b == byte).count());
        assert_eq!(counts, expected, "{replies}");
        for member in members {
            assert_eq!(member.finish().bytes, b"hello", "{replies}");
        }
    }
}

#[test]
fn a_sender_that_closes_at_once_loses_nothing() {
    let network = SplitNetwork::new();
    let manner = Manner { reply: vec![1; 1000], ..Manner::default() };
    let (mut agents, members) = chain(&network, json!({"replies": "merge"}), &manner);
    let bytes = random_bytes(3 << 20);
    let mut stream = network.connect(1);
    stream.write_all(&bytes).expect("sent");
    // No half-close: replies of members meet a closed socket.
    drop(stream);
    for member in members {
        assert!(member.finish().bytes == bytes);
    }
    assert_eq!(agents[0].wait_for("stream_closed", |_| true)["outcome"], "complete");
}

#[test]
fn an_empty_stream_has_an_end() {
    let network = SplitNetwork::new();
    let (_agents, members) = chain(&network, json!({}), &Manner::default());
    send(network.connect(1), b"").expect("sent");
    for member in members {
        let got = member.finish();
        assert!(got.error.is_none() && got.bytes.is_empty());
    }
}

#[test]
fn a_late_member_begins_at_the_join_point_or_at_the_start() {
    let network = SplitNetwork::new();
    let mut agents = [network.agent(1), network.agent(2)];
    let members: Vec<MemberProgram> =
        (1..=4).map(|n| MemberProgram::start(&network, n, Manner::default())).collect();
    let keep = json!({"history_bytes": 1 << 20, "cache_bytes": 4 << 20});
    let first = [members[0].branch()];
    agents[0].set(network.spec(1, &first, keep.clone()));
    agents[1].set(network.spec(2, &[network.to_agent(1), members[3].branch()], keep.clone()));
    let bytes = random_bytes(300_000);
    let mut stream = network.connect(1);
    stream.write_all(&bytes[..100_000]).expect("sent");
    let has = |member: &MemberProgram, count| {
        let counter = Arc::clone(&member.count);
        wait_until("the member has it", move || counter.load(Ordering::SeqCst) == count);
    };
    has(&members[0], 100_000);
    // A member from the join point, one and an agent from the start.
    let with = |mut branch: Value, from: &str| {
        branch["from"] = from.into();
        branch
    };
    let more = [
        members[0].branch(),
        with(members[1].branch(), "now"),
        with(members[2].branch(), "start"),
        with(network.to_agent(2), "start"),
    ];
    agents[0].set(network.spec(1, &more, keep));
    has(&members[2], 100_000);
    has(&members[3], 100_000);
    send(stream, &bytes[100_000..]).expect("sent");
    let expected = [&bytes[..], &bytes[100_000..], &bytes, &bytes];
    for (member, expected) in members.into_iter().zip(expected) {
        let number = member.number;
        assert!(member.finish().bytes == expected, "member {number}");
        let receipt = agents[0].wait_for("receipt", |e| e["member"] == number);
        assert_eq!(receipt["bytes"], expected.len());
    }
}

#[test]
fn a_member_that_wants_what_is_discarded_is_refused_by_name() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    let members: Vec<MemberProgram> =
        (1..=2).map(|n| MemberProgram::start(&network, n, Manner::default())).collect();
    agent.set(network.spec(1, &[members[0].branch()], json!({})));
    let mut stream = network.connect(1);
    stream.write_all(&[7; 1000]).expect("sent");
    wait_until("the cache is empty again", || {
        let stats = agent.stats();
        stats["sessions"][0]["bytes_out"] == 1000 && stats["sessions"][0]["cache"] == 0
    });
    let mut late = members[1].branch();
    late["from"] = "start".into();
    agent.set(network.spec(1, &[members[0].branch(), late], json!({})));
    let refused = agent.wait_for("join_refused", |_| true);
    assert_eq!((&refused["name"], &refused["base"]), (&json!("m2"), &json!(1000)));
    send(stream, b"").expect("sent");
}

#[test]
fn a_member_that_is_removed_is_cut_off_and_the_others_go_on() {
    let network = SplitNetwork::new();
    let mut agent = network.agent(1);
    let gate = Arc::new(AtomicBool::new(true));
    let manner = Manner { gate: Some(Arc::clone(&gate)), ..Manner::default() };
    let members: Vec<MemberProgram> =
        (1..=2).map(|n| MemberProgram::start(&network, n, manner.clone())).collect();
    agent.set(network.spec(1, &[members[0].branch(), members[1].branch()], json!({})));
    let mut stream = network.connect(1);
    stream.write_all(b"first").expect("sent");
    wait_until("both have it", || members.iter().all(|m| m.count.load(Ordering::SeqCst) == 5));
    agent.set(network.spec(1, &[members[0].branch()], json!({})));
    agent.wait_for("branch_left", |e| e["member"] == 2);
    send(stream, b" second").expect("sent");
    let [stays, leaves] = <[MemberProgram; 2]>::try_from(members).unwrap_or_else(|_| panic!("two members"));
    assert_eq!(stays.finish().bytes, b"first second");
    let got = leaves.finish();
    assert_eq!((got.bytes.as_slice(), got.error), (&b"first"[..], Some(std::io::ErrorKind::ConnectionReset)));
}
