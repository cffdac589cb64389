//! The control parameters: the timeouts that they carry, and the times at which they are sent.

use groupflow_base::{Machine, Nanos};
use groupflow_bone::machine::message::{Body, Message, Parameters, Round};
use groupflow_bone::machine::{FileName, Hub, HubConfig, Method, Offer, Repair, Rim, RimEvent};
use groupflow_transport::testing::MemoryFile;

use crate::members::{first, CONTROL, JOIN};
use crate::reports::{control, hear_from, rim};
use crate::world::{config, file, rim_address, World, HUB};
use crate::{CLEAN, DAY, REPAIRS};

const DATA: u8 = 5;
const SECOND: Nanos = Nanos::from_secs(1);

fn described(config: HubConfig) -> Parameters {
    let mut hub = Hub::new(config);
    let name = FileName::parse("a").expect("a name");
    let offer = Offer { name, mode: 0o644, digest: [7; 32], source: Box::new(MemoryFile(file(1))) };
    assert!(hub.push(offer).is_ok());
    let said = hub.poll_transmit(Nanos::ZERO).expect("the control parameters");
    match Message::parse(&said.bytes).expect("own messages parse").body {
        Body::Control(control) => control,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hub_tells_its_timeouts_within_the_bounds_of_the_message() {
    let hub = config(Method::Unscheduled, Repair::GoBackN, 1);
    let (short, long) = (Nanos(1), Nanos::from_secs(100_000));
    let set = |wait, patience| HubConfig { join_wait: wait, result_wait: wait, patience, ..hub.clone() };
    for (hub, told) in [
        // 31 times 1.5 s
        (hub.clone(), (1000, 1500, 46)),
        (HubConfig { interval: Nanos::from_secs(2), ..hub.clone() }, (1000, 1500, 62)),
        (set(short, 1), (10, 10, 5)),
        (set(long, 30), (60_000, 60_000, 600)),
    ] {
        let control = described(hub);
        assert_eq!((control.join_ms, control.result_ms, control.silence_s), told);
    }
}

#[test]
fn a_rim_reports_within_half_of_the_time_for_results_whatever_the_grace() {
    for (result_ms, after_ms) in [(60_000, 10 + 5000), (1000, 10 + 500), (10, 10 + 5)] {
        let mut rim = rim();
        let control = Parameters { grace_ms: 5000, result_ms, ..control(Repair::Selective, 640) };
        hear_from(&mut rim, SECOND, HUB, 1, Body::Control(control));
        rim.poll_transmit(SECOND); // it joins
        hear_from(&mut rim, SECOND, HUB, 1, Body::Round(Round { round: 1, packet: 640, count: 1, first: 0 }));
        assert_eq!(rim.next_deadline(), Some(SECOND + Nanos::from_millis(after_ms)), "{result_ms}");
    }
}

/// In a method that takes silence for success, a rim whose grace exceeds the hub's wait would get no repair.
#[test]
fn a_grace_longer_than_the_hub_waits_is_not_taken_for_success() {
    let hub = HubConfig { grace: Nanos::from_secs(5), ..config(Method::Unscheduled, Repair::GoBackN, 1) };
    let mut world = World::new(hub, 1, CLEAN, 1);
    let mut packets = 0;
    world.loses = Box::new(move |_, _, kind| {
        packets += u32::from(kind == DATA);
        kind == DATA && packets == 10
    });
    world.offer("a", file(6400));
    world.run(1, DAY);
    assert_eq!((world.rims[0].completed, world.reports[0].sent), (1, 6400 + 640));
}

/// The next time at which the rim acts, after it has said all that it has to say now.
fn next(rim: &mut Rim, now: Nanos) -> Option<Nanos> {
    while rim.poll_transmit(now).is_some() {}
    rim.next_deadline()
}

#[test]
fn a_rim_joins_again_after_the_time_that_its_hub_told_last() {
    let (mut rim, now) = (rim(), SECOND);
    let call = |rim: &mut Rim, from, transfer| {
        hear_from(rim, now, from, transfer, Body::IpmSend { spread_ms: 0 });
        next(rim, now)
    };
    assert_eq!(call(&mut rim, HUB, 1), Some(now + Nanos::from_secs(10)), "it has been told nothing");
    let told = Parameters { join_ms: 700, ..control(Repair::Selective, 640) };
    hear_from(&mut rim, now, HUB, 1, Body::Control(told));
    hear_from(&mut rim, now, HUB, 1, Body::End { complete: false });
    assert_eq!(call(&mut rim, HUB, 2), Some(now + Nanos::from_millis(1400)));
    hear_from(&mut rim, now, HUB, 2, Body::End { complete: false });
    assert_eq!(call(&mut rim, rim_address(7), 1), Some(now + Nanos::from_secs(10)), "another hub");
}

#[test]
fn a_rim_hears_another_hub_after_the_silence_that_its_hub_told() {
    for silence_s in [5, 600] {
        let mut rim = rim();
        let control = Parameters { silence_s, ..control(Repair::Selective, 640) };
        hear_from(&mut rim, SECOND, HUB, 1, Body::Control(control.clone()));
        let (over, other) = (SECOND + Nanos::from_secs(silence_s.into()), rim_address(7));
        hear_from(&mut rim, Nanos(over.0 - 1), other, 1, Body::Control(control.clone()));
        assert_eq!((rim.hub(), rim.events().count()), (Some(HUB), 1));
        hear_from(&mut rim, over, other, 1, Body::Control(control));
        assert_eq!((rim.hub(), rim.events().count()), (Some(other), 2), "given up, and begun");
    }
}

#[test]
fn a_rim_gives_up_the_file_of_a_hub_that_falls_silent_and_joins_when_it_is_heard_again() {
    let mut rim = rim();
    let control = Parameters { silence_s: 5, ..control(Repair::Selective, 1280) };
    hear_from(&mut rim, SECOND, HUB, 1, Body::Control(control));
    let round = Round { round: 1, packet: 640, count: 2, first: 0 };
    hear_from(&mut rim, SECOND, HUB, 1, Body::Round(round));
    let over = SECOND + Nanos::from_secs(5);
    while let Some(due) = next(&mut rim, over).filter(|&due| due < over) {
        next(&mut rim, due);
    }
    assert_eq!(rim.events().last(), Some(RimEvent::Silent));
    assert_eq!((rim.next_deadline(), rim.bytes()), (None, 0));
    hear_from(&mut rim, over + SECOND, HUB, 1, Body::Round(Round { round: 2, ..round }));
    let said = rim.poll_transmit(over + SECOND).expect("it joins");
    assert!(matches!(Message::parse(&said.bytes).map(|said| said.body), Ok(Body::Join { .. })));
}

/// The paper: "At first, the sender multicast the Control parameter packet".
#[test]
fn unscheduled_parameters_are_sent_at_the_beginning_and_not_again() {
    for repair in REPAIRS {
        let mut world = World::new(config(Method::Unscheduled, repair, 3), 3, CLEAN, 1);
        let mut packets = 0;
        world.loses = Box::new(move |_, _, kind| {
            packets += u32::from(kind == DATA);
            kind == DATA && packets % 20 == 0
        });
        world.offer("a", file(50_000));
        world.run(1, DAY);
        assert!(world.reports[0].rounds > 5 && world.reports[0].sent > 50_000, "{repair:?}");
        assert_eq!((world.kinds[&CONTROL], world.kinds.get(&JOIN)), (1, None), "{repair:?}");
        assert!(world.rims.iter().all(|host| host.stored == file(50_000)));
    }
}

/// It hears packets of it knows not what, in one round or more.
#[test]
fn a_rim_whose_unscheduled_parameters_are_lost_asks_for_them_and_gets_the_file() {
    for repair in REPAIRS {
        for (size, lost_up) in [(1, 0), (50_000, 0), (50_000, JOIN)] {
            let mut world = World::new(config(Method::Unscheduled, repair, 3), 3, CLEAN, 1);
            let (mut down, mut up) = (first(false, CONTROL), first(true, lost_up));
            world.loses =
                Box::new(move |goes_up, rim, kind| down(goes_up, rim, kind) || up(goes_up, rim, kind));
            world.offer("a", file(size));
            world.run(1, DAY);
            assert!(world.rims.iter().all(|host| host.stored == file(size)), "{repair:?} {size} {lost_up}");
            // At the beginning, when it asks, and with the next round if there is one.
            assert!(world.kinds[&CONTROL] <= 3, "{repair:?}: {:?}", world.kinds);
        }
    }
}
