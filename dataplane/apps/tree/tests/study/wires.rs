use groupflow_base::Nanos;
use groupflow_tree::machine::{ConnId, HostId};
use groupflow_tree::study::routers::Routers;
use groupflow_tree::study::wires::{HostAttachment, WireEvent, Wires};

const A: (HostId, ConnId) = (HostId(0), ConnId(7));
const B: (HostId, ConnId) = (HostId(1), ConnId(8));

/// Two hosts behind different routers, each a millisecond from its own, and the latency between them.
fn two() -> (Wires, Nanos) {
    let routers = Routers::transit_stub(2, 1, 1, 1);
    let stubs = [routers.stubs[0], routers.stubs[1]];
    let mut wires = Wires::new(routers);
    let access = Nanos::from_millis(1);
    (0..)
        .zip(stubs)
        .for_each(|(host, router)| wires.add_host(HostId(host), HostAttachment { router, access }));
    let latency = wires.latency(A.0, B.0);
    assert!(latency > Nanos::from_millis(12), "{latency:?}");
    (wires, latency)
}

/// The events that are left, each with its time.
fn rest(wires: &mut Wires) -> Vec<(Nanos, WireEvent)> {
    let mut events = Vec::new();
    while wires.deadline() != Nanos::MAX {
        let now = wires.deadline();
        events.extend(wires.step().map(|event| (now, event)));
    }
    events
}

/// A connection from A to B, made after two latencies.
fn connected() -> (Wires, Nanos) {
    let (mut wires, latency) = two();
    wires.connect(Nanos::ZERO, A, B.0);
    assert_eq!(wires.deadline(), latency);
    let Some(WireEvent::Asked { wire, to }) = wires.step() else { panic!("B is asked") };
    assert_eq!(to, B.0);
    wires.accept(latency, wire, B.1);
    assert_eq!(rest(&mut wires), [(latency + latency, WireEvent::Connected(A))]);
    assert_eq!((wires.of(A.0), wires.round_trip(B)), (vec![A.1], latency + latency));
    (wires, latency)
}

#[test]
fn bytes_arrive_in_order_after_the_latency_and_before_the_end() {
    let (mut wires, latency) = connected();
    let sent = [Nanos::from_secs(1), Nanos::from_secs(1)];
    wires.send(sent[0], A, vec![1; 1000]);
    wires.send(sent[1], A, vec![2]);
    wires.finish(sent[1], A);
    let arrived = sent[0] + latency;
    let bytes = |bytes| (arrived, WireEvent::Bytes(B, bytes));
    assert_eq!(rest(&mut wires), [bytes(vec![1; 1000]), bytes(vec![2]), (arrived, WireEvent::Closed(B))]);
    assert_eq!((wires.of(A.0), wires.of(B.0)), (vec![], vec![]));
}

#[test]
fn a_refused_end_and_an_end_whose_peer_vanished_are_told_so() {
    let (mut wires, latency) = two();
    wires.connect(Nanos::ZERO, A, B.0);
    let Some(WireEvent::Asked { wire, .. }) = wires.step() else { panic!("B is asked") };
    wires.refuse(latency, wire);
    assert_eq!(rest(&mut wires), [(latency + latency, WireEvent::Closed(A))]);

    let (mut wires, latency) = connected();
    let silence = Nanos::from_millis(500);
    wires.vanish(Nanos::from_secs(1), A.0, silence);
    wires.send(Nanos::from_secs(1), A, vec![1]);
    assert_eq!(rest(&mut wires), [(Nanos::from_secs(1) + silence + latency, WireEvent::Closed(B))]);
}
