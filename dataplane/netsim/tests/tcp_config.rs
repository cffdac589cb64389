use groupflow_base::Nanos;
use groupflow_netsim::tcp::{RtoConfig, TcpSender, TcpSenderConfig, Variant};

#[test]
fn what_cannot_be_is_refused_by_its_field() {
    let good = TcpSenderConfig::new(Variant::Reno, 100);
    let refused =
        |config: TcpSenderConfig| TcpSender::new(config).map(drop).map_err(|error| error.to_string());
    assert_eq!(refused(good), Ok(()));
    let cases = [
        (TcpSenderConfig { mss: 0, ..good }, "mss: 0 bytes"),
        (TcpSenderConfig { max_window: 0, ..good }, "max_window: 0 packets"),
        (TcpSenderConfig { max_window: 800_000, ..good }, "max_window: 800000 packets"),
        (TcpSenderConfig { initial_window: 0, ..good }, "initial_window"),
        (TcpSenderConfig { variant: Variant::Vegas, ecn: true, ..good }, "ecn: vegas"),
        (TcpSenderConfig { rto: RtoConfig { tick: Nanos::ZERO, ..good.rto }, ..good }, "rto"),
    ];
    for (config, field) in cases {
        assert!(refused(config).is_err_and(|error| error.starts_with(field)), "{field}");
    }
    assert!("cubic".parse::<Variant>() == Ok(Variant::Cubic) && "bbr".parse::<Variant>().is_err());
}
