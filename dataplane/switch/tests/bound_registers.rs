//! Registers bound to queues: the program reads depths and shares (eq. 13), and writes rates.

use crate::common::{self, request, set_rate, Testbed};
use groupflow_pipeline::Port;
use groupflow_switch::core::{FlowControl, PacketRate};
use groupflow_switch::p4rt::PipelineConfig;
use groupflow_switch::proto::p4::v1::entity::Entity as Kinds;
use groupflow_switch::proto::p4::v1::p4_data::Data;
use groupflow_switch::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::{Index, P4Data, RegisterEntry};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const NONE: u128 = u32::MAX as u128;
/// 12.112 Mb/s carry 1000 packets of 1514 bytes a second.
const LINK: &str = "2:rate=12.112mbit,queue=100000,dir=out";

fn register(bed: &Testbed, name: &str, queue: usize) -> u128 {
    let forwarding = bed.switch.forwarding().unwrap();
    let register = forwarding.pipeline.program().register(name).unwrap().id;
    forwarding.pipeline.register_read(register, 2 * 8 + queue).unwrap()
}

fn depth(bed: &Testbed, queue: usize) -> u128 {
    register(bed, "QueueEgress.depth", queue)
}

fn share(bed: &Testbed, queue: usize) -> u128 {
    register(bed, "QueueEgress.share", queue)
}

/// The program writes the rate of a queue of port 2, in packets/s.
fn rate(bed: &mut Testbed, now: u64, queue: u8, rate: u32) {
    bed.inject(now, 1, &set_rate(2, queue, rate * 64));
}

fn same_level(bed: &mut Testbed, queues: &[u8]) {
    for queue in queues {
        bed.switch.change_queue(Port(2), *queue, &"level=1".parse().unwrap()).unwrap();
    }
}

/// A flow for eq. 13: a packet that stays in the queue.
fn keep(bed: &mut Testbed, queues: &[u8]) {
    for queue in queues {
        bed.switch.change_queue(Port(2), *queue, &"pause".parse().unwrap()).unwrap();
        send(bed, 0, *queue, 1);
    }
}

fn send(bed: &mut Testbed, now: u64, queue: u8, count: usize) {
    (0..count).for_each(|_| bed.inject(now, 1, &request(2, queue, 0, 1514)));
}

fn times(bed: &mut Testbed, now: u64) -> Vec<u64> {
    bed.advance(now).iter().map(|output| output.time.0).collect()
}

fn count(bed: &mut Testbed, now: u64) -> [usize; 8] {
    let mut count = [0; 8];
    bed.advance(now).iter().for_each(|output| count[usize::from(output.bytes[2])] += 1);
    count
}

#[test]
fn depth_is_what_waits_at_any_time() {
    let mut bed = Testbed::of_queues(&[LINK]);
    for (step, sent) in [3usize, 0, 5, 1, 0, 0].into_iter().enumerate() {
        send(&mut bed, step as u64 * 2 * MS, 4, sent);
        let waiting = bed.switch.stats().ports[1].outbound.queues[4].counters.packets;
        assert_eq!(depth(&bed, 4), u128::from(waiting));
    }
    bed.advance(SECOND);
    assert_eq!((depth(&bed, 4), depth(&bed, 3)), (0, 0));
}

#[test]
fn egress_sees_the_depth_without_itself() {
    let mut bed = Testbed::of_queues(&[LINK]);
    send(&mut bed, 0, 4, 3);
    bed.advance(1000 * 1000 + 1);
    let forwarding = bed.switch.forwarding().unwrap();
    let seen = forwarding.pipeline.program().register("QueueEgress.seen").unwrap().id;
    let seen = |index| forwarding.pipeline.register_read(seen, index).unwrap();
    assert_eq!((seen(0), seen(1), seen(2)), (1, 1, NONE));
}

#[test]
fn a_rate_that_the_program_writes_takes_effect_on_the_head() {
    let mut bed = Testbed::of_queues(&[]);
    rate(&mut bed, 0, 4, 10);
    send(&mut bed, 0, 4, 4);
    assert_eq!(times(&mut bed, 50 * MS), [0]);
    rate(&mut bed, 50 * MS, 4, 100);
    // Half the credit was there; the other half takes 5 ms instead of 50.
    assert_eq!(times(&mut bed, 60 * MS), [55 * MS]);
    rate(&mut bed, 60 * MS, 4, 0);
    assert_eq!(times(&mut bed, 10 * SECOND), [0u64; 0], "0 pauses");
    rate(&mut bed, 10 * SECOND, 4, 100);
    assert_eq!(times(&mut bed, 11 * SECOND), [10 * SECOND + 5 * MS, 10 * SECOND + 15 * MS]);
}

#[test]
fn a_rate_is_inactive_until_it_is_written_and_without_limit_at_the_largest_number() {
    let mut bed = Testbed::of_queues(&[]);
    send(&mut bed, 0, 4, 3);
    assert_eq!(times(&mut bed, 0), [0, 0, 0], "the register is 0, but nobody wrote it");
    rate(&mut bed, 1, 4, 1);
    send(&mut bed, 1, 4, 3);
    assert_eq!(times(&mut bed, 2), [1]);
    bed.inject(3, 1, &set_rate(2, 4, u32::MAX));
    assert_eq!(times(&mut bed, 4), [3, 3]);
}

#[test]
fn the_programs_rate_goes_before_the_one_that_is_set() {
    let mut bed = Testbed::of_queues(&[]);
    bed.switch.change_queue(Port(2), 4, &"rate=1pps".parse().unwrap()).unwrap();
    rate(&mut bed, 0, 4, 1000);
    send(&mut bed, 0, 4, 3);
    assert_eq!(times(&mut bed, 10 * MS), [0, MS, 2 * MS]);
    bed.switch.change_queue(Port(2), 4, &"pause".parse().unwrap()).unwrap();
    send(&mut bed, 20 * MS, 4, 1);
    assert_eq!(times(&mut bed, 30 * MS), [0u64; 0], "a pause holds both");
}

#[test]
fn shares_are_those_of_eq_13() {
    let mut bed = Testbed::of_queues(&[LINK]);
    keep(&mut bed, &[1, 2]);
    assert_eq!((share(&bed, 1), share(&bed, 2)), (NONE, NONE));
    rate(&mut bed, 0, 1, 900);
    assert_eq!((share(&bed, 1), share(&bed, 2)), (1000 * 64, NONE), "alone: L = B");
    rate(&mut bed, 0, 2, 300);
    assert_eq!((share(&bed, 1), share(&bed, 2)), (750 * 64, 250 * 64));
    rate(&mut bed, 0, 1, 0);
    rate(&mut bed, 0, 2, 0);
    assert_eq!((share(&bed, 1), share(&bed, 2)), (1000 * 64, 1000 * 64), "sum 0: L = B");
    rate(&mut bed, 0, 2, 5);
    assert_eq!((share(&bed, 1), share(&bed, 2)), (0, 1000 * 64));
    bed.switch.set_nominal_packet(Port(2), 757).unwrap();
    assert_eq!(share(&bed, 2), 2000 * 64);
    bed.switch.change_link(Port(2), &"rate=6.056mbit,dir=out".parse().unwrap()).unwrap();
    assert_eq!(share(&bed, 2), 1000 * 64);
    bed.switch.change_link(Port(2), &"rate=unlimited,dir=out".parse().unwrap()).unwrap();
    assert_eq!(share(&bed, 2), NONE, "no bit rate");
}

#[test]
fn eq_13_sums_over_the_flows_that_are_there() {
    let mut bed = Testbed::of_queues(&[LINK]);
    same_level(&mut bed, &[1, 2]);
    let both = |bed: &Testbed| (share(bed, 1), share(bed, 2));
    keep(&mut bed, &[1]);
    rate(&mut bed, 0, 1, 900);
    rate(&mut bed, 0, 2, 300);
    assert_eq!(both(&bed), (1000 * 64, 250 * 64), "2 has no packet yet, and is told what it would get");
    send(&mut bed, MS, 2, 1);
    assert_eq!(both(&bed), (750 * 64, 250 * 64), "from its first packet on it counts");
    assert_eq!(count(&mut bed, 10 * MS)[2], 1);
    rate(&mut bed, 10 * MS, 2, 300);
    assert_eq!(both(&bed), (750 * 64, 250 * 64), "a period without a packet is not yet the end");
    rate(&mut bed, 20 * MS, 2, 300);
    assert_eq!(both(&bed), (1000 * 64, 250 * 64), "two are");
    send(&mut bed, 30 * MS, 2, 1);
    assert_eq!(both(&bed), (750 * 64, 250 * 64));
}

#[test]
fn overload_is_shared_in_proportion_to_the_rates() {
    let mut bed = Testbed::of_queues(&[LINK]);
    same_level(&mut bed, &[1, 2]);
    rate(&mut bed, 0, 1, 1000);
    rate(&mut bed, 0, 2, 500);
    send(&mut bed, 0, 1, 1000);
    send(&mut bed, 0, 2, 1000);
    let left = count(&mut bed, 900 * MS);
    assert_eq!(left[1] + left[2], 900, "the port is busy all the time");
    assert!((599..=601).contains(&left[1]), "{left:?}");
    assert_eq!(share(&bed, 1), 666 * 64 + 42);
}

#[test]
fn who_has_nothing_to_send_leaves_its_part_to_others_up_to_their_rates() {
    let mut bed = Testbed::of_queues(&[LINK]);
    same_level(&mut bed, &[1, 2]);
    rate(&mut bed, 0, 1, 800);
    rate(&mut bed, 0, 2, 800);
    send(&mut bed, 0, 1, 2000);
    assert_eq!(count(&mut bed, SECOND)[1], 800, "its own rate, not its share of 500");
    send(&mut bed, SECOND, 2, 1000);
    let left = count(&mut bed, 2 * SECOND);
    assert!(
        left[1].abs_diff(500) <= 1 && left[2].abs_diff(500) <= 1,
        "back at once and not starved: {left:?}"
    );
}

#[test]
fn rates_below_the_port_are_met_in_spite_of_each_other() {
    let mut bed = Testbed::of_queues(&[LINK]);
    same_level(&mut bed, &[1, 2, 3]);
    for (queue, packets) in [(1, 500), (2, 313), (3, 170)] {
        rate(&mut bed, 0, queue, packets);
        send(&mut bed, 0, queue, 20_000);
    }
    let left = count(&mut bed, 10 * SECOND);
    // A delay by a packet of another queue is made up for; one packet may be on the wire at the end.
    for (queue, expected) in [(1, 5000usize), (2, 3130), (3, 1700)] {
        assert!(left[queue].abs_diff(expected) <= 1, "{left:?}");
    }
}

#[test]
fn the_controller_reads_depths_and_shares_and_may_write_rates() {
    let mut bed = Testbed::of_queues(&[LINK]);
    let id = bed.register("QueueIngress.rate");
    let value = |bytes: &[u8]| Some(P4Data { data: Some(Data::Bitstring(bytes.to_vec())) });
    let index = Some(Index { index: 17 });
    let entry = RegisterEntry { register_id: id, index, data: value(&[0xfa, 0x00]) };
    bed.apply(Type::Modify, entry).unwrap();
    assert_eq!(share(&bed, 1), 1000 * 64);
    send(&mut bed, 0, 1, 5);
    let id = bed.register("QueueEgress.depth");
    let found = bed.read(RegisterEntry { register_id: id, index, data: None }).unwrap();
    let expected = RegisterEntry { register_id: id, index, data: value(&[4]) };
    assert_eq!(found, [Kinds::from(expected)]);
    assert_eq!(bed.switch.stats().ports[1].outbound.queues[1].demand, Some(PacketRate::from_units(64_000)));
}

#[test]
fn a_new_program_starts_without_rates() {
    let mut bed = Testbed::of_queues(&[LINK]);
    rate(&mut bed, 0, 1, 1);
    send(&mut bed, 0, 1, 3);
    bed.runtime.install(&mut bed.switch, common::queues_config());
    assert_eq!((depth(&bed, 1), share(&bed, 1)), (0, NONE));
    send(&mut bed, SECOND, 1, 3);
    assert_eq!(times(&mut bed, 2 * SECOND).len(), 1 + 3, "one was on the wire");
}

#[test]
fn a_rate_that_is_written_to_a_saved_configuration_holds_from_the_commit_on() {
    for (units, left_within_a_second) in [(&[0][..], 0), (&[64 * 2], 3), (&[0xff; 4], 10)] {
        let mut bed = Testbed::of_queues(&[]);
        let saved = PipelineConfig::from_files(common::QUEUES_JSON, common::QUEUES_P4INFO).unwrap();
        bed.runtime.set_config(&mut bed.switch, Action::VerifyAndSave, Some(saved)).unwrap();
        let data = Some(P4Data { data: Some(Data::Bitstring(units.to_vec())) });
        let register_id = bed.register("QueueIngress.rate");
        let entry = RegisterEntry { register_id, index: Some(Index { index: 2 * 8 + 4 }), data };
        bed.apply(Type::Modify, entry).unwrap();
        send(&mut bed, 0, 4, 10);
        assert_eq!(times(&mut bed, 0).len(), 10, "the configuration in effect has no rates");
        bed.runtime.set_config(&mut bed.switch, Action::Commit, None).unwrap();
        send(&mut bed, SECOND, 4, 10);
        assert_eq!(times(&mut bed, 2 * SECOND).len(), left_within_a_second, "{units:?}");
    }
}

#[test]
fn cells_of_other_ports_and_queues_are_nobodys() {
    let mut bed = Testbed::of_queues(&[]);
    for port in [0, 7, 100] {
        bed.inject(0, 1, &set_rate(port, 3, 64));
    }
    bed.inject(0, 1, &request(510, 3, 0, 60));
    bed.inject(0, 1, &request(4, 7, 0, 60));
    assert_eq!(times(&mut bed, 1), [0]);
}

#[test]
fn wrong_annotations_are_refused_with_the_registers_name() {
    let text = std::str::from_utf8(common::QUEUES_P4INFO).unwrap();
    let refused = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(text, changed);
        let error = PipelineConfig::from_files(common::QUEUES_JSON, changed.as_bytes()).unwrap_err();
        assert_eq!(error.field(), "p4info");
        error.to_string().replace("P4Info does not match the program: ", "")
    };
    let range = "is not a number of queues a port, between 1 and 64";
    let cases = [
        ("rate(8)", "rate(0)", format!("register QueueIngress.rate: @groupflow_queue_rate: \"0\" {range}")),
        ("rate(8)", "rate", format!("register QueueIngress.rate: @groupflow_queue_rate: \"\" {range}")),
        ("depth(8)", "depth(8", format!("register QueueEgress.depth: @groupflow_queue_depth: \"8\" {range}")),
        (
            "depth(8)",
            "depth(x)",
            format!("register QueueEgress.depth: @groupflow_queue_depth: \"x\" {range}"),
        ),
        (
            "share(8)",
            "share(7)",
            "register QueueEgress.share: @groupflow_queue_share: its 64 cells are no multiple of 7".into(),
        ),
        (
            "queue_share(8)",
            "queue_part(8)",
            "register QueueEgress.share: @groupflow_queue_part is not one of @groupflow_queue_depth, \
             @groupflow_queue_rate, @groupflow_queue_share"
                .into(),
        ),
        (
            "queue_share(8)",
            "queue_depth(8)",
            "register QueueEgress.share: @groupflow_queue_depth: another register has it already".into(),
        ),
    ];
    for (from, to, message) in cases {
        assert_eq!(refused(from, to), message);
    }
    let seen = "name: \"QueueEgress.seen\"";
    let both = format!("{seen}\n annotations: \"@groupflow_queue_depth(4)\"");
    let without = text.replace("annotations: \"@groupflow_queue_depth(8)\"", "").replace(seen, &both);
    assert!(PipelineConfig::from_files(common::QUEUES_JSON, without.as_bytes()).is_ok(), "4 cells of 4");
    let testbed = std::str::from_utf8(common::P4INFO).unwrap();
    let signed = "name: \"TestIngress.signed_cells\"";
    let signed = testbed.replace(signed, &format!("{signed}\n annotations: \"@groupflow_queue_depth(4)\""));
    let error = PipelineConfig::from_files(common::JSON, signed.as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with("its cells are int<12>, and must be bit<32>"), "{error}");
}

proptest! {
    /// In overload, over any time in which all wait, each gets its part within two packets.
    #[test]
    fn service_is_in_proportion(
        rates in proptest::collection::vec(200u32..5000, 2..6), length in 50u64..400) {
        let sum: u32 = rates.iter().sum();
        prop_assume!(sum > 1100);
        let mut bed = Testbed::of_queues(&[LINK]);
        for (queue, packets) in (1u8..).zip(&rates) {
            same_level(&mut bed, &[queue]);
            rate(&mut bed, 0, queue, *packets);
            send(&mut bed, 0, queue, 500);
        }
        let left = count(&mut bed, length * MS);
        prop_assert_eq!(left.iter().sum::<usize>() as u64, length);
        for (queue, packets) in (1usize..).zip(&rates) {
            let expected = length * u64::from(*packets) / u64::from(sum);
            let got = left[queue] as u64;
            let apart = got.abs_diff(expected);
            prop_assert!(apart <= 2, "queue {} of {:?}: {} for {}", queue, rates, got, expected);
        }
    }

    /// Shares add up to the port, to a unit a queue, and are the quotient of eq. 13 rounded down.
    #[test]
    fn shares_are_the_rounded_quotient(rates in proptest::collection::vec(0u32..u32::MAX, 1..8)) {
        let mut bed = Testbed::of_queues(&[LINK]);
        keep(&mut bed, &[0, 1, 2, 3, 4, 5, 6]);
        for (queue, units) in (0u8..).zip(&rates) {
            bed.inject(0, 1, &set_rate(2, queue, *units));
        }
        let sum: u128 = rates.iter().map(|units| u128::from(*units)).sum();
        let port = u128::from(PacketRate::from_units(64_000).units());
        for (queue, units) in rates.iter().enumerate() {
            let expected = (port * u128::from(*units)).checked_div(sum).unwrap_or(port);
            prop_assert_eq!(share(&bed, queue), expected);
        }
    }
}

#[test]
fn a_share_may_bound_the_rate_that_the_program_asks_for() {
    for (bound, sent) in [(false, 600), (true, 300)] {
        let mut bed = Testbed::of_shared_queues(&[LINK], FlowControl { bound, ..FlowControl::default() });
        same_level(&mut bed, &[1, 2]);
        keep(&mut bed, &[2]);
        rate(&mut bed, 0, 1, 600);
        rate(&mut bed, 0, 2, 1400);
        send(&mut bed, 0, 1, 1000);
        let count = count(&mut bed, SECOND)[1];
        assert!(count.abs_diff(sent) <= 2, "J = min(L, J~) only if L bounds: {count} of {sent}");
    }
}

#[test]
fn queues_may_share_a_buffer() {
    for (pool, stored) in [(None, [5, 5]), (Some(7), [5, 2])] {
        let mut bed = Testbed::of_shared_queues(&[], FlowControl { pool, ..FlowControl::default() });
        for queue in [1, 2] {
            bed.switch.change_queue(Port(2), queue, &"pause,packets=5".parse().unwrap()).unwrap();
            send(&mut bed, 0, queue, 6);
        }
        assert_eq!([depth(&bed, 1), depth(&bed, 2)], stored);
    }
}
