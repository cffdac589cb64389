use super::*;

fn range(first: u32, last: u32) -> PacketRange {
    PacketRange { first: Seq(first), last: Seq(last) }
}

fn drain(repeats: &mut Repeats, now: Nanos) -> Vec<u32> {
    let rtt = Nanos::from_millis(60);
    std::iter::from_fn(|| repeats.pop(now, rtt)).map(|seq| seq.0).collect()
}

#[test]
fn only_what_was_sent_is_repeated_and_not_too_often() {
    let mut repeats = Repeats::default();
    let nack = Nack { next: Seq(1), ranges: vec![range(3, 4), range(9, 30)] };
    repeats.request(&nack, range(4, 10));
    assert_eq!(drain(&mut repeats, Nanos::ZERO), [4, 9, 10]);
    repeats.request(&nack, range(1, 9));
    assert_eq!(drain(&mut repeats, Nanos::from_millis(29)), [3]);
    repeats.request(&nack, range(1, 9));
    assert_eq!(drain(&mut repeats, Nanos::from_millis(30)), [4, 9]);
}

#[test]
fn a_request_is_answered_up_to_a_bound() {
    let mut repeats = Repeats::default();
    let nack = Nack { next: Seq(1), ranges: vec![range(1, 2000), range(3000, 3000)] };
    repeats.request(&nack, range(1, 5000));
    assert_eq!(drain(&mut repeats, Nanos::ZERO).len(), 1024);
}
