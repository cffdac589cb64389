use super::*;
use std::net::Ipv4Addr;

#[test]
fn lag_is_told_once_with_hysteresis() {
    let host = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 1);
    let mut requesters = Requesters::default();
    let cases = [(200, None), (201, Some(true)), (900, None), (26, None), (25, Some(false))];
    for (behind, expected) in cases {
        let change = requesters.asked(Nanos::ZERO, host, MemberId(3), behind, 100);
        assert_eq!(change.map(|c| c.slow), expected, "{behind} behind");
    }
}

#[test]
fn who_lags_is_told_where_the_stream_is() {
    let host = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 1);
    let now = Nanos::from_secs(1);
    let mut requesters = Requesters::default();
    requesters.asked(now, host, MemberId(3), 500, 100);
    assert_eq!(requesters.slow(), [MemberId(3)]);
    assert_eq!(requesters.poll_sync(now, Seq(7)), Some(host));
    assert_eq!(requesters.next_deadline(Seq(7)), Some(now + SYNC_IDLE));
    assert_eq!(requesters.next_deadline(Seq(8)), Some(now + SYNC));
    assert_eq!(requesters.poll_sync(now + SYNC, Seq(7)), None);
    assert_eq!(requesters.poll_sync(now + SYNC, Seq(8)), Some(host));
    assert_eq!(requesters.poll_sync(now + PATIENCE + SYNC, Seq(9)), None);
    assert!(requesters.slow().is_empty());
}
