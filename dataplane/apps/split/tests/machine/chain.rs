//! Two agents in a row: the frames of one are what the other hears.

use groupflow_base::codec::Envelopes;
use groupflow_split::machine::frame::{SplitFrame, MAX_REPLY};
use groupflow_transport::fanout::Mode;
use proptest::prelude::*;

use crate::{agent, member, session, World};

/// A sender's agent with one member, the next agent with two members, and the bytes between the agents.
struct Chain {
    first: World,
    second: World,
}

impl Chain {
    fn new(mode: Mode) -> Chain {
        let mut first = World::new(session(mode, vec![agent(), member(1)]), false);
        let mut second = World::new(session(mode, vec![member(2), member(3)]), true);
        for world in [&mut first, &mut second] {
            world.ids().into_iter().for_each(|id| world.stream().on_connected(id));
        }
        Chain { first, second }
    }

    /// Moves up to so many bytes of the stream from agent to agent, and so many bytes of frames back.
    fn between(&mut self, most: u64, back: usize) {
        let (now, next) = (self.first.now, self.first.ids()[0]);
        let moved = self.first.send(next, most.min(self.second.stream().core.intake()));
        self.second.arrive(moved);
        let at = self.second.stream().core.received;
        self.first.stream().on_acknowledged(next, at, false);
        self.second.advance();
        let outgoing = &mut self.second.stream().outgoing;
        let frames: Vec<u8> = outgoing.drain(..back.min(MAX_REPLY).min(outgoing.len())).collect();
        self.first.stream().on_heard(now, next, &frames);
        self.first.advance();
    }

    /// The members take up to so many bytes, and acknowledge them.
    fn members_take(&mut self, place: usize, most: u64, end: bool) {
        let (world, at) = if place == 0 { (&mut self.first, 1) } else { (&mut self.second, place - 1) };
        let (now, id) = (world.now, world.ids()[at]);
        world.send(id, most);
        let sent = world.sent[&id];
        world.stream().on_acknowledged(id, sent, end);
        if end {
            world.stream().on_heard_end(now, id);
        }
        world.advance();
    }
}

proptest! {
    #[test]
    fn frames_in_any_portions_tell_the_first_agent_what_all_members_have(
        end_to_end: bool,
        steps in proptest::collection::vec((0..30_000_u64, 0..3_usize, 0..40_usize), 0..80),
    ) {
        let mode = if end_to_end { Mode::EndToEnd } else { Mode::NodeToNode };
        let mut chain = Chain::new(mode);
        for (bytes, place, back) in steps {
            chain.first.arrive(bytes);
            chain.between(bytes, back);
            chain.members_take(place, bytes, false);
            let least = chain.second.sent.values().copied().min().unwrap_or(0);
            let base = chain.first.stream().core.base;
            prop_assert!(mode == Mode::NodeToNode || base <= least, "end-to-end: {base} of {least}");
        }
        let now = chain.first.now;
        chain.first.stream().on_source_end();
        while chain.second.stream().core.received < chain.first.stream().core.received {
            chain.between(5000, 100);
            (1..3).for_each(|place| chain.members_take(place, u64::MAX, false));
        }
        chain.between(0, 1000);
        chain.second.stream().on_source_end();
        (0..3).for_each(|place| chain.members_take(place, u64::MAX, true));
        while !chain.second.stream().outgoing.is_empty() {
            chain.between(0, 7);
        }
        prop_assert_eq!(chain.second.outcome(), Some(Ok(())));
        let next = chain.first.ids()[0];
        chain.first.stream().on_heard_end(now, next);
        chain.first.advance();
        prop_assert_eq!(chain.first.outcome(), Some(Ok(())));
        let events = chain.first.machine.events();
        let mut named: Vec<u64> =
            events.iter().filter(|e| e["event"] == "receipt").filter_map(|e| e["member"].as_u64()).collect();
        named.sort_unstable();
        prop_assert_eq!(named, [1, 2, 3], "a receipt of each member");
    }
}

#[test]
fn an_agent_that_claims_more_than_it_was_sent_is_lost() {
    let mut chain = Chain::new(Mode::EndToEnd);
    chain.between(0, 100);
    let (now, next) = (chain.first.now, chain.first.ids()[0]);
    for frame in [
        SplitFrame::Progress { offset: 1, complete: false },
        SplitFrame::Progress { offset: 0, complete: true },
        SplitFrame::Welcome { offset: 0 },
    ] {
        let mut chain = Chain::new(Mode::EndToEnd);
        chain.between(0, 100);
        let mut bytes = Vec::new();
        frame.encode_into(&mut bytes);
        chain.first.stream().on_heard(now, next, &bytes);
        assert!(matches!(chain.first.outcome(), Some(Err(_))), "{frame:?}");
    }
    let said: Vec<u8> = chain.second.stream().outgoing.drain(..).collect();
    assert_eq!(SplitFrame::next(&mut Envelopes::default(), &mut &said[..]), Ok(None), "nothing new to say");
}
