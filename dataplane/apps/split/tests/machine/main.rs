//! The machine in a world of its own: connections that carry bytes in any portions, are refused and lost; one
//! agent, and two in a row.

mod chain;
mod one_agent;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use groupflow_base::{Nanos, StreamId};
use groupflow_split::machine::{
    Abort, Action, BranchKind, BranchSpec, BranchState, LateStart, MachineConfig, Replies, SessionSpec,
    Source, SplitMachine, Stream,
};
use groupflow_transport::fanout::{BranchId, Mode};
use groupflow_transport::terms::Policy;

pub const STREAM: StreamId = StreamId(7);
pub const CONNECT: Nanos = Nanos::from_secs(5);
const SENDER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 200), 1);

pub fn member(number: u32) -> BranchSpec {
    BranchSpec {
        kind: BranchKind::Member(number),
        name: format!("m{number}"),
        address: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, number as u8), 9000),
        join: LateStart::Now,
        links: Vec::new(),
    }
}

pub fn agent() -> BranchSpec {
    let address = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 1), 26480);
    BranchSpec { kind: BranchKind::Agent, name: "next".to_owned(), address, ..member(0) }
}

pub fn session(mode: Mode, branches: Vec<BranchSpec>) -> SessionSpec {
    SessionSpec {
        id: 1,
        address: Ipv4Addr::new(10, 200, 0, 1),
        ports: vec![5000],
        mode,
        cache_bytes: 100_000,
        history_bytes: 0,
        allowance_bytes: 10_000,
        congestion: None,
        send_buffer: None,
        receive_buffer: None,
        policy: Policy::Strict,
        replies: Replies::Drop,
        neighbours: Vec::new(),
        branches,
    }
}

/// One agent with one stream, and the connections that its machine has asked for.
pub struct World {
    pub machine: SplitMachine,
    pub now: Nanos,
    /// The offset of the next byte that each connected branch is sent.
    pub sent: BTreeMap<BranchId, u64>,
}

impl World {
    pub fn new(spec: SessionSpec, is_agent: bool) -> World {
        let config = MachineConfig { connect: CONNECT, max_streams: 2, max_cache: 1 << 20 };
        let mut machine = SplitMachine::new(config);
        let now = Nanos::from_secs(1);
        machine.check_session(&spec).expect("a session");
        machine.set_session(now, spec.clone(), serde_json::Value::Null);
        let source = Source { peer: SENDER, is_agent };
        let stream = machine.begin(now, STREAM, Arc::new(spec), source, 0);
        machine.accept(now, stream).expect("it has members");
        let mut world = World { machine, now, sent: BTreeMap::new() };
        world.advance();
        world
    }

    pub fn stream(&mut self) -> &mut Stream {
        self.machine.stream(STREAM).expect("it is there until it is closed")
    }

    pub fn outcome(&mut self) -> Option<Result<(), Abort>> {
        let now = self.now;
        self.stream().outcome(now)
    }

    pub fn ids(&mut self) -> Vec<BranchId> {
        self.stream().branches.iter().map(|branch| branch.id).collect()
    }

    pub fn state(&mut self, id: BranchId) -> Option<BranchState> {
        self.stream().branch(id).map(|branch| branch.state)
    }

    /// Lets the machine decide, and carries out its actions.
    pub fn advance(&mut self) {
        let now = self.now;
        self.stream().advance(now);
        while let Some(action) = self.stream().next_action() {
            match action {
                Action::Connect(id) => {
                    let at = self.stream().connects_at(id);
                    self.sent.insert(id, at);
                }
                Action::Close(id) => drop(self.sent.remove(&id)),
            }
        }
    }

    /// Takes up to so many bytes from upstream; returns their number.
    pub fn arrive(&mut self, bytes: u64) -> u64 {
        let stream = self.stream();
        let taken = bytes.min(stream.core.intake());
        stream.on_received(taken);
        taken
    }

    /// Writes up to so many bytes to a branch, and the end when it is due.
    pub fn send(&mut self, id: BranchId, most: u64) -> u64 {
        let range = self.stream().sendable(id);
        let bytes = most.min(range.end - range.start);
        if bytes > 0 {
            let at = self.sent.get_mut(&id).expect("bytes go only to a branch with a connection");
            assert_eq!(range.start, *at, "no gap, and nothing twice");
            *at += bytes;
            assert!(range.start >= self.stream().core.base, "the bytes are cached");
            self.stream().on_sent(id, bytes);
        }
        if self.stream().end_due(id) {
            self.stream().on_end_sent(id);
        }
        bytes
    }
}
