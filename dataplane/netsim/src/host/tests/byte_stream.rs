use std::net::Ipv4Addr;

use super::*;
use crate::tcp::decode;
use crate::wire::{Addresses, TRANSPORT};

fn addresses(source_port: u16, destination_port: u16) -> Addresses {
    let mac = [2, 0, 0, 0, 0, 1];
    let ip = Ipv4Addr::new(10, 0, 0, 1);
    Addresses {
        source_mac: mac,
        destination_mac: mac,
        source: ip,
        destination: ip,
        source_port,
        destination_port,
    }
}

/// Both ends of a connection.
fn two() -> [ByteStream; 2] {
    [(1, 2), (2, 1)].map(|(from, to)| ByteStream::new(Nanos::ZERO, &addresses(from, to), 100).expect("valid"))
}

/// Lets 10 ms pass at a time until both ends have nothing to do before `until`. Of the packets from the first
/// end, those that `loses` are lost. Returns what the second end reads, and the bytes of the longest frame.
fn exchange(
    ends: &mut [ByteStream; 2], until: Nanos, mut loses: impl FnMut(usize) -> bool,
) -> (Vec<Arrival>, usize) {
    let (mut now, mut number, mut longest, mut read) = (Nanos::ZERO, 0, 0, Vec::new());
    while now < until {
        for from in [0, 1] {
            let mut head = Vec::new();
            ends[from].on_timer(now);
            while ends[from].acknowledge(now, &mut head) || ends[from].poll(now, &mut head) {
                number += 1;
                longest = longest.max(head.len());
                let segment = decode(&head[TRANSPORT..]).expect("a segment");
                let ports = (segment.source_port, segment.destination_port);
                assert_eq!(ports, [(1, 2), (2, 1)][from]);
                let payload = &head[head.len() - segment.payload as usize..];
                if from == 1 || !loses(number) {
                    ends[1 - from].on_segment(now, segment, payload);
                }
            }
        }
        read.extend(std::iter::from_fn(|| ends[1].read()));
        now += Nanos::from_millis(10);
    }
    (read, longest)
}

fn joined(arrivals: &[Arrival]) -> Vec<u8> {
    let bytes = arrivals.iter().filter_map(|arrival| match arrival {
        Arrival::Bytes(bytes) => Some(bytes.as_slice()),
        Arrival::End => None,
    });
    bytes.collect::<Vec<_>>().concat()
}

#[test]
fn bytes_arrive_in_order_and_then_the_end_though_packets_are_lost() {
    let mut ends = two();
    let sent: Vec<u8> = (0..200_000u32).map(|at| (at * 7 % 251) as u8).collect();
    ends[0].send(&sent);
    ends[0].finish();
    let (read, longest) = exchange(&mut ends, Nanos::from_secs(20), |number| number % 17 == 5);
    assert!(joined(&read) == sent && read.last() == Some(&Arrival::End), "{} arrivals", read.len());
    assert_eq!(longest, 14 + 20 + 32 + 1448);
    assert!(ends[0].is_connected() && ends[0].is_acknowledged() && ends[0].deadline() == Nanos::MAX);
}

/// Small writes share a packet until it is sent, and its frame is no longer than they are.
#[test]
fn small_writes_are_short_on_the_wire() {
    let mut ends = two();
    (0..10).for_each(|number| ends[0].send(&[number; 10]));
    let (read, longest) = exchange(&mut ends, Nanos::from_secs(1), |_| false);
    assert_eq!((read.len(), joined(&read).len(), longest), (1, 100, 14 + 20 + 32 + 100));
}

#[test]
fn a_stream_has_room_for_as_many_bytes_as_wait() {
    let mut stream = two().into_iter().next().expect("two ends");
    assert_eq!(stream.room(), 128 << 10);
    stream.send(&[1; 1000]);
    assert_eq!(stream.room(), (128 << 10) - 1000);
    stream.send(&vec![1; 200_000]);
    assert_eq!(stream.room(), 0);
}

#[test]
fn a_stream_whose_peer_is_silent_is_lost_after_three_seconds() {
    let [mut stream, _] = two();
    let mut head = Vec::new();
    assert!(stream.poll(Nanos::ZERO, &mut head));
    assert!(!stream.on_timer(Nanos::from_millis(2_999)) && stream.on_timer(Nanos::from_secs(3)));
}
