use super::*;
use crate::ids::{MemberId, SessionId};
use crate::wire::Kind;
use rand::SeedableRng;

fn header(kind: Kind) -> Header {
    Header::new(kind, SessionId(1), MemberId(1))
}

#[test]
fn every_16_packets_or_10_ms_after_the_first() {
    let mut acks = Acknowledger::new(Seq(1));
    acks.advance(Nanos::ZERO, Seq(2));
    assert_eq!(acks.next_deadline(), Some(DELAY));
    acks.advance(Nanos(5), Seq(16));
    assert_eq!(acks.next_deadline(), Some(DELAY));
    acks.advance(Nanos(6), Seq(17));
    let sent = acks.poll_transmit(Nanos(6), header(Kind::Ack));
    assert_eq!(sent.map(|h| (h.seq, h.flags)), Some((Seq(17), Flags::NONE)));
    assert_eq!(acks.next_deadline(), None);
    acks.advance(Nanos(7), Seq(3));
    assert_eq!((acks.value, acks.next_deadline()), (Seq(17), None));
}

#[test]
fn a_new_poll_is_answered_once() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut acks = Acknowledger::new(Seq(1));
    let sync = |poll| Header { poll, stamp: 77, ..header(Kind::Sync) };
    acks.observe(Nanos::ZERO, &sync(0), &mut rng);
    assert_eq!(acks.next_deadline(), None, "0 is no poll");
    acks.observe(Nanos::ZERO, &sync(3), &mut rng);
    let sent = acks.poll_transmit(POLL_SPREAD, header(Kind::Ack));
    let expected = Some((Flags::FORCED, 3, Seq(1), 77));
    assert_eq!(sent.map(|h| (h.flags, h.poll, h.seq, h.stamp)), expected);
    acks.observe(POLL_SPREAD, &sync(3), &mut rng);
    acks.observe(POLL_SPREAD, &sync(2), &mut rng);
    assert_eq!(acks.next_deadline(), None, "old polls are not answered");
}

#[test]
fn poll_numbers_wrap() {
    let cases = [(1, 0, true), (0, 9, false), (9, 9, false), (1, 255, true), (255, 1, false)];
    for (a, b, newer) in cases {
        assert_eq!(newer_poll(a, b), newer, "{a} after {b}");
    }
}
