//! Registers, counters, meters, hashes, random numbers, assertions, jumps.

use crate::common::*;
use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{Arrival, CounterValue, DropReason, Engine, MeterConfig, Stats, Verdict};
use serde_json::json;

const FRAME: [u8; 8] = [3, 0, 9, 0, 0, 0, 0, 0];

#[test]
fn registers_hold_values_between_packets() {
    let mut p4 = P4::new();
    p4.add("register_arrays", json!({"name": "r", "id": 0, "size": 4, "bitwidth": 8}));
    let r = || named("register_array", "r");
    p4.run(
        INGRESS,
        vec![
            forward(2),
            primitive("register_read", json!([field("h", "c"), r(), field("h", "a")])),
            primitive(
                "register_write",
                json!([r(), field("h", "a"), op("+", field("h", "c"), field("h", "b"))]),
            ),
        ],
    );
    let mut pipeline = p4.load();
    let id = pipeline.program().register("r").unwrap().id;
    assert_eq!(through(&mut pipeline, &FRAME)[6], 0);
    assert_eq!(through(&mut pipeline, &FRAME)[6], 9);
    assert_eq!([0, 1, 2, 3].map(|i| pipeline.register_read(id, i).unwrap()), [0, 0, 0, 18]);
    pipeline.register_write(id, 3, &[250]).unwrap();
    assert_eq!(through(&mut pipeline, &FRAME)[6], 250);
    assert_eq!(pipeline.register_read(id, 3), Ok((250 + 9) & 0xff), "cut to the cell's width");

    let out_of_range = [4, 0, 9, 1, 2, 3, 4, 0];
    assert_eq!(through(&mut pipeline, &out_of_range)[3..7], [1, 2, 3, 4], "as it was");
    assert_eq!(pipeline.stats().register_out_of_range, 2);
    let wrong = [
        (pipeline.register_write(id, 4, &[0]), "register r: index 4 is out of range, size 4"),
        (pipeline.register_write(id, 0, &[256]), "register r: the value does not fit 8 bits"),
    ];
    for (result, text) in wrong {
        assert_eq!(result.unwrap_err().to_string(), text);
    }
    assert!(pipeline.register_set(id, 1, 0x1_07), "cut to the cell's width");
    assert_eq!((pipeline.register_read(id, 1).ok(), pipeline.register_read(id, 4).ok()), (Some(7), None));
    assert!(!pipeline.register_set(id, 4, 1));
}

#[test]
fn written_cells_of_watched_registers_come_once_and_in_order() {
    let mut p4 = P4::new();
    for (id, name) in ["r", "q"].into_iter().enumerate() {
        p4.add("register_arrays", json!({"name": name, "id": id, "size": 4, "bitwidth": 8}));
    }
    let write =
        |name, index| primitive("register_write", json!([named("register_array", name), index, hex(5)]));
    let a = || field("h", "a");
    p4.run(INGRESS, vec![forward(2), write("r", a()), write("q", a()), write("r", hex(0)), write("r", a())]);
    let mut pipeline = p4.load();
    let id = pipeline.program().register("r").unwrap().id;
    through(&mut pipeline, &FRAME);
    assert_eq!(pipeline.pop_written(), None, "not watched");
    pipeline.watch(id);
    through(&mut pipeline, &[2, 0, 0, 0, 0, 0, 0, 0]);
    through(&mut pipeline, &FRAME);
    through(&mut pipeline, &[4, 0, 0, 0, 0, 0, 0, 0]);
    pipeline.register_set(id, 3, 1);
    assert_eq!(pipeline.pop_written(), Some((id, 2)));
    through(&mut pipeline, &[2, 0, 0, 0, 0, 0, 0, 0]);
    let rest: Vec<_> = std::iter::from_fn(|| pipeline.pop_written()).collect();
    assert_eq!(rest, [(id, 0), (id, 3), (id, 2)]);
    assert_eq!(pipeline.pop_written(), None);
}

#[test]
fn counters_count_packets_and_bytes_as_they_arrived() {
    let mut p4 = P4::new();
    p4.add("counter_arrays", json!({"name": "n", "id": 0, "size": 4, "is_direct": false}));
    let count = |index| primitive("count", json!([named("counter_array", "n"), index]));
    p4.run(INGRESS, vec![count(field("h", "a")), count(hex(1 << 100))]);
    let mut pipeline = p4.load();
    let id = pipeline.program().counter("n").unwrap().id;
    ingress(&mut pipeline, &FRAME);
    ingress(&mut pipeline, &[&FRAME[..], &[0; 10]].concat());
    assert_eq!(pipeline.counter_read(id, 3), Ok(CounterValue { packets: 2, bytes: 26 }));
    assert_eq!(pipeline.stats().counter_out_of_range, 2);
    pipeline.counter_write(id, 3, CounterValue::default()).unwrap();
    assert_eq!(pipeline.counter_read(id, 3), Ok(CounterValue::default()));
    assert!(pipeline.counter_read(id, 4).is_err());
}

#[test]
fn meters_colour_by_rate() {
    let mut p4 = P4::new();
    p4.add(
        "meter_arrays",
        json!({"name": "m", "id": 0, "size": 4, "type": "bytes", "rate_count": 2, "is_direct": false}),
    );
    let execute =
        |index| primitive("execute_meter", json!([named("meter_array", "m"), index, field("h", "d")]));
    p4.run(INGRESS, vec![forward(2), execute(field("h", "a")), execute(hex(99))]);
    let mut pipeline = p4.load();
    let id = pipeline.program().meter("m").unwrap().id;
    let config = MeterConfig { cir: 8, cburst: 8, pir: 8, pburst: 16, ..MeterConfig::default() };
    pipeline.meter_write(id, 3, Some(config)).unwrap();
    let colours: Vec<u8> = (0..3).map(|_| through(&mut pipeline, &FRAME)[7]).collect();
    assert_eq!(colours, [0, 1, 2]);
    let done = pipeline.ingress(Nanos::from_secs(10), Arrival::on(Port(1)), &FRAME);
    assert_eq!(leave(&mut pipeline, done.packet.unwrap(), Port(2))[7], 0, "the bucket is full again");
    assert_eq!(pipeline.meter_read(id, 3), Ok(Some(config)));
    assert_eq!(pipeline.stats().meter_out_of_range, 4);
    pipeline.meter_write(id, 3, None).unwrap();
    assert_eq!(through(&mut pipeline, &FRAME)[7], 0);
    let wrong = pipeline.meter_write(id, 3, Some(MeterConfig { pir: 1, ..config }));
    assert_eq!(wrong.unwrap_err().to_string(), "meter m: the peak rate is below the committed rate");
}

#[test]
fn hashes_stay_within_their_range() {
    let mut p4 = P4::new();
    let input = json!([field("h", "a"), field("h", "b"), {"type": "hexstr", "value": "0x1", "bitwidth": 8}]);
    p4.add("calculations", json!({"name": "calc", "id": 0, "algo": "identity", "input": input}));
    let hash = |base, max| {
        primitive(
            "modify_field_with_hash_based_offset",
            json!([field("h", "c"), hex(base), named("calculation", "calc"), hex(max)]),
        )
    };
    for (base, max, expected) in [(0, 1 << 32, 0x0300_0901), (100, 10, 100 + 0x0300_0901 % 10), (5, 0, 5)] {
        let mut p4_with_hash = P4::new();
        p4_with_hash.json = p4.json.clone();
        p4_with_hash.run(INGRESS, vec![forward(2), hash(base, max)]);
        let frame = through(&mut p4_with_hash.load(), &FRAME);
        assert_eq!(u32::from_be_bytes(frame[3..7].try_into().unwrap()), expected, "{base} {max}");
    }
}

#[test]
fn random_numbers_are_within_bounds_and_repeat() {
    let mut p4 = P4::new();
    let random =
        |low, high| primitive("modify_field_rng_uniform", json!([field("h", "c"), hex(low), hex(high)]));
    p4.run(INGRESS, vec![forward(2), random(10, 13), random(9, 3)]);
    let draw = || {
        let mut pipeline = p4.load();
        (0..50).map(|_| through(&mut pipeline, &FRAME)[6]).collect::<Vec<_>>()
    };
    let values = draw();
    assert!((10..=13).all(|v| values.contains(&v)), "{values:?}");
    assert!(values.iter().all(|v| (10..=13).contains(v)), "low > high writes nothing: {values:?}");
    assert_eq!(values, draw());
}

#[test]
fn what_a_program_logs_changes_nothing() {
    let mut p4 = P4::new();
    let values = json!({"type": "parameters_vector", "value": [field("h", "a"), field("h", "b")]});
    p4.run(INGRESS, vec![forward(2), primitive("log_msg", json!([named("string", "a={} b={}."), values]))]);
    let mut pipeline = p4.load();
    assert_eq!(ingress(&mut pipeline, &FRAME).0, Verdict::Unicast(Port(2)));
    assert_eq!(pipeline.stats(), Stats::default());
}

#[test]
fn a_false_assertion_drops_the_packet() {
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![forward(2), primitive("assert", json!([op("!=", field("h", "a"), hex(3))]))]);
    let mut pipeline = p4.load();
    assert_eq!(ingress(&mut pipeline, &FRAME).0, Verdict::Drop(DropReason::Assertion));
    assert_eq!(pipeline.stats().assertions_failed, 1);
    assert_eq!(ingress(&mut pipeline, &[0; 8]).0, Verdict::Unicast(Port(2)));
}

#[test]
fn a_false_assertion_has_its_place() {
    let mut assertion = primitive("assert", json!([op("!=", field("h", "a"), hex(3))]));
    assertion["source_info"] = json!({"filename": "a.p4", "line": 7});
    let mut mark = primitive("mark_to_drop", json!([header("standard_metadata")]));
    mark["source_info"] = json!({"filename": "a.p4", "line": 3});
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![mark, assertion]);
    for engine in [Engine::Interpreter, Engine::Native] {
        let mut pipeline = p4.load_on(engine);
        let mut told = |frame: &[u8]| match ingress(&mut pipeline, frame).0 {
            Verdict::Drop(reason) => pipeline.drop_text(reason),
            other => format!("{other:?}"),
        };
        assert_eq!(told(&FRAME), "an assertion of the program is false (a.p4:7)", "{engine:?}");
        assert_eq!(told(&[0; 8]), "the program marked the packet to drop (a.p4:3)", "{engine:?}");
    }
}

#[test]
fn jumps_within_actions() {
    let mut p4 = P4::new();
    let is_three = unary("b2d", op("==", field("h", "a"), hex(3)));
    p4.run(
        INGRESS,
        vec![
            forward(2),
            primitive("_jump_if_zero", json!([is_three, hex(4)])),
            assign("h", "b", hex(0x1111)),
            primitive("_jump", json!([hex(5)])),
            assign("h", "b", hex(0x2222)),
            primitive("exit", json!([])),
        ],
    );
    p4.run(INGRESS, vec![forward(3)]);
    let mut pipeline = p4.load();
    assert_eq!(through(&mut pipeline, &FRAME)[1..3], [0x11, 0x11]);
    assert_eq!(through(&mut pipeline, &[0; 8])[1..3], [0x22, 0x22]);
    assert_eq!(ingress(&mut pipeline, &FRAME).0, Verdict::Unicast(Port(2)), "exit ends the control");
}

#[test]
fn endless_loops_are_stopped() {
    let mut p4 = P4::new();
    p4.run(INGRESS, vec![forward(2), primitive("_jump", json!([hex(1)]))]);
    let mut pipeline = p4.load();
    assert_eq!(ingress(&mut pipeline, &FRAME).0, Verdict::Drop(DropReason::StepLimit));
    assert_eq!(pipeline.stats().step_limit, 1);
}
