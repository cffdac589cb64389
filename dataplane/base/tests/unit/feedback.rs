use groupflow_base::feedback::{Feedback, ETHERTYPE, NEAREST_BRIDGE};

fn frame(flow: u16, flags: u16, rate: i32) -> Vec<u8> {
    let mut frame = [&NEAREST_BRIDGE[..], &[2, 0, 0, 0, 0, 1], &ETHERTYPE.to_be_bytes()].concat();
    frame.extend([flow.to_be_bytes(), flags.to_be_bytes()].concat());
    frame.extend(rate.to_be_bytes());
    frame.resize(60, 0);
    frame
}

#[test]
fn a_report_is_read_and_a_probe_is_none() {
    let told = Feedback { flow: 7, external: true, rate: 64 * 1000 + 32 };
    assert_eq!(Feedback::read(&frame(7, 1, told.rate)), Some(told));
    assert_eq!(Feedback::read(&frame(7, 0, -1)).map(|f| (f.external, f.rate)), Some((false, -1)));
    assert_eq!(Feedback::read(&frame(7, 2, 1)), None);
    assert_eq!(Feedback::read(&frame(7, 1, 1)[..25]), None);
    let mut other = frame(7, 1, 1);
    other[13] = 0xB6;
    assert_eq!(Feedback::read(&other), None);
}

#[test]
fn rates_become_bytes_a_second() {
    let rate = |rate| Feedback { flow: 1, external: true, rate }.bytes_per_second(1500);
    assert_eq!((rate(64), rate(96), rate(0), rate(-5)), (1500, 2250, 0, 0));
    assert_eq!(rate(i32::MAX), 50_331_647_976);
}
