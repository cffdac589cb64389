use std::time::{Duration, Instant};

use super::*;

#[test]
fn one_process_at_a_time_shapes_on_an_interface() {
    let interface = format!("test{}", std::process::id());
    let first = alone(&interface).expect("nobody is there");
    let error = alone(&interface).expect_err("another is there");
    assert!(error.to_string().starts_with("another gfagent shapes on test"), "{error}");
    alone(&format!("{interface}b")).expect("another interface");
    drop(first);
    // A process that another test starts meanwhile holds the socket from its fork until its exec.
    let end = Instant::now() + Duration::from_secs(10);
    while let Err(error) = alone(&interface) {
        assert!(Instant::now() < end, "the other has ended: {error}");
        std::thread::yield_now();
    }
}

#[test]
fn orders_name_the_flow_s_packets_and_its_rate() {
    let tc = Command::new("true").spawn().expect("true");
    let alone = UnixDatagram::unbound().expect("a socket");
    let htb = Htb { interface: "h1-eth0".to_owned(), packet: 1514, tc, _alone: alone };
    assert_eq!(
        htb.class("change", Change { place: 10, rate: Some(1_514_000) }),
        "class change dev h1-eth0 parent 6766: classid 6766:b htb rate 1514000bps burst 3028b \
         cburst 3028b quantum 1514"
    );
    let most = htb.class("add", Change { place: 0, rate: None });
    assert!(most.contains("rate 50000000000bps burst 50000000b"), "{most}");
    let flow = "1=tcp:10.0.6.1:5001".parse().expect("a flow");
    assert_eq!(
        htb.filter(0, &flow),
        "filter add dev h1-eth0 parent 6766: protocol ip prio 1 u32 match ip dst 10.0.6.1/32 \
         match ip protocol 6 0xff match ip dport 5001 0xffff flowid 6766:1"
    );
    let any = htb.filter(1, &"2=10.0.7.1".parse().expect("a flow"));
    assert!(any.ends_with("u32 match ip dst 10.0.7.1/32 flowid 6766:2"), "{any}");
}
