use groupflow_base::Nanos;
use groupflow_session::caching::{PendingRequests, RETRY};
use groupflow_session::control::{Request, RequestId};
use groupflow_transport::ids::{MemberId, SessionId};
use groupflow_transport::wire::{Header, Kind};

fn push(pending: &mut PendingRequests, now: Nanos) -> RequestId {
    let header = Header::new(Kind::Query, SessionId(9), MemberId(1));
    pending.send(now, header, Request::Query)
}

#[test]
fn repeats_until_answered() {
    let mut pending = PendingRequests::new(u32::MAX);
    let id = push(&mut pending, Nanos::ZERO);
    assert_eq!(id, RequestId(1), "0 is never used");
    let first = pending.poll_transmit(Nanos::ZERO);
    assert!(first.is_some());
    assert_eq!(pending.poll_transmit(Nanos::ZERO), None);
    assert_eq!(pending.next_deadline(), Some(RETRY));
    assert_eq!(pending.poll_transmit(RETRY), first);
    assert!(pending.answered(id));
    assert!(!pending.answered(id));
    assert_eq!(pending.next_deadline(), None);
}

#[test]
fn is_bounded() {
    let mut pending = PendingRequests::new(0);
    let first = push(&mut pending, Nanos::ZERO);
    for _ in 0..64 {
        push(&mut pending, Nanos::ZERO);
    }
    assert!(!pending.answered(first));
}
