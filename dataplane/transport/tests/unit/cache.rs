use groupflow_base::{Datagram, Machine, Nanos};
use groupflow_transport::cache::{Cache, CacheEvent};
use groupflow_transport::terms::Terms;
use groupflow_transport::wire::{Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};
use rand_chacha::rand_core::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Of two streams, one has no room for a window and the other has: each says so once, not at every packet.
#[test]
fn each_stream_says_once_whether_it_has_room() {
    let mut cache = Cache::new(64 << 20, ChaCha8Rng::seed_from_u64(1));
    cache.set_member(MemberId(9));
    let (session, from) = (SessionId(7), SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9000));
    let [full, roomy] = [1, 2].map(|source| (session, MemberId(source)));
    for (key, max_bytes) in [(full, 1500), (roomy, 0)] {
        let terms = Terms { window: 4, max_bytes, ..Terms::default() };
        assert!(cache.delegate(Nanos::ZERO, key, terms, &[]));
    }
    for seq in 1..20 {
        for (session, source) in [full, roomy] {
            let header = Header { seq: Seq(seq), member: source, ..Header::new(Kind::Data, session, source) };
            let bytes = header.encode(&[7; 100]);
            let now = Nanos::from_millis(seq.into());
            cache.handle(now, Datagram { from, bytes: &bytes }).expect("a packet");
        }
    }
    let events: Vec<CacheEvent> = std::iter::from_fn(|| cache.poll_event()).collect();
    assert_eq!(events, [CacheEvent::Full(full)]);
    assert!(cache.stats().full);
    cache.forget(full);
    assert!(!cache.stats().full, "of the other nothing is full");
}
