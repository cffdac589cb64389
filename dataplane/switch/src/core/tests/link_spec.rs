use super::*;
use proptest::prelude::*;

#[test]
fn a_description_sets_what_it_names_and_nothing_else() {
    let (port, change) =
        parse_port_link("3:rate=100mbit,delay=10ms,loss=0.01,queue=200,dir=out").expect("valid");
    assert_eq!(port, Port(3));
    assert!(change.outbound() && !change.inbound());
    let parameters = change.applied_to(LinkParameters::IDEAL);
    assert_eq!(parameters.rate, Some(BitRate(100_000_000)));
    assert_eq!(parameters.delay, Nanos::from_millis(10));
    assert_eq!(parameters.loss.get(), 10_000_000);
    assert_eq!(parameters.queue_packets, 200);
    let slower: LinkChange = "rate=1mbit".parse().expect("valid");
    assert_eq!(slower.applied_to(parameters).delay, Nanos::from_millis(10));
    let unlimited: LinkChange = "rate=unlimited,down".parse().expect("valid");
    assert_eq!(unlimited.applied_to(parameters).rate, None);
    assert_eq!(unlimited.up, Some(false));
}

#[test]
fn errors_name_the_key_and_the_value() {
    let cases = [
        ("rate=1mbit", "\"rate=1mbit\" is not PORT:rate=100mbit,delay=10ms,..."),
        ("x:up", "\"x\" is not a port number"),
        ("1:", "\"\" is not one of rate=, delay=, loss=, queue=, dir=, up, down"),
        (
            "1:rate=0mbit",
            "rate: \"0mbit\" is not a rate above zero such as 100mbit (bit, kbit, mbit, gbit or \
                unlimited)",
        ),
        ("1:speed=3", "\"speed=3\" is not one of rate=, delay=, loss=, queue=, dir=, up, down"),
        ("1:up,down", "up/down is given twice"),
        ("1:loss=2", "loss: \"2\" is not a loss between 0 and 1, or a percentage such as 1%"),
        ("1:delay=10", "delay: \"10\" is not a time such as 10ms (ns, us, ms or s)"),
        ("1:queue=0", "queue: \"0\" is not a number of packets between 1 and 1000000"),
        ("1:dir=up", "dir: \"up\" is not both, in or out"),
    ];
    for (text, message) in cases {
        let error = parse_port_link(text).expect_err(text);
        assert_eq!(error.to_string(), message);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        let _ = parse_port_link(&text);
    }

    #[test]
    fn no_mix_of_valid_words_panics(words in proptest::collection::vec(
        prop_oneof![Just("rate"), Just("="), Just("1"), Just("."), Just("9999999999999"), Just("gbit"),
                    Just("loss"), Just("%"), Just(","), Just("delay"), Just("s"), Just("queue"),
                    Just("-")], 0..12)) {
        let _ = parse_port_link(&format!("1:{}", words.concat()));
    }
}
