//! Packet generators in virtual time: their packets go through the program like arrivals.

use crate::common::{request, set_rate, Testbed};
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_switch::core::Generator;

const MS: u64 = 1_000_000;

fn add(bed: &mut Testbed, id: u8, first: u64, period: u64, frame: Vec<u8>) {
    let generator =
        Generator { period: Nanos(period), first: Nanos(first), frame, port: Port(0), enabled: true };
    bed.switch.change_generators(|generators, now| generators.insert(now, id, generator)).unwrap().unwrap();
}

#[test]
fn ticks_are_exact_however_time_advances() {
    let run = |step: u64| {
        let mut bed = Testbed::of_queues(&[]);
        add(&mut bed, 0, 700, 3333, request(2, 0, 1, 60));
        add(&mut bed, 1, 0, 5000, request(3, 0, 2, 60));
        let mut left = Vec::new();
        (0..=1_000_000 / step).for_each(|n| left.extend(bed.left(n * step)));
        left
    };
    let left = run(1);
    let of_two: Vec<u64> = left.iter().filter(|(_, port)| *port == 2).map(|(time, _)| *time).collect();
    assert!((0..).zip(&of_two).all(|(n, time)| *time == 700 + n * 3333));
    assert_eq!(of_two.len(), 300);
    assert_eq!(run(1_000_000), left);
    assert_eq!(run(12_500), left);
}

#[test]
fn a_tick_may_set_rates() {
    let mut bed = Testbed::of_queues(&[]);
    bed.inject(0, 1, &set_rate(2, 4, 0));
    (0..2).for_each(|_| bed.inject(0, 1, &request(2, 4, 0, 100)));
    add(&mut bed, 0, 5 * MS, 1000 * MS, set_rate(2, 4, 64_000));
    assert_eq!(bed.left(100 * MS), [(5 * MS, 2), (6 * MS, 2)]);
}

/// The order of events in one nanosecond: queues first, then ticks by their numbers, then arrivals.
#[test]
fn a_tick_comes_before_a_frame_that_arrives_in_the_same_nanosecond() {
    let mut bed = Testbed::of_queues(&[]);
    bed.inject(0, 1, &set_rate(2, 4, 64_000));
    add(&mut bed, 3, MS, 1000 * MS, request(2, 0, 13, 60));
    add(&mut bed, 1, MS, 1000 * MS, request(2, 0, 11, 60));
    (0..2).for_each(|n| bed.inject(0, 1, &request(2, 4, n, 60)));
    bed.inject(MS, 1, &request(2, 0, 20, 60));
    let left = bed.advance(MS);
    let order: Vec<(u64, u8)> = left.iter().map(|output| (output.time.0, output.bytes[5])).collect();
    assert_eq!(order, [(0, 0), (MS, 1), (MS, 11), (MS, 13), (MS, 20)]);
}

/// At the end of an emulated link a frame is an event of its port, and ports come before generators.
#[test]
fn a_tick_comes_after_a_frame_from_an_emulated_link() {
    let mut bed = Testbed::of_queues(&["1:delay=1ms,dir=in"]);
    add(&mut bed, 0, MS, 1000 * MS, request(2, 0, 10, 60));
    bed.inject(0, 1, &request(2, 0, 20, 60));
    bed.inject(MS, 3, &request(2, 0, 30, 60));
    let order: Vec<u8> = bed.advance(MS).iter().map(|output| output.bytes[5]).collect();
    assert_eq!(order, [20, 10, 30]);
}

#[test]
fn the_next_tick_is_a_deadline_and_without_a_program_there_are_none() {
    let mut bed = Testbed::of_queues(&[]);
    add(&mut bed, 9, 5, 1000, request(2, 0, 0, 60));
    assert_eq!(bed.switch.deadline(), Some(Nanos(5)));
    bed.advance(5);
    assert_eq!(bed.switch.deadline(), Some(Nanos(1005)));
    let mut empty = Testbed::without_program(&[]);
    assert!(empty.switch.change_generators(|generators, _| generators.delete(0)).is_none());
}
