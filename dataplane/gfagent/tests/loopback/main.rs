//! Real gfagent processes on loopback, without root: a file, a stream and datagrams from one
//! sender to receivers through a lossy relay, and faults.

mod agents;
#[path = "../../../session/tests/model/mod.rs"]
mod model;
mod relay;

use std::io::Write;
use std::net::{SocketAddrV4, UdpSocket};
use std::process::{Command, Output};

use crate::model::controller::Rules;
use agents::{GroupProcess, TempFolder};
use groupflow_base::BitRate;
use groupflow_transport::terms::{Mode, Policy};
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use relay::RelayNetwork;

fn rules(agents: bool) -> Rules {
    Rules {
        mode: Mode::NodeToNode,
        policy: Policy::Isolate,
        window: 1024,
        rate: BitRate(200_000_000),
        token: "c0ffee".to_owned(),
        agents,
        decouple: false,
        keeps_streams: false,
    }
}

fn random_bytes(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    StdRng::seed_from_u64(3).fill_bytes(&mut bytes);
    bytes
}

const SESSION: [&str; 2] = ["--session", "7"];

fn start(via: SocketAddrV4, what: &str, name: &str, args: &[&str]) -> GroupProcess {
    let mut all = vec![what, "--name", name];
    if what != "cache" {
        all.extend(SESSION);
    }
    all.extend(args);
    GroupProcess::start(via, &all, what == "recv" && !args.contains(&"--output"))
}

#[test]
fn a_file_reaches_two_receivers_through_loss() {
    let folder = TempFolder::new("file");
    let bytes = random_bytes((3 << 20) + 17);
    std::fs::write(folder.path("in"), &bytes).expect("the input");
    let mut network = RelayNetwork::new(rules(true), 20);
    let mut cache = start(network.add_port(), "cache", "sa1", &["--max-bytes", "64MiB"]);
    cache.wait_for("joined");
    let receivers: Vec<GroupProcess> = ["mb1", "mb2"]
        .iter()
        .map(|name| start(network.add_port(), "recv", name, &["--output", &folder.path(name)]))
        .collect();
    let sender = start(network.add_port(), "send", "ma1", &["--file", &folder.path("in"), "--members", "2"]);
    let sent = sender.finish();
    assert_eq!(sent.code, Some(0), "{:?}", sent.events);
    let complete = sent.event("complete");
    assert_eq!(complete["bytes"], bytes.len());
    assert_eq!(complete["packets"], bytes.len().div_ceil(1448));
    assert_eq!(complete["lost"], serde_json::json!([]));
    assert_eq!(sent.event("started")["receivers"], 2);
    assert_eq!(
        (&complete["role"], &complete["name"], &complete["session"]),
        (&serde_json::json!("send"), &serde_json::json!("ma1"), &serde_json::json!(7))
    );
    for (agent, name) in receivers.into_iter().zip(["mb1", "mb2"]) {
        let received = agent.finish();
        assert_eq!(received.code, Some(0), "{name}: {:?}", received.events);
        let complete = received.event("complete");
        assert_eq!(complete["bytes"], bytes.len());
        assert!(complete["repaired_packets"].as_u64() > Some(0), "{complete}");
        assert!(std::fs::read(folder.path(name)).expect("the output") == bytes, "{name} differs");
    }
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(cache.pid()), nix::sys::signal::Signal::SIGTERM)
        .expect("signalled");
    let cached = cache.finish();
    assert_eq!(cached.code, Some(0));
    let stats = cached.event("stats");
    assert!(stats["repairs_unicast"].as_u64() > Some(10), "{stats}");
    assert_eq!(stats["streams"][0]["session"], 7);
    assert_eq!(stats["streams"][0]["mode"], "n2n");
}

#[test]
fn stdin_becomes_stdout() {
    let bytes = random_bytes(1 << 20);
    let mut network = RelayNetwork::new(rules(false), 10);
    let receiver = start(network.add_port(), "recv", "mb1", &[]);
    let mut sender = start(network.add_port(), "send", "ma1", &[]);
    sender.stdin().write_all(&bytes).expect("the group takes the stream");
    let sent = sender.finish();
    assert_eq!(sent.code, Some(0), "{:?}", sent.events);
    let received = receiver.finish();
    assert_eq!(received.code, Some(0), "{:?}", received.events);
    assert!(received.stdout == bytes, "{} bytes", received.stdout.len());
}

#[test]
fn datagrams_keep_their_boundaries() {
    let mut frames = Vec::new();
    for length in [0_usize, 1, 1444, 1445, 100_000, 3] {
        frames.extend((length as u32).to_be_bytes());
        frames.extend(random_bytes(length));
    }
    let mut network = RelayNetwork::new(rules(false), 10);
    let receiver = start(network.add_port(), "recv", "mb1", &["--datagrams"]);
    let mut sender = start(network.add_port(), "send", "ma1", &["--datagrams"]);
    sender.stdin().write_all(&frames).expect("the group takes the datagrams");
    assert_eq!(sender.finish().code, Some(0));
    let received = receiver.finish();
    assert_eq!(received.code, Some(0), "{:?}", received.events);
    assert_eq!(received.event("complete")["datagrams"], 6);
    assert!(received.stdout == frames, "{} bytes", received.stdout.len());
}

#[test]
fn a_receiver_that_is_killed_is_named() {
    let folder = TempFolder::new("killed");
    std::fs::write(folder.path("in"), random_bytes(8 << 20)).expect("the input");
    let mut network = RelayNetwork::new(rules(false), 0);
    let mut survivor = start(network.add_port(), "recv", "mb1", &["--output", &folder.path("mb1")]);
    survivor.wait_for("joined");
    let mut victim = start(network.add_port(), "recv", "mb2", &["--output", &folder.path("mb2")]);
    let args = ["--file", &folder.path("in"), "--members", "2", "--rate", "20mbit"];
    let sender = start(network.add_port(), "send", "ma1", &args);
    victim.wait_for("started");
    drop(victim);
    let sent = sender.finish();
    assert_eq!(sent.code, Some(3), "{:?}", sent.events);
    assert_eq!(sent.event("complete")["lost"], serde_json::json!(["mb2"]));
    assert_eq!(survivor.finish().code, Some(0));
    assert!(!std::path::Path::new(&folder.path("mb2")).exists(), "incomplete files have another name");
}

#[test]
fn a_wrong_token_is_refused() {
    let mut network = RelayNetwork::new(rules(false), 0);
    let folder = TempFolder::new("wrong");
    std::fs::write(folder.path("token"), "bad\n").expect("written");
    let file = folder.path("token");
    let args = ["recv", "--name", "mb1", "--session", "7", "--token-file", &file, "--output", "/dev/null"];
    let ended = GroupProcess::start(network.add_port(), &args, false).finish();
    assert_eq!(ended.code, Some(4));
    assert_eq!(ended.event("error")["code"], "refused");
    let line = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.starts_with("gfagent: refused by the controller: "), "{line}");
}

#[test]
fn nobody_answers() {
    let mut network = RelayNetwork::new(rules(false), 0);
    network.set_controller_alive(false);
    let ended =
        start(network.add_port(), "recv", "mb1", &["--output", "/dev/null", "--join-timeout", "1"]).finish();
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.event("error")["code"], "join_timeout");
}

#[test]
fn a_transfer_ends_without_the_controller() {
    let folder = TempFolder::new("alone");
    let bytes = random_bytes(1 << 20);
    std::fs::write(folder.path("in"), &bytes).expect("the input");
    let mut network = RelayNetwork::new(rules(false), 0);
    let receiver = start(network.add_port(), "recv", "mb1", &["--output", &folder.path("out")]);
    let args = ["--file", &folder.path("in"), "--rate", "20mbit"];
    let mut sender = start(network.add_port(), "send", "ma1", &args);
    sender.wait_for("started");
    network.set_controller_alive(false);
    for (agent, name) in [(sender, "sender"), (receiver, "receiver")] {
        let ended = agent.finish();
        assert_eq!(ended.code, Some(0), "{name}: {:?}", ended.events);
        assert_eq!(ended.event("complete")["bytes"], bytes.len(), "{name}");
    }
    assert!(std::fs::read(folder.path("out")).expect("the output") == bytes);
}

#[test]
fn a_signal_ends_every_command_quickly() {
    use nix::sys::signal::{kill, Signal};
    let mut network = RelayNetwork::new(rules(false), 0);
    let cases = [
        ("recv", &["--output", "/dev/null"][..], 1),
        ("send", &["--members", "5"][..], 1),
        ("cache", &[][..], 0),
    ];
    for (what, args, code) in cases {
        let mut agent = start(network.add_port(), what, "x", args);
        agent.wait_for("joined");
        kill(nix::unistd::Pid::from_raw(agent.pid()), Signal::SIGTERM).expect("signalled");
        let asked = std::time::Instant::now();
        let ended = agent.finish();
        assert_eq!(ended.code, Some(code), "{what}: {:?}", ended.events);
        assert!(asked.elapsed() < agents::PATIENCE, "{what}");
        if code == 1 {
            assert_eq!(ended.event("error")["code"], "interrupted", "{what}");
        }
    }
}

/// Runs gfagent without a network.
fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gfagent")).args(args).output().expect("gfagent runs")
}

#[test]
fn bad_input_gets_one_line_and_an_exit_code() {
    let busy = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = busy.local_addr().expect("an address").port().to_string();
    let cases: [(&[&str], i32, &str); 12] = [
        (
            &["send", "--session", "7", "--name", "x", "--file", "/nonexistent"],
            1,
            "cannot read /nonexistent: no such",
        ),
        (&["send", "--session", "7", "--name", "x", "--file", "/"], 1, "/ is no regular file"),
        (&["send", "--session", "0", "--name", "x"], 2, "a session id is a number from 1 to 16777215"),
        (&["send", "--session", "7", "--name", "x", "--rate", "fast"], 2, "is not a rate such as"),
        (&["recv", "--session", "7"], 2, "--name <NAME>"),
        (
            &["recv", "--session", "7", "--name", "x", "--output", "/nonexistent/x"],
            1,
            "cannot write /nonexistent/x",
        ),
        (&["recv", "--session", "7", "--name", "", "--output", "/dev/null"], 2, "--name must be"),
        (&["cache", "--name", "x", "--bind-iface", "nope0"], 1, "no interface nope0"),
        (&["shape", "--iface", "nope0", "--flow", "1=10.0.6.1"], 1, "no interface \"nope0\""),
        (&["shape", "--iface", "lo", "--flow", "1=h6"], 2, "\"1=h6\" is no flow such as"),
        (&["shape", "--iface", "lo", "--flow", "1=10.0.6.1", "--flow", "1=10.0.7.1"], 2, "one number twice"),
        (
            &["cache", "--name", "x", "--addr", "127.0.0.1", "--port", &port],
            1,
            "is in use; stop the other agent",
        ),
    ];
    for (args, code, text) in cases {
        let output = run(args);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {line}");
        assert_eq!(line.lines().count(), 1, "{args:?}: {line}");
        assert!(line.starts_with("gfagent: ") && line.contains(text), "{args:?}: {line}");
    }
}

#[test]
fn help_has_examples() {
    for command in ["send", "recv", "cache"] {
        let output = run(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("Example") && text.contains("gfagent"), "{text}");
    }
}
