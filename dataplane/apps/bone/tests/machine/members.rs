//! Members: rims that come late, leave, are not heard, come again, or send messages that make no sense.

use groupflow_base::{Datagram, Machine, Nanos};
use groupflow_bone::machine::message::{Body, Message, Reception};
use groupflow_bone::machine::{
    HubConfig, Method, Repair, Rim, RimConfig, RimId, TransferId, TransferOutcome,
};

use crate::world::{config, file, rim_address, Medium, World};
use crate::{CLEAN, DAY, REPAIRS};

/// The numbers of those messages.
pub const JOIN: u8 = 2;
pub const CONTROL: u8 = 3;
const LEAVE: u8 = 9;

/// A rim of the test's own says something of the first transfer.
fn say(world: &mut World, body: Body) {
    let bytes = Message { transfer: TransferId(7), body }.encode();
    let datagram = Datagram { from: rim_address(7), bytes: &bytes };
    world.hub.handle(world.now, datagram).expect("it is a message");
}

/// It has heard what the others have: only its JOIN was longer on its way than the hub waited.
#[test]
fn a_rim_whose_join_comes_in_the_first_round_is_one_of_the_others() {
    let medium = Medium { lost_down: 20, ..CLEAN };
    for seed in 0..20 {
        let hub = config(Method::Scheduled, Repair::Selective, 3);
        let delay = Nanos(hub.join_wait.0 / 8 * 3);
        let mut world = World::new(hub, 3, medium, seed);
        world.delay = delay;
        world.offer("a", file(100_000));
        world.run(1, DAY);
        let sent = world.reports[0].sent;
        assert!(sent < 130_000, "{seed}: {sent}");
        assert!(world.rims.iter().all(|host| host.stored == file(100_000)));
    }
}

/// Bytes that a rim lacked once and has got since, with the others, are not sent again.
#[test]
fn a_rim_that_comes_later_is_sent_what_it_lacks_in_the_end() {
    for seed in 0..10 {
        let medium = Medium { lost_down: 20, ..CLEAN };
        let mut world = World::new(config(Method::Scheduled, Repair::Selective, 2), 2, medium, seed);
        world.deaf[1] = true;
        world.offer("a", file(100_000));
        while world.hub.sent() < 30_000 {
            world.run(1, world.now + Nanos::from_millis(100));
        }
        let missed = world.hub.sent();
        world.deaf[1] = false;
        world.run(1, DAY);
        let sent = world.reports[0].sent;
        assert!(sent > 100_000 + missed * 9 / 10 && sent < 130_000 + missed, "{seed}: {missed} {sent}");
        assert!(world.rims.iter().all(|host| host.stored == file(100_000)));
    }
}

/// The first message of that kind, from (true) or to the first rim.
pub fn first(up: bool, kind: u8) -> Box<dyn FnMut(bool, usize, u8) -> bool> {
    let mut lost = false;
    Box::new(move |goes_up, rim, of| {
        goes_up == up && rim == 0 && of == kind && !std::mem::replace(&mut lost, true)
    })
}

/// It hears rounds, and can answer nothing: it says so before the hub has lost its patience.
#[test]
fn a_rim_whose_control_parameters_are_lost_is_not_let_go() {
    for repair in REPAIRS {
        for result_ms in [400, 1500] {
            let result_wait = Nanos::from_millis(result_ms);
            let hub = HubConfig { patience: 20, result_wait, ..config(Method::Scheduled, repair, 3) };
            let mut world = World::new(hub, 3, CLEAN, 1);
            world.loses = first(false, CONTROL);
            world.offer("a", file(200_000));
            world.run(1, DAY);
            let report = &world.reports[0];
            assert_eq!((report.lost, report.complete), (0, 3), "{repair:?} {result_ms}");
            assert!(world.rims.iter().all(|host| host.stored == file(200_000)));
        }
    }
}

/// It does not know that it is no member.
#[test]
fn a_rim_whose_join_is_lost_is_not_left_with_half_of_the_file() {
    for repair in REPAIRS {
        for seed in 0..100 {
            let medium = Medium { lost_down: 50, ..CLEAN };
            let mut world = World::new(config(Method::Scheduled, repair, 3), 3, medium, seed);
            world.loses = first(true, JOIN);
            world.offer("a", file(50_000));
            world.run(1, DAY);
            world.run(2, world.now + Nanos::from_secs(1));
            assert_eq!(world.rims[0].abandoned, 0, "{repair:?} {seed}");
        }
    }
}

#[test]
fn a_rim_of_unicast_that_begins_again_has_another_number_and_gets_the_file() {
    for repair in REPAIRS {
        let hub = HubConfig { patience: 20, ..config(Method::Unicast, repair, 1) };
        let mut world = World::new(hub, 1, CLEAN, 1);
        world.offer("a", file(60_000));
        while world.hub.sent() < 30_000 {
            world.run(1, world.now + Nanos::from_millis(100));
        }
        let anew = RimConfig { id: RimId(999), max_size: 1 << 20, seed: 9, forgets: false };
        world.rims[0].rim = Rim::new(anew);
        world.run(1, DAY);
        assert_eq!((world.reports[0].lost, world.rims[0].completed), (0, 1), "{repair:?}");
        assert_eq!(world.rims[0].stored, file(60_000));
    }
}

#[test]
fn a_rim_that_asks_for_what_the_file_does_not_have_harms_nobody() {
    for repair in REPAIRS {
        let mut world = World::new(config(Method::Scheduled, repair, 1), 1, CLEAN, 1);
        world.offer("a", file(30_000));
        while world.hub.sent() < 15_000 {
            world.run(1, world.now + Nanos::from_millis(50));
        }
        say(&mut world, Body::Join { rim: RimId(5) });
        for _ in 0..400 {
            world.run(1, world.now + Nanos::from_millis(5));
            let round = world.data.last().map_or(0, |data| data.round);
            let lacks = std::iter::once(3_100_000..3_100_010).collect();
            let asked = Reception { rim: RimId(5), round, complete: false, rate: 0, lacks };
            say(&mut world, Body::Result(asked));
        }
        world.run(1, DAY);
        assert_eq!(world.reports[0].outcome, TransferOutcome::Done, "{repair:?}");
        assert_eq!(world.rims[0].stored, file(30_000));
    }
}

#[test]
fn a_rim_that_comes_late_gets_everything_and_holds_nobody_up() {
    for repair in REPAIRS {
        let mut world = World::new(config(Method::Scheduled, repair, 2), 2, CLEAN, 1);
        world.deaf[1] = true;
        world.offer("a", file(60_000));
        while world.hub.sent() < 30_000 {
            world.run(1, world.now + Nanos::from_millis(100));
        }
        world.deaf[1] = false;
        world.run(1, DAY);
        assert_eq!((world.reports[0].complete, world.reports[0].lost), (2, 0), "{repair:?}");
        assert!(world.rims.iter().all(|host| host.stored == file(60_000)), "{repair:?}");
        // The first rim's bytes were sent once before the late rim's turn.
        let mut end = 0;
        for data in &world.data {
            if data.offset < end {
                break;
            }
            end = data.offset + data.bytes.len() as u64;
        }
        assert_eq!(end, 60_000, "{repair:?}");
    }
}

#[test]
fn a_rim_that_leaves_or_dies_does_not_keep_the_others() {
    let patient = config(Method::Scheduled, Repair::GoBackN, 3);
    let mut world = World::new(patient, 3, CLEAN, 1);
    world.offer("a", file(60_000));
    world.offer("b", file(10_000));
    while world.hub.sent() < 20_000 {
        world.run(1, world.now + Nanos::from_millis(100));
    }
    world.rims[0].rim.leave(false);
    world.deaf[1] = true;
    world.run(2, DAY);
    assert_eq!(world.lost, [RimId(101)]);
    let complete: Vec<usize> = world.reports.iter().map(|report| report.complete).collect();
    assert_eq!(complete, [1, 2], "it may take part in the next");
    let without: Vec<&[String]> = world.reports.iter().map(|report| &*report.without).collect();
    let gone = [RimId(100), RimId(101)].map(|rim| rim.to_string());
    assert_eq!(without, [&gone as &[String], &[]], "the end names both");
    assert_eq!(world.rims[2].completed, 2);
    assert_eq!(world.rims[0].abandoned, 0, "it left");
}

#[test]
fn a_rim_that_has_the_file_already_costs_no_more_than_a_round() {
    for method in [Method::Scheduled, Method::Unicast] {
        let mut world = World::new(config(method, Repair::Selective, 2), 2, CLEAN, 1);
        world.offer("a", file(60_000));
        while world.rims[0].rim.hub().is_none() || world.hub.sent() == 0 {
            world.run(1, world.now + Nanos::from_millis(10));
        }
        world.run(1, world.now + Nanos::from_millis(105));
        world.rims[0].rim.leave(true);
        world.run(1, DAY);
        assert_eq!((world.reports[0].complete, world.reports[0].lost), (1, 0), "{method:?}");
        assert!(world.reports[0].without.is_empty(), "{method:?}: it has the file");
        assert_eq!(world.rims[1].stored, file(60_000), "{method:?}");
        let round = 16 * 640;
        let more = world.reports[0].sent - 60_000;
        assert!(more <= if method == Method::Unicast { 2 * round } else { 0 }, "{method:?} {more}");
    }
}

/// It stops, has no room, or takes no file of that length.
#[test]
fn a_rim_that_leaves_without_the_file_is_named() {
    for method in [Method::Scheduled, Method::Unscheduled, Method::Unicast] {
        for repair in REPAIRS {
            let mut world = World::new(config(method, repair, 2), 2, CLEAN, 1);
            world.rims[0].rim.set_max_size(59_999);
            world.offer("a", file(60_000));
            world.run(1, DAY);
            let named = match method {
                Method::Unicast => rim_address(0).to_string(),
                _ => RimId(100).to_string(),
            };
            assert_eq!(world.reports[0].without, [named], "{method:?} {repair:?}");
            assert_eq!(world.rims[1].stored, file(60_000), "{method:?} {repair:?}");
        }
    }
}

/// The hub asks a rim whose LEAVE it has not heard.
#[test]
fn a_rim_that_has_the_file_says_so_again() {
    for complete in [false, true] {
        let mut world = World::new(config(Method::Scheduled, Repair::Selective, 2), 2, CLEAN, 1);
        world.loses = first(true, LEAVE);
        world.offer("a", file(60_000));
        while world.hub.sent() < 20_000 {
            world.run(1, world.now + Nanos::from_millis(100));
        }
        world.rims[0].rim.leave(complete);
        world.run(1, DAY);
        let report = &world.reports[0];
        assert_eq!((report.lost, report.without.is_empty()), (0, complete));
    }
}

#[test]
fn nobody_is_waited_for_forever() {
    for method in [Method::Scheduled, Method::Unicast] {
        let mut world = World::new(config(method, Repair::GoBackN, 2), 2, CLEAN, 1);
        world.deaf = vec![true; 2];
        world.offer("a", file(1000));
        world.run(1, DAY);
        assert_eq!(world.reports.len(), 1, "{method:?}");
        assert_eq!((world.hub.sending(), world.hub.next_deadline()), (None, None));
        assert_eq!(world.reports[0].complete, 0);
    }
}

/// It is asked `patience` times; when it has come again, once.
#[test]
fn a_rim_that_comes_again_and_again_and_never_answers_is_waited_for_once() {
    for repair in REPAIRS {
        let hub = config(Method::Scheduled, repair, 1);
        let patience = Nanos(hub.result_wait.0 * u64::from(hub.patience));
        let mut world = World::new(hub, 1, CLEAN, 1);
        world.offer("a", file(50_000));
        while world.reports.is_empty() && world.now < DAY {
            say(&mut world, Body::Join { rim: RimId(5) });
            world.run(1, world.now + Nanos::from_millis(50));
        }
        let report = &world.reports[0];
        assert_eq!((report.outcome.clone(), report.complete), (TransferOutcome::Done, 1), "{repair:?}");
        assert_eq!(world.rims[0].stored, file(50_000));
        assert!(report.ended < patience + Nanos::from_secs(10), "{repair:?} {report:?}");
    }
}
