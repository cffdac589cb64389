use groupflow_gather::machine::{Epoch, Outgoing, Send, StripeId};

const A: StripeId = StripeId(0);
const B: StripeId = StripeId(1);

fn stream(bytes: usize, limit: u64) -> Outgoing {
    let mut outgoing = Outgoing::new(1 << 20);
    outgoing.push(&vec![7; bytes]);
    outgoing.on_welcome(A, Epoch(1), (0, limit), 2).expect("welcome");
    outgoing.on_welcome(B, Epoch(1), (0, limit), 2).expect("welcome");
    outgoing
}

#[test]
fn what_a_lost_stripe_had_goes_to_another_before_anything_new() {
    let mut outgoing = stream(10_000, 1 << 20);
    outgoing.on_want(16);
    // 1 MiB / 8 / 16.
    assert_eq!(outgoing.give(A), Some(Send::Data(0..8192)));
    assert_eq!(outgoing.give(B), Some(Send::Data(8192..10_000)));
    assert_eq!(outgoing.give(B), None);
    outgoing.push(&[7; 100]);
    outgoing.on_delivered(B, 1000, 1 << 20).expect("news");
    outgoing.on_lost(A);
    assert_eq!(outgoing.give(B), Some(Send::Data(1000..8192)));
    assert_eq!(outgoing.give(B), Some(Send::Data(10_000..10_100)));
    outgoing.finish();
    assert_eq!(outgoing.give(B), Some(Send::End(10_100)));
    assert_eq!(outgoing.give(B), None);
}

#[test]
fn nothing_goes_beyond_the_limit() {
    let mut outgoing = stream(10_000, 3000);
    let mut given = 0;
    while let Some(Send::Data(range)) = outgoing.give(A) {
        given = range.end;
    }
    assert_eq!(given, 3000);
    outgoing.on_delivered(A, 500, 3500).expect("news");
    assert_eq!(outgoing.give(B), Some(Send::Data(3000..3500)));
}

#[test]
fn a_stripe_that_left_has_done_its_work_unless_the_server_forgets() {
    let mut outgoing = stream(2000, 1 << 20);
    assert_eq!(outgoing.give(A), Some(Send::Data(0..2000)));
    outgoing.retire(A);
    outgoing.push(&[7; 100]);
    assert_eq!(outgoing.give(A), None, "it leaves");
    outgoing.on_left(A);
    assert_eq!(outgoing.give(B), Some(Send::Data(2000..2100)));
    assert_eq!(outgoing.give(B), None);
    let stale = outgoing.on_welcome(A, Epoch(2), (700, 1 << 20), 1);
    assert_eq!(stale, Ok(vec![B]));
    assert_eq!(outgoing.give(A), Some(Send::Data(700..2100)));
}

#[test]
fn the_end_is_told_again_when_its_stripe_is_lost() {
    let mut outgoing = stream(0, 1 << 20);
    outgoing.finish();
    assert_eq!(outgoing.give(A), Some(Send::End(0)));
    assert_eq!(outgoing.give(B), None);
    outgoing.on_lost(A);
    assert_eq!(outgoing.give(B), Some(Send::End(0)));
    outgoing.on_complete(0).expect("complete");
    assert!(outgoing.complete);
}

/// The reason why the server is not believed.
fn said<T: std::fmt::Debug>(result: Result<T, groupflow_base::CodecError>) -> String {
    result.expect_err("impossible").to_string()
}

#[test]
fn a_server_that_says_what_cannot_be_is_not_believed() {
    let mut outgoing = stream(2000, 1 << 20);
    assert_eq!(outgoing.give(A), Some(Send::Data(0..2000)));
    let error = outgoing.on_delivered(A, 2001, 1 << 20);
    assert_eq!(said(error), "delivered.delivered: 2001 lies beyond 2000, which is all that was sent");
    outgoing.on_delivered(A, 1500, 1 << 20).expect("news");
    outgoing.on_delivered(B, 1000, 1 << 20).expect("old news");
    assert_eq!(outgoing.acknowledged(), 1500);
    let error = outgoing.on_welcome(A, Epoch(2), (1000, 1 << 20), 1);
    assert_eq!(said(error), "welcome.delivered: 1000 is before 1500, which was acknowledged");
    assert_eq!(said(outgoing.on_complete(2000)), "complete.length: 2000 is not the stream's", "it goes on");
}

#[test]
fn what_is_said_now_and_then_goes_at_once_and_a_torrent_of_small_things_gathers() {
    let mut outgoing = stream(0, 1 << 20);
    let mut blocks = 0;
    for _ in 0..100 {
        outgoing.push(&[7; 50]);
        blocks += usize::from(outgoing.give(A).is_some());
    }
    assert!((16..21).contains(&blocks), "{blocks}");
}

#[test]
fn memory_is_bounded() {
    let mut outgoing = Outgoing::new(1000);
    assert_eq!(outgoing.push(&[7; 1500]), 1000);
    assert_eq!((outgoing.room(), outgoing.push(&[7])), (0, 0));
}
