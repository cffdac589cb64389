//! Agents that are killed and started again in sessions that resume.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::sys::signal::Signal;
use serde_json::{json, Value};

use crate::harness::{random_bytes, send, wait_until, Manner, MemberProgram, SplitNetwork, SplitProcess};

/// The stream's length in most tests: several times what all caches and sockets hold.
const LENGTH: usize = 24 << 20;

/// A sender that is told how far to go, so that the stream is not over before the last agent is killed.
struct PacedSender {
    go: Sender<usize>,
    thread: JoinHandle<std::io::Result<Vec<u8>>>,
}

impl PacedSender {
    fn start(mut stream: TcpStream, bytes: Vec<u8>) -> PacedSender {
        let (go, until) = channel::<usize>();
        let thread = std::thread::spawn(move || {
            let mut sent = 0;
            for until in until {
                stream.write_all(&bytes[sent..until])?;
                sent = until;
            }
            send(stream, &bytes[sent..])
        });
        PacedSender { go, thread }
    }

    fn go_on_to(&self, megabytes: usize) {
        self.go.send(megabytes << 20).expect("the sender is there");
    }

    /// Sends the rest and the end; returns the bytes that come back.
    fn end(self) -> JoinHandle<std::io::Result<Vec<u8>>> {
        self.thread
    }
}

struct SplitGroup {
    network: SplitNetwork,
    agents: Vec<SplitProcess>,
    members: Vec<MemberProgram>,
    gates: Vec<Arc<AtomicBool>>,
    more: Value,
}

impl SplitGroup {
    /// sa1 - sa2 - sa3, two members at sa2 and one at sa3. Those in `slow` read nothing before their gate
    /// opens.
    fn new(mode: &str, slow: &[u32]) -> SplitGroup {
        let network = SplitNetwork::new();
        let gates: Vec<Arc<AtomicBool>> =
            (1..=3).map(|number| Arc::new(AtomicBool::new(!slow.contains(&number)))).collect();
        let manner = |gate: &Arc<AtomicBool>| Manner { gate: Some(Arc::clone(gate)), ..Manner::default() };
        let members = (1..)
            .zip(&gates)
            .map(|(number, gate)| MemberProgram::start(&network, number, manner(gate)))
            .collect();
        let more = json!({"mode": mode, "resume": true, "cache_bytes": 4 << 20, "send_buffer": 32_768});
        let mut group = SplitGroup { network, agents: Vec::new(), members, gates, more };
        for number in 1..=3 {
            let agent = group.start(number);
            group.agents.push(agent);
        }
        group
    }

    fn start(&self, number: u8) -> SplitProcess {
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

    fn kill(&mut self, number: u8) {
        self.agents[usize::from(number) - 1].kill();
    }

    fn revive(&mut self, number: u8) {
        self.agents[usize::from(number) - 1] = self.start(number);
    }

    fn restart(&mut self, number: u8, signal: Signal) {
        self.agents[usize::from(number) - 1].end(signal);
        self.revive(number);
    }

    fn open_gate(&self, member: u32) {
        self.gates[member as usize - 1].store(true, Ordering::SeqCst);
    }

    fn has_come(&self, member: u32, bytes: u64) {
        let count = &self.members[member as usize - 1].count;
        wait_until("more has come", || count.load(Ordering::SeqCst) > bytes);
    }

    /// The one stream, as an agent tells of it.
    fn stream(&self, agent: u8) -> Value {
        self.agents[usize::from(agent) - 1].stats()["sessions"][0]["streams"][0].clone()
    }

    /// Everybody has all, and the agent of the sender knows it.
    fn check(&mut self, sender: JoinHandle<std::io::Result<Vec<u8>>>, bytes: &[u8], what: &str) {
        let sent = sender.join().expect("the sender's thread");
        if sent.is_err() {
            self.agents.iter_mut().for_each(SplitProcess::report);
        }
        assert!(sent.is_ok(), "{what}: the sender notices nothing: {sent:?}");
        for member in std::mem::take(&mut self.members) {
            let number = member.number;
            let got = member.finish();
            assert!(got.error.is_none(), "{what}: member {number}: {:?}", got.error);
            assert!(got.bytes == bytes, "{what}: member {number} differs: {} bytes", got.bytes.len());
            let receipt = self.agents[0].wait_for("receipt", |e| e["member"] == number);
            assert_eq!(receipt["bytes"], bytes.len(), "{what}");
        }
    }
}

#[test]
fn agents_that_are_killed_one_after_the_other_lose_and_double_no_byte() {
    for mode in ["n2n", "e2e"] {
        let mut group = SplitGroup::new(mode, &[2]);
        let bytes = random_bytes(LENGTH);
        let source = PacedSender::start(group.network.connect(1), bytes.clone());
        // Members have come differently far: the slow one has not read anything.
        source.go_on_to(8);
        group.has_come(1, 100_000);
        group.restart(2, Signal::SIGKILL);
        group.agents[0].wait_for("branch_resumed", |_| true);
        group.open_gate(2);
        group.has_come(1, 6 << 20);
        source.go_on_to(16);
        group.has_come(1, 9 << 20);
        group.restart(3, Signal::SIGKILL);
        group.agents[1].wait_for("branch_resumed", |_| true);
        group.has_come(1, 14 << 20);
        source.go_on_to(23);
        group.has_come(1, 17 << 20);
        group.restart(2, Signal::SIGTERM);
        group.check(source.end(), &bytes, mode);
    }
}

#[test]
fn agents_that_are_killed_together_and_again_before_they_have_resumed() {
    for mode in ["n2n", "e2e"] {
        let mut group = SplitGroup::new(mode, &[]);
        let bytes = random_bytes(LENGTH);
        let source = PacedSender::start(group.network.connect(1), bytes.clone());
        source.go_on_to(8);
        group.has_come(3, 100_000);
        group.kill(2);
        group.kill(3);
        group.revive(2);
        // It has its stream again, and calls for the next agent in vain: so it is stopped.
        group.agents[0].wait_for("branch_resumed", |_| true);
        group.restart(2, Signal::SIGTERM);
        group.revive(3);
        group.has_come(3, 6 << 20);
        source.go_on_to(23);
        group.has_come(1, 9 << 20);
        // Nobody waits until it is connected again, or until it is known how far.
        for _ in 0..3 {
            group.restart(2, Signal::SIGKILL);
            group.restart(3, Signal::SIGKILL);
        }
        group.agents[1].wait_for("branch_resumed", |_| true);
        group.restart(2, Signal::SIGKILL);
        group.check(source.end(), &bytes, mode);
    }
}

/// All that an agent may take was taken, and the next agent's member has all of it. The next agent has
/// nothing new to say to the agent that is started again, and that one cannot take more before it hears.
#[test]
fn an_agent_that_was_full_goes_on() {
    let mut group = SplitGroup::new("e2e", &[2]);
    let bytes = random_bytes(LENGTH);
    let source = PacedSender::start(group.network.connect(1), bytes.clone());
    source.go_on_to(16);
    let count = Arc::clone(&group.members[2].count);
    wait_until("the slow member stops all", || {
        let (first, stream) = (group.stream(1), group.stream(2));
        let full = stream["cache"] == 1 << 20 && first["branches"][0]["lag"] == first["cache"];
        full && stream["received"] == count.load(Ordering::SeqCst) && group.stream(3)["cache"] == 0
    });
    group.restart(2, Signal::SIGKILL);
    group.agents[1].wait_for("branch_resumed", |_| true);
    group.open_gate(2);
    group.check(source.end(), &bytes, "e2e");
}

/// The next agent was done with the stream when this one is started again, and knows nothing of it but that;
/// it was done before this one was killed, or while it was dead.
#[test]
fn an_agent_is_told_again_what_the_next_one_said_last() {
    for (mode, meanwhile) in [("n2n", false), ("e2e", false), ("n2n", true), ("e2e", true)] {
        let mut group = SplitGroup::new(mode, if meanwhile { &[2, 3] } else { &[2] });
        // So much that the agents can take all although members have not.
        let bytes = random_bytes(1 << 19);
        let sender = PacedSender::start(group.network.connect(1), bytes.clone()).end();
        wait_until("the next agent has all", || {
            let streams = &group.agents[2].stats()["sessions"][0];
            streams["closed"][0]["ended"] == true || streams["streams"][0]["ended"] == true
        });
        if !meanwhile {
            wait_until("the next agent is done", || group.agents[2].stats()["streams"] == 0);
        }
        group.kill(2);
        group.open_gate(3);
        wait_until("the next agent is done", || group.agents[2].stats()["streams"] == 0);
        group.revive(2);
        group.agents[1].wait_for("branch_resumed", |_| true);
        group.open_gate(2);
        group.check(sender, &bytes, mode);
    }
}

#[test]
fn an_agent_that_does_not_come_back_resets_who_it_served() {
    let network = SplitNetwork::new();
    let (first, member) = (network.agent_with(1, &["--resume-timeout", "1"], None), Manner::default());
    let member = MemberProgram::start(&network, 1, member);
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
    let network = SplitNetwork::new();
    let (mut first, mut second) = (network.agent(1), network.agent(2));
    let member = MemberProgram::start(&network, 1, Manner::default());
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

/// The next agent has not heard of the stream, and is asked to go on with it by one that cannot know that.
#[test]
fn an_agent_that_is_killed_before_it_reached_the_next_one_is_lost_with_the_stream() {
    for with_member in [true, false] {
        let network = SplitNetwork::new();
        let mut first = network.agent(1);
        let member = with_member.then(|| MemberProgram::start(&network, 1, Manner::default()));
        let more = json!({"resume": true});
        first.set(network.spec(1, &[network.to_agent(2)], more.clone()));
        let mut branches = vec![network.to_agent(1), network.to_agent(3)];
        branches.extend(member.as_ref().map(MemberProgram::branch));
        let start_second = || {
            let keep = network.path("keep").display().to_string();
            let agent = network.agent_with(2, &["--resume-timeout", "1", "--keep", &keep], None);
            agent.set(network.spec(2, &branches, more.clone()));
            agent
        };
        let mut second = start_second();
        let mut stream = network.connect(1);
        stream.write_all(b"half of it").expect("sent");
        wait_until("the second agent has it and cannot reach the third", || {
            let stream = &second.stats()["sessions"][0]["streams"][0];
            stream["received"] == 10 && stream["branches"][0]["state"] == "waiting"
        });
        // The second answer comes after the turn in which the first agent hears that its stream was taken.
        let _ = (first.stats(), first.stats());
        second.kill();
        let third = network.agent(3);
        third.set(network.spec(3, &[network.to_agent(2)], more.clone()));
        let _second = start_second();
        let error = stream.read(&mut [0; 1]).map_err(|e| e.kind());
        assert_eq!(error, Err(ErrorKind::ConnectionReset));
        let closed = first.wait_for("stream_closed", |_| true);
        assert_eq!(
            (&closed["outcome"], &closed["fault"]),
            (&json!("aborted"), &json!("agent_lost")),
            "{closed}"
        );
        if let Some(member) = member {
            assert_eq!(member.finish().error, Some(ErrorKind::ConnectionReset));
        }
    }
}
