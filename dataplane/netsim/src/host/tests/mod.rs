use super::udp::UdpSource;
use super::*;
use crate::ids::{LinkId, NodeId};
use crate::link::{FarEnd, Link};
use crate::random::{Draws, Random};
use crate::spec::{Arrivals, BacklogSpec, Sizes, UdpSpec};
use crate::wire::{Addresses, PROTOCOL_UDP};
use crate::wiring::{Island, Leaf, Subject, Wiring};
use std::net::Ipv4Addr;

/// A link to nowhere in particular.
fn wiring() -> Wiring {
    let end = FarEnd { node: NodeId(0), port: 0, leaf: Leaf::default() };
    let link = Link::new(Nanos::ZERO, Random::new(1, Draws::Link(0)), Nanos::MAX, end);
    let island = Island::new(vec![Subject::Arrival(LinkId(0))], Nanos::MAX);
    Wiring::new(vec![link], vec![island])
}

/// The host's way to send.
fn exit(wiring: &mut Wiring, now: Nanos) -> Exit<'_> {
    Exit { wiring, ports: &[Some(LinkId(0))], now, node: NodeId(0) }
}

/// A source of 1,000-byte frames, `rate` bit/s, until a microsecond has passed.
fn source(port: u16, rate_bps: u64, shaped_as: Option<u16>) -> FlowEnd {
    let address = Ipv4Addr::new(10, 0, 0, 1);
    let addresses = Addresses {
        source_mac: [2; 6],
        destination_mac: [4; 6],
        source: address,
        destination: address,
        source_port: port,
        destination_port: port,
    };
    let (sizes, arrivals) = (Sizes::Constant, Arrivals::Constant);
    let spec = UdpSpec { rate_bps, frame_bytes: 1000, sizes, arrivals };
    let random = Random::new(1, Draws::Flow(0));
    let source = UdpSource::new(addresses, spec, random, (Nanos::ZERO, Nanos(1000)), 1000);
    FlowEnd { shaped_as, ..FlowEnd::new(FlowId(0), PROTOCOL_UDP, port, Box::new(source)) }
}

/// Lets a host act until `until`; returns the times at which frames had left, with their source ports.
fn run(host: &mut HostInterface, wiring: &mut Wiring, until: u64) -> Vec<(u64, u16)> {
    while host.deadline() <= Nanos(until) {
        let now = host.deadline();
        host.advance(&mut exit(wiring, now));
    }
    let (queue, mut sent) = (&mut wiring.links[0].queue, Vec::new());
    while let (Nanos(time), Some(mut frame)) = (queue.next(), queue.lend()) {
        sent.push((time, u16::from_be_bytes([frame.head()[34], frame.head()[35]])));
        queue.give_back(frame);
    }
    sent
}

fn feedback(flow: u16, rate: i32) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x88, 0xB5]);
    frame.extend(flow.to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(rate.to_be_bytes());
    frame.extend([0; 4]);
    frame
}

#[test]
fn a_flow_keeps_to_the_rate_that_feedback_tells() {
    let mut host = HostInterface::new(0, None, vec![source(1, 800_000_000_000, Some(7))]);
    let mut wiring = wiring();
    let tell = |host: &mut HostInterface, wiring: &mut Wiring, now, rate| {
        host.receive(&feedback(7, rate), 0, &mut exit(wiring, Nanos(now)));
    };
    // 100 frames come into being within a microsecond; the first leaves before anything is told.
    assert_eq!(run(&mut host, &mut wiring, 0), [(0, 1)]);
    tell(&mut host, &mut wiring, 1, 64 * 1_000_000);
    assert_eq!(run(&mut host, &mut wiring, 2500), [(1000, 1), (2000, 1)]);
    tell(&mut host, &mut wiring, 2600, 64 * 10_000_000);
    assert_eq!(run(&mut host, &mut wiring, 2750), [(2600, 1), (2700, 1)], "at once for what waits");
    tell(&mut host, &mut wiring, 2800, -5);
    assert_eq!(run(&mut host, &mut wiring, 1_000_000), [], "below zero is a pause");
    assert_eq!(host.deadline(), Nanos::MAX);
    host.receive(&feedback(8, 64), 0, &mut exit(&mut wiring, Nanos(3)));
    assert_eq!(host.unexpected, 1, "of no flow here");
}

#[test]
fn flows_take_turns_at_the_interface() {
    let ends = vec![source(1, 800_000_000_000, None), source(2, 800_000_000_000, None)];
    let mut host = HostInterface::new(0, Some(BitRate(8_000_000_000)), ends);
    let sent = run(&mut host, &mut wiring(), 8_500);
    let times: Vec<u64> = sent.iter().map(|(time, _)| *time).collect();
    assert_eq!(times, (1..=9).map(|n| n * 1000).collect::<Vec<_>>());
    let of_one = sent.iter().filter(|(_, port)| *port == 1).count();
    assert!((4..=5).contains(&of_one), "{sent:?}");
}

#[test]
fn what_waits_in_a_host_that_takes_part_adds_to_its_rate_and_finds_no_room_beyond_its_bound() {
    let spec = BacklogSpec { packets: 11, gain: 64 * 1_000_000 };
    let end = FlowEnd { backlog: Some(Backlog::new(spec)), ..source(1, 800_000_000_000, Some(7)) };
    let mut host = HostInterface::new(0, None, vec![end]);
    let mut wiring = wiring();
    host.receive(&feedback(7, 0), 0, &mut exit(&mut wiring, Nanos::ZERO));
    assert_eq!(run(&mut host, &mut wiring, 1000), []);
    assert_eq!(host.ends[0].dropped(), 100 - 11, "all that may be sent comes to the host at once");
    host.receive(&feedback(7, -64 * 1_000_000), 0, &mut exit(&mut wiring, Nanos(2000)));
    assert_eq!(run(&mut host, &mut wiring, 2250), [(2000, 1), (2100, 1), (2200, 1)], "-1 + 11 a microsecond");
    host.receive(&feedback(7, -64 * 8_000_000), 0, &mut exit(&mut wiring, Nanos(2250)));
    assert_eq!(run(&mut host, &mut wiring, 1_000_000), [], "the 8 that are left do not exceed -8");
}
