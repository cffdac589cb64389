use super::*;
use crate::core::packet_rate::PacketRate;
use proptest::prelude::*;

#[test]
fn a_description_changes_what_it_names_and_nothing_else() {
    let change: QueueChange =
        "level=3,weight=2,rate=1000pps,packets=100,bytes=64000,pause".parse().expect("valid");
    let settings = change.applied_to(QueueSettings::of(5));
    let expected = QueueSettings {
        level: 3,
        weight: 2,
        rate: Some(QueueRate::Packets(PacketRate::from_units(64_000))),
        paused: true,
        limit_packets: Some(100),
        limit_bytes: Some(64_000),
    };
    assert_eq!(settings, expected);
    let back: QueueChange =
        "level=5,weight=1,rate=unlimited,packets=default,bytes=default,resume".parse().expect("valid");
    assert_eq!(back.applied_to(settings), QueueSettings::of(5));
    assert_eq!(QueueChange::default().applied_to(settings), settings);
}

#[test]
fn errors_name_the_key_and_the_value() {
    let cases = [
        ("", "\"\" is not one of level=, weight=, rate=, packets=, bytes=, pause, resume"),
        ("level=256", "level: \"256\" is not a number between 0 and 255"),
        ("weight=0", "weight: \"0\" is not a number between 1 and 65535"),
        ("packets=0", "packets: \"0\" is not a number between 1 and 1000000"),
        ("bytes=-1", "bytes: \"-1\" is not a number between 1 and 1099511627776"),
        ("pause,resume", "pause/resume is given twice"),
        (
            "rate=5",
            "rate: \"5\" is not a rate such as 1000pps (pps, kpps, mpps) or 10mbit (bit, kbit, mbit, \
                 gbit), or unlimited",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(text.parse::<QueueChange>().expect_err(text).to_string(), message);
    }
}

#[test]
fn a_place_is_a_port_or_all_and_a_queue() {
    let place = |text| parse_port_queue(text).map(|(place, _)| (place.port, place.queue));
    assert_eq!(place("3/7:pause"), Ok((Some(Port(3)), 7)));
    assert_eq!(place("all/0:rate=1pps"), Ok((None, 0)));
    for text in ["3:pause", "3/x:pause", "/1:pause", "3/7", "3/256:pause"] {
        let message = format!("{text:?} is not PORT/QUEUE:rate=1000pps,... (or all/QUEUE:...)");
        assert_eq!(place(text).expect_err(text).to_string(), message);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        let _ = text.parse::<QueueChange>();
    }
}
