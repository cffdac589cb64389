use std::collections::BTreeMap;

use groupflow_base::{BitRate, Nanos};
use groupflow_tree::machine::{ConnId, HostId};
use groupflow_tree::study::routers::Routers;
use groupflow_tree::study::wires::{HostAttachment, WireEvent, Wires};

const RATE: BitRate = BitRate(1_000_000);

/// Hosts 0 to 2, a millisecond from the network; hosts 1 and 2 are each connected to host 0.
fn three() -> Wires {
    let mut wires = Wires::default();
    let attachment = HostAttachment { router: None, access: Nanos::from_millis(1), up: RATE, down: RATE };
    (0..3).for_each(|host| wires.add_host(HostId(host), attachment));
    for host in 1..3 {
        wires.connect(Nanos::ZERO, (HostId(host), ConnId(1)), HostId(0));
    }
    let mut there = 0;
    while wires.deadline() != Nanos::MAX {
        let now = wires.deadline();
        match wires.step() {
            Some(WireEvent::Asked { wire, .. }) => wires.accept(now, wire, ConnId(wire)),
            Some(WireEvent::Connected(_)) => there += 1,
            other => assert_eq!(other, None),
        }
    }
    assert_eq!(there, 2);
    wires
}

/// Keeps these connections of host 0 always full; returns the bytes that were sent by then on each, and those
/// that arrived at each host.
fn pour(
    wires: &mut Wires, from: &[ConnId], until: Nanos,
) -> (BTreeMap<ConnId, usize>, BTreeMap<HostId, usize>) {
    let (mut sent, mut came) = (BTreeMap::new(), BTreeMap::new());
    let mut fill = |wires: &mut Wires, now, conn| {
        let end = (HostId(0), conn);
        let room = wires.room(end);
        wires.send(now, end, &vec![7; room]);
        *sent.entry(conn).or_insert(0) += room;
    };
    from.iter().for_each(|&conn| fill(wires, Nanos::ZERO, conn));
    while wires.deadline() <= until {
        let now = wires.deadline();
        match wires.step() {
            Some(WireEvent::Bytes((host, _), bytes)) => *came.entry(host).or_insert(0) += bytes.len(),
            Some(WireEvent::Room((_, conn))) => fill(wires, now, conn),
            _ => {}
        }
    }
    (sent, came)
}

#[test]
fn connections_share_the_links_rate() {
    let mut wires = three();
    let conns = wires.of(HostId(0));
    let (_, came) = pour(&mut wires, &conns, Nanos::from_secs(10));
    let whole = RATE.bytes_in(Nanos::from_secs(10)) as f64 * 1448.0 / 1514.0;
    let shares = [1, 2].map(|host| came[&HostId(host)] as f64 / whole);
    assert!(shares.iter().all(|share| (0.49..=0.51).contains(share)), "{shares:?}");
}

/// Bytes for a slow host wait at their sender, and do not hold up others there.
#[test]
fn a_slow_link_holds_up_its_own_connection_only() {
    let mut wires = three();
    wires.set_rate(HostId(1), RATE.scaled(100));
    let conns = wires.of(HostId(0));
    let empty = wires.room((HostId(0), conns[0]));
    let (sent, came) = pour(&mut wires, &conns, Nanos::from_secs(10));
    let whole = RATE.bytes_in(Nanos::from_secs(10)) as f64 * 1448.0 / 1514.0;
    let shares = [1, 2].map(|host| came[&HostId(host)] as f64 / whole);
    assert!((0.09..=0.1).contains(&shares[0]) && shares[1] > 0.8, "{shares:?}");
    for (conn, host) in conns.into_iter().zip([1, 2]) {
        let waiting = empty - wires.room((HostId(0), conn));
        let under_way = sent[&conn] - waiting - came[&HostId(host)];
        assert!(under_way <= 32 << 10, "{under_way}");
    }
}

/// The rate does not depend on the latency or on the upstream rate of the receiver.
#[test]
fn a_connection_over_routers_has_the_rate_of_the_links() {
    let routers = Routers::transit_stub(2, 1, 1, 1);
    let [a, b] = [routers.stubs[0], routers.stubs[1]];
    let far = routers.latency(a, b);
    let mut wires = Wires::with_routers(routers);
    let attachment =
        |router, up, down| HostAttachment { router: Some(router), access: Nanos::ZERO, up, down };
    wires.add_host(HostId(0), attachment(a, BitRate(10_000_000), RATE));
    wires.add_host(HostId(1), attachment(b, RATE, BitRate(20_000_000)));
    assert!(wires.latency(HostId(0), HostId(1)) == far && far > Nanos::from_millis(10));
    wires.connect(Nanos::ZERO, (HostId(1), ConnId(1)), HostId(0));
    let asked = wires.deadline();
    let Some(WireEvent::Asked { wire, .. }) = wires.step() else { panic!("it is asked") };
    wires.accept(asked, wire, ConnId(wire));
    let answered = wires.deadline();
    assert_eq!((asked, answered), (far, far + far));
    let (conns, end) = (wires.of(HostId(0)), Nanos::from_secs(10));
    let came = pour(&mut wires, &conns, end).1[&HostId(1)] as f64;
    let whole = BitRate(10_000_000).bytes_in(end - far) as f64 * 1448.0 / 1514.0;
    assert!((0.98..=1.0).contains(&(came / whole)), "{came} of {whole}");
}

#[test]
fn sent_bytes_come_before_the_end() {
    let mut wires = three();
    let conn = wires.of(HostId(0))[0];
    wires.send(Nanos::ZERO, (HostId(0), conn), &[1; 100_000]);
    wires.finish(Nanos::ZERO, (HostId(0), conn));
    let (mut came, mut closed) = (0, 0);
    while wires.deadline() != Nanos::MAX {
        match wires.step() {
            Some(WireEvent::Bytes(_, bytes)) => came += bytes.len(),
            Some(WireEvent::Closed(end)) => {
                assert_eq!((end, came), ((HostId(1), ConnId(1)), 100_000));
                closed += 1;
            }
            other => assert_eq!(other, None),
        }
    }
    assert_eq!(closed, 1);
    assert_eq!(wires.of(HostId(1)), []);
}
