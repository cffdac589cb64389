use std::net::Ipv4Addr;

use groupflow_shape::args::Flow;

#[test]
fn flows_are_read_or_refused() {
    let destination = Ipv4Addr::new(10, 0, 6, 1);
    let tcp = Flow { number: 1, protocol: Some(6), destination, port: Some(5001) };
    assert_eq!("1=tcp:10.0.6.1:5001".parse(), Ok(tcp));
    let udp = Flow { number: 4095, protocol: Some(17), destination, port: None };
    assert_eq!("4095=udp:10.0.6.1".parse(), Ok(udp));
    let any = Flow { number: 2, protocol: None, destination, port: None };
    assert_eq!("2=10.0.6.1".parse(), Ok(any));
    for wrong in ["", "1", "0=10.0.6.1", "4096=10.0.6.1", "1=sctp:10.0.6.1", "1=tcp:h6", "1=10.0.6.1:80"] {
        assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
    }
    for wrong in ["1=tcp:10.0.6.1:0", "1=tcp:10.0.6.1:65536", "1=tcp:10.0.6.1:80:81", "-1=10.0.6.1"] {
        assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
    }
}
