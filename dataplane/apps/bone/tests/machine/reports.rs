//! The reports of rims: their contents, times and number.

use std::net::SocketAddrV4;

use groupflow_base::{Datagram, Machine, Nanos};
use groupflow_bone::machine::message::{Body, DataPacket, Message, Parameters, Reception, Round};
use groupflow_bone::machine::{FileName, HubConfig, Method, Repair, Rim, RimConfig, RimId, TransferId};

use crate::world::{config, file, Medium, World, HUB};
use crate::{CLEAN, DAY};

/// The number of that message.
const RESULT: u8 = 6;

pub fn rim() -> Rim {
    Rim::new(RimConfig { id: RimId(1), max_size: 1 << 20, seed: 1, forgets: false })
}

fn hear(rim: &mut Rim, now: Nanos, body: Body) {
    hear_from(rim, now, HUB, 1, body);
}

pub fn hear_from(rim: &mut Rim, now: Nanos, from: SocketAddrV4, transfer: u32, body: Body) {
    let bytes = Message { transfer: TransferId(transfer), body }.encode();
    rim.handle(now, Datagram { from, bytes: &bytes }).expect("it makes sense");
    while rim.next_write().is_some() {}
}

fn results(rim: &mut Rim, now: Nanos) -> Vec<Reception> {
    let said = std::iter::from_fn(|| rim.poll_transmit(now));
    let messages = said.map(|transmit| Message::parse(&transmit.bytes).expect("own messages parse").body);
    let results = messages.filter_map(|body| match body {
        Body::Result(result) => Some(result),
        _ => None,
    });
    results.collect()
}

pub fn control(repair: Repair, size: u64) -> Parameters {
    Parameters {
        method: Method::Scheduled,
        repair,
        size,
        mode: 0o644,
        packet: 640,
        per_round: 16,
        interval_us: 10_000,
        grace_ms: 200,
        window_ms: 0,
        join_ms: 1000,
        result_ms: 1000,
        silence_s: 60,
        digest: [0; 32],
        name: FileName::parse("a").expect("a name"),
    }
}

/// A hub on a busy machine sends later than it said.
#[test]
fn a_rim_that_reported_too_early_reports_again_when_more_comes() {
    let (mut rim, mut now) = (rim(), Nanos::from_secs(1));
    let told = |rim: &mut Rim, now: Nanos| -> Vec<bool> {
        results(rim, now).into_iter().map(|result| result.complete).collect()
    };
    const NONE: [bool; 0] = [];
    hear(&mut rim, now, Body::Control(control(Repair::Selective, 3 * 640)));
    hear(&mut rim, now, Body::Round(Round { round: 1, packet: 640, count: 3, first: 0 }));
    let data = |number: u16, offset| DataPacket { round: 1, number, offset, bytes: vec![7; 640] };
    hear(&mut rim, now, Body::Data(data(1, 0)));
    now += Nanos::from_secs(2);
    assert_eq!(told(&mut rim, now), [false], "two packets are overdue");
    now += Nanos::from_secs(2);
    assert_eq!(told(&mut rim, now), NONE, "once");
    hear(&mut rim, now, Body::Data(data(2, 640)));
    assert_eq!(told(&mut rim, now), NONE, "another is to come");
    hear(&mut rim, now, Body::Data(data(2, 640)));
    hear(&mut rim, now, Body::Data(data(0, 1280)));
    assert_eq!(told(&mut rim, now), [true]);
    hear(&mut rim, now, Body::Data(data(0, 1280)));
    assert_eq!(told(&mut rim, now), NONE, "nothing new");
}

/// The medium's delays let the control parameters come after the only round: the rim knows of it by being
/// asked, since a crowd's silence is not taken for a loss.
#[test]
fn a_rim_that_heard_nothing_of_a_round_can_say_what_it_lacks() {
    let medium = Medium { jitter_ms: 17, ..CLEAN };
    for seed in 0..40 {
        let hub = HubConfig { crowd: 0, ..config(Method::Scheduled, Repair::Selective, 3) };
        let mut world = World::new(hub, 3, medium, seed);
        world.offer("a", file(1));
        world.run(1, DAY);
        assert_eq!((world.reports[0].complete, world.reports[0].lost), (3, 0), "{seed}");
    }
}

#[test]
fn a_rim_that_has_all_reports_it_but_for_the_unscheduled_method() {
    for (method, told) in [(Method::Scheduled, Some(&3)), (Method::Unscheduled, None)] {
        let mut world = World::new(config(method, Repair::GoBackN, 3), 3, CLEAN, 1);
        world.offer("a", file(1));
        world.run(1, DAY);
        assert_eq!(world.kinds.get(&RESULT), told, "{method:?}");
        assert!(world.rims.iter().all(|host| host.stored == file(1)));
    }
}

#[test]
fn hundreds_of_rims_answer_with_few_results() {
    let rims = 200;
    let medium = Medium { lost_down: 20, ..CLEAN };
    let mut results = Vec::new();
    for crowd in [16, 1000] {
        let mut hub = config(Method::Scheduled, Repair::Selective, rims);
        hub.crowd = crowd;
        let mut world = World::new(hub, rims, medium, 3);
        world.offer("a", file(30_000));
        world.run(1, DAY);
        let report = &world.reports[0];
        assert_eq!((report.complete, report.lost), (rims, 0));
        assert!(world.rims.iter().all(|host| host.stored == file(30_000)));
        results.push(world.kinds[&RESULT] as f64 / f64::from(report.rounds));
    }
    assert!(results[0] < results[1] / 2.0, "results a round, with and without suppression: {results:?}");
}
