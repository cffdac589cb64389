//! Agents that are killed and started again in sessions that resume.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;

use nix::sys::signal::Signal;
use serde_json::{json, Value};

use crate::harness::{random_bytes, send, wait_until, Agent, Manner, Member, Network};

struct Group {
    network: Network,
    agents: Vec<Agent>,
    members: Vec<Member>,
    gate: Arc<AtomicBool>,
    more: Value,
}

impl Group {
    /// sa1 - sa2 - sa3, two members at sa2 of which one is slow, one at sa3.
    fn new(mode: &str) -> Group {
        let network = Network::new();
        let gate = Arc::new(AtomicBool::new(false));
        let slow = Manner { gate: Some(Arc::clone(&gate)), ..Manner::default() };
        let members = vec![
            Member::start(&network, 1, Manner::default()),
            Member::start(&network, 2, slow),
            Member::start(&network, 3, Manner::default()),
        ];
        let more = json!({"mode": mode, "resume": true, "cache_bytes": 4 << 20, "send_buffer": 32_768});
        let mut group = Group { network, agents: Vec::new(), members, gate, more };
        for number in 1..=3 {
            let agent = group.start(number);
            group.agents.push(agent);
        }
        group
    }

    fn start(&self, number: u8) -> Agent {
        let keep = self.network.path(&format!("keep{number}")).display().to_string();
        let agent = self.network.agent_with(number, &["--keep", &keep], None);
        let (net, members) = (&self.network, &self.members);
        let branches = match number {
            1 => vec![net.to_agent(2)],
            2 => vec![net.to_agent(1), members[0].branch(), members[1].branch(), net.to_agent(3)],
            _ => vec![net.to_agent(2), members[2].branch()],
        };
        agent.set(net.spec(number, &branches, self.more.clone()));
        agent
    }

    fn restart(&mut self, number: u8, signal: Signal) {
        let index = usize::from(number) - 1;
        self.agents[index].end(signal);
        self.agents[index] = self.start(number);
    }
}

#[test]
fn a_stream_goes_on_after_an_agent_was_killed_and_no_byte_is_lost_or_doubled() {
    for mode in ["n2n", "e2e"] {
        let mut group = Group::new(mode);
        let bytes = random_bytes(24 << 20);
        let mut stream = group.network.connect(1);
        // The sender is told how far to go, so that the stream is not over when the agent is killed.
        let (go, until) = channel::<usize>();
        let sender = std::thread::spawn({
            let bytes = bytes.clone();
            move || {
                let mut sent = 0;
                for until in until {
                    stream.write_all(&bytes[sent..until])?;
                    sent = until;
                }
                send(stream, &bytes[sent..])
            }
        });
        let go_on_to = |megabytes: usize| go.send(megabytes << 20).expect("the sender is there");
        let count = Arc::clone(&group.members[0].count);
        let has_come = |bytes: u64| {
            wait_until("more has come", || count.load(Ordering::SeqCst) > bytes);
        };
        // Members have come differently far: the slow one has not read anything.
        go_on_to(8);
        has_come(100_000);
        group.restart(2, Signal::SIGKILL);
        group.agents[0].wait_for("branch_resumed", |_| true);
        group.gate.store(true, Ordering::SeqCst);
        drop(go);
        assert!(sender.join().expect("the sender's thread").is_ok(), "{mode}: the sender notices nothing");
        for member in std::mem::take(&mut group.members) {
            let number = member.number;
            let got = member.finish();
            assert!(got.error.is_none(), "{mode}: member {number}: {:?}", got.error);
            assert!(got.bytes == bytes, "{mode}: member {number} differs: {} bytes", got.bytes.len());
            let receipt = group.agents[0].wait_for("receipt", |e| e["member"] == number);
            assert_eq!(receipt["bytes"], bytes.len(), "{mode}");
        }
    }
}

#[test]
fn an_agent_that_does_not_come_back_resets_who_it_served() {
    let network = Network::new();
    let (first, member) = (network.agent_with(1, &["--resume-timeout", "1"], None), Manner::default());
    let member = Member::start(&network, 1, member);
    let keep = network.path("keep").display().to_string();
    let mut second = network.agent_with(2, &["--resume-timeout", "1", "--keep", &keep], None);
    let more = json!({"resume": true});
    first.set(network.spec(1, &[network.to_agent(2)], more.clone()));
    second.set(network.spec(2, &[network.to_agent(1), member.branch()], more));
    let mut stream = network.connect(1);
    stream.write_all(b"half of it").expect("sent");
    wait_until("the member has it", || member.count.load(Ordering::SeqCst) == 10);
    second.kill();
    let error = stream.read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    assert_eq!(member.finish().error, Some(ErrorKind::ConnectionReset), "the keeper, too, gives up");
}

#[test]
fn without_a_keeper_members_are_reset_and_the_sender_hears_why() {
    let network = Network::new();
    let (mut first, mut second) = (network.agent(1), network.agent(2));
    let member = Member::start(&network, 1, Manner::default());
    let more = json!({"resume": true});
    first.set(network.spec(1, &[network.to_agent(2)], more.clone()));
    let there = network.spec(2, &[network.to_agent(1), member.branch()], more);
    second.set(there.clone());
    let mut stream = network.connect(1);
    stream.write_all(b"half of it").expect("sent");
    // Then it also knows that the stream was taken there.
    wait_until("the first agent knows that the member has it", || {
        first.stats()["sessions"][0]["streams"][0]["branches"][0]["acked"] == 10
    });
    second.kill();
    let second = network.agent(2);
    second.set(there);
    let error = stream.read(&mut [0; 1]).map_err(|e| e.kind());
    assert_eq!(error, Err(ErrorKind::ConnectionReset));
    assert_eq!(member.finish().error, Some(ErrorKind::ConnectionReset));
    let closed = first.wait_for("stream_closed", |_| true);
    let text = closed["text"].as_str().unwrap_or_default();
    assert!(text.contains("members' connections were lost with it"), "{closed}");
}
