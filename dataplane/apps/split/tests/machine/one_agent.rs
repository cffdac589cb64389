//! One agent between a sender and members.

use std::collections::BTreeMap;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_split::machine::frame::{Fault, Preamble, SplitFrame};
use groupflow_split::machine::{Abort, BranchState, LinkLoss, Replies, SessionSpec, Source};
use groupflow_transport::fanout::{BranchId, Mode};
use groupflow_transport::terms::Policy;
use proptest::prelude::*;

use crate::{agent, member, session, World, CONNECT, STREAM};

#[derive(Debug, Clone)]
enum Op {
    Arrive(u64),
    Connect(usize),
    Send(usize, u64),
    /// The TCP of a branch acknowledges so many per cent of what it lacks.
    Acknowledge(usize, u64),
    Reset(usize),
    Reply(usize, usize),
    Wait(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let bytes = 1..40_000_u64;
    prop_oneof![
        4 => bytes.clone().prop_map(Op::Arrive),
        2 => (0..4_usize).prop_map(Op::Connect),
        6 => (0..4_usize, bytes).prop_map(|(place, bytes)| Op::Send(place, bytes)),
        6 => (0..4_usize, 0..=100_u64).prop_map(|(place, share)| Op::Acknowledge(place, share)),
        1 => (0..4_usize).prop_map(Op::Reset),
        1 => (0..4_usize, 1..2000_usize).prop_map(|(place, bytes)| Op::Reply(place, bytes)),
        1 => (1..500_u64).prop_map(Op::Wait),
    ]
}

/// The bytes that members have acknowledged.
#[derive(Default)]
struct Members {
    acked: BTreeMap<BranchId, u64>,
}

fn perform(world: &mut World, members: &mut Members, op: Op) {
    let now = world.now;
    let ids = world.ids();
    let at = |place: usize| ids.get(place).copied();
    match op {
        Op::Arrive(bytes) => drop(world.arrive(bytes)),
        Op::Connect(place) => {
            let connecting = |id: &BranchId| world.state(*id) == Some(BranchState::Connecting);
            if let Some(id) = at(place).filter(connecting) {
                world.stream().on_connected(id);
            }
        }
        Op::Send(place, bytes) => drop(at(place).map(|id| world.send(id, bytes))),
        Op::Acknowledge(place, share) => {
            if let Some(id) = at(place).filter(|id| world.sent.contains_key(id)) {
                let acked = members.acked.entry(id).or_default();
                *acked += (world.sent[&id] - *acked) * share / 100;
                let acked = *acked;
                world.stream().on_acknowledged(id, acked, false);
            }
        }
        Op::Reset(place) => {
            if let Some(id) = at(place) {
                world.stream().on_branch_lost(now, id, LinkLoss::Reset, "connection reset");
            }
        }
        Op::Reply(place, bytes) => {
            if let Some(id) = at(place).filter(|&id| world.stream().hears(id)) {
                world.stream().on_heard(now, id, &vec![7; bytes]);
            }
        }
        Op::Wait(ms) => world.now += Nanos::from_millis(ms),
    }
    world.advance();
}

/// Checks the bounds that hold at any time.
fn check(world: &mut World, members: &Members, spec: &SessionSpec) {
    let stream = world.stream();
    let (received, base, cached) = (stream.core.received, stream.core.base, stream.core.cached());
    let ahead = if spec.mode == Mode::EndToEnd { spec.allowance_bytes } else { spec.cache_bytes };
    assert!(cached <= ahead, "{cached} bytes are cached");
    assert!(stream.outgoing.len() <= 64 << 10, "replies are bounded");
    for id in world.ids() {
        let acked = members.acked.get(&id).copied().unwrap_or(0);
        assert!(base <= acked && acked <= received, "{base} <= {acked} <= {received}");
    }
}

/// Ends the stream, lets all members that are left take all of it, and returns how it ends.
fn finish(world: &mut World) -> Option<Result<(), Abort>> {
    let now = world.now;
    for id in world.ids() {
        world.stream().on_connected(id);
    }
    world.stream().on_source_end();
    for id in world.ids() {
        while world.send(id, 9000) > 0 {}
        let received = world.stream().core.received;
        assert_eq!(world.sent[&id], received, "the branch has all bytes");
        world.stream().on_acknowledged(id, received, true);
        world.stream().on_heard_end(now, id);
    }
    world.advance();
    world.stream().outgoing.clear();
    world.outcome()
}

fn events(world: &mut World, name: &str) -> usize {
    world.machine.events().iter().filter(|event| event["event"] == name).count()
}

proptest! {
    #[test]
    fn any_order_of_events_keeps_all_bytes_and_bounds(
        end_to_end: bool, merge: bool, ops in proptest::collection::vec(op(), 0..200),
    ) {
        let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
        let replies = if merge { Replies::Merge } else { Replies::Drop };
        let spec = SessionSpec { replies, ..session(mode, (1..=4).map(member).collect()) };
        let mut world = World::new(spec.clone(), false);
        let mut members = Members::default();
        for op in ops {
            perform(&mut world, &mut members, op);
            // A member that does not connect in time is lost like one that is reset.
            if world.ids().is_empty() {
                break;
            }
            check(&mut world, &members, &spec);
        }
        let left = world.ids().len();
        match finish(&mut world) {
            Some(Ok(())) => {
                prop_assert!(left > 0);
                prop_assert_eq!(events(&mut world, "receipt"), left);
            }
            Some(Err(Abort { fault, .. })) => {
                prop_assert!(left == 0 && fault == Fault::NoMembers);
            }
            None => prop_assert!(false, "it has ended"),
        }
    }
}

#[test]
fn an_agent_that_refuses_is_tried_again_and_then_given_up() {
    let mut world = World::new(session(Mode::NodeToNode, vec![agent(), member(1)]), false);
    let next = world.ids()[0];
    let (began, mut attempts) = (world.now, 0);
    while world.outcome().is_none() {
        let now = world.now;
        if world.state(next) == Some(BranchState::Connecting) {
            attempts += 1;
            world.stream().on_branch_lost(now, next, LinkLoss::Failed, "connection refused");
        }
        world.now = world.stream().deadline().map_or(now, |at| at.max(now));
        world.advance();
    }
    assert!(attempts > 10 && world.now >= began + CONNECT, "{attempts} until {}", world.now);
    let lost = Abort::new(Fault::AgentLost, "agent next cannot be reached: connection refused");
    assert_eq!(world.outcome(), Some(Err(lost)));
}

#[test]
fn without_a_descriptor_a_stream_is_refused_when_it_begins() {
    for (retries, refused) in [(0, true), (1, false)] {
        let mut world = World::new(session(Mode::NodeToNode, vec![agent()]), false);
        let next = world.ids()[0];
        for _ in 0..retries {
            let now = world.now;
            world.stream().on_branch_lost(now, next, LinkLoss::Failed, "connection refused");
            world.now = world.stream().deadline().expect("it is tried again");
            world.advance();
        }
        let now = world.now;
        world.stream().on_branch_lost(now, next, LinkLoss::NoDescriptor, "no descriptor");
        assert_eq!(world.outcome(), refused.then(|| Err(Abort::new(Fault::Refused, "no descriptor"))));
    }
}

#[test]
fn an_agent_counts_when_it_has_said_that_it_accepts_the_stream() {
    let mut world = World::new(session(Mode::NodeToNode, vec![agent()]), false);
    let (now, next) = (world.now, world.ids()[0]);
    world.stream().on_connected(next);
    world.arrive(1000);
    world.send(next, 1000);
    world.stream().on_acknowledged(next, 1000, false);
    assert_eq!(world.stream().core.cached(), 1000, "a connection that may be refused");
    let mut welcome = Vec::new();
    SplitFrame::Welcome { offset: 0 }.encode_into(&mut welcome);
    world.stream().on_heard(now, next, &welcome);
    world.stream().on_acknowledged(next, 1000, false);
    assert_eq!(world.stream().core.cached(), 0);
    world.stream().on_branch_lost(now, next, LinkLoss::Reset, "connection reset");
    let lost = Abort::new(Fault::AgentLost, "agent next is lost: connection reset");
    assert_eq!(world.outcome(), Some(Err(lost)));
}

#[test]
fn a_slow_branch_holds_up_the_stream_or_is_left_behind() {
    for (policy, mode, fate) in [
        (Policy::Strict, Mode::NodeToNode, (false, false)),
        (Policy::Isolate, Mode::NodeToNode, (true, false)),
        (Policy::Isolate, Mode::EndToEnd, (false, true)),
    ] {
        let spec = SessionSpec { policy, ..session(mode, vec![member(1), member(2)]) };
        let mut world = World::new(spec, false);
        let [fast, slow] = world.ids()[..] else { panic!("two members") };
        [fast, slow].into_iter().for_each(|id| world.stream().on_connected(id));
        while world.arrive(5000) > 0 && world.ids().len() == 2 {
            world.send(fast, u64::MAX);
            let received = world.stream().core.received;
            world.stream().on_acknowledged(fast, received, false);
            world.advance();
            if world.machine.stats(0).to_string().contains("isolated") {
                break;
            }
        }
        let removed = world.ids() == [fast];
        let isolated = world.machine.stats(0).to_string().contains("isolated");
        assert_eq!((removed, isolated), fate, "{policy:?} {mode:?}");
        assert_eq!(world.stream().core.intake() > 0, removed || isolated);
        assert_eq!(events(&mut world, "isolated"), usize::from(removed || isolated));
    }
}

#[test]
fn a_late_branch_gets_what_its_session_says() {
    let start = |number| crate::BranchSpec { join: crate::LateStart::Start, ..member(number) };
    for (history_bytes, begins) in [(0, vec![0, 1000]), (5000, vec![0, 1000, 0])] {
        let spec = SessionSpec { history_bytes, ..session(Mode::NodeToNode, vec![member(1)]) };
        let mut world = World::new(spec.clone(), false);
        let (now, first) = (world.now, world.ids()[0]);
        world.stream().on_connected(first);
        world.arrive(1000);
        world.send(first, 1000);
        world.stream().on_acknowledged(first, 1000, false);
        world.machine.set_session(
            now,
            SessionSpec { branches: vec![member(1), member(2), start(3)], ..spec.clone() },
            serde_json::Value::Null,
        );
        let starts: Vec<u64> = world.stream().branches.iter().map(|branch| branch.start).collect();
        assert_eq!(starts, begins);
        let refused = events(&mut world, "join_refused");
        assert_eq!(refused, 3 - starts.len(), "its first byte is discarded");
        let one = SessionSpec { branches: vec![member(2)], ..spec };
        world.machine.set_session(now, one, serde_json::Value::Null);
        assert_eq!(world.ids().len(), 1, "who is removed from the session gets no more");
    }
}

#[test]
fn a_stream_is_admitted_from_neighbours_into_a_session_of_its_mode() {
    let mut world = World::new(session(Mode::NodeToNode, vec![agent(), member(1)]), false);
    let (neighbour, stranger) = (*agent().address.ip(), *member(1).address.ip());
    let preamble =
        Preamble { session: 1, stream: groupflow_base::StreamId(8), offset: 0, mode: Mode::NodeToNode };
    let machine = &mut world.machine;
    assert!(machine.admits(neighbour, &preamble).is_ok());
    for (from, changed, text) in [
        (neighbour, Preamble { session: 2, ..preamble }, "session 2 is unknown here"),
        (stranger, preamble, "10.0.0.1 is no neighbour in session 1"),
        (neighbour, Preamble { mode: Mode::EndToEnd, ..preamble }, "session 1 has another mode here"),
        (neighbour, Preamble { stream: STREAM, ..preamble }, "stream 0000000000000007 is here already"),
    ] {
        assert_eq!(machine.admits(from, &changed).map(drop), Err(text.to_owned()));
    }
    assert_eq!((machine.giving_way(), machine.has_room(false)), (None, Ok(())));
    let spec = machine.session(1).expect("the session");
    let source = Source { peer: crate::SENDER, is_agent: false };
    let second = machine.begin(world.now, groupflow_base::StreamId(8), Arc::clone(&spec), source, 0);
    machine.accept(world.now, second).expect("there is room");
    assert_eq!(machine.has_room(false).map_err(|refusal| refusal.code), Err("streams"));
    assert_eq!(machine.giving_way(), Some(STREAM), "the older one of those that sent nothing");
}
