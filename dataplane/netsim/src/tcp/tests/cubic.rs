use super::*;

const RTT: u64 = 100_000_000;

fn ack(now: u64, acked: u64) -> Ack {
    Ack { now: Nanos(now), acked, rtt: Nanos(RTT), smooth_rtt: Nanos(RTT), ..Ack::default() }
}

#[test]
fn cube_roots() {
    for x in [0.001, 1.0, 8.0, 27.0, 1e9, 123_456.789] {
        assert!((cube_root(x).powi(3) / x - 1.0).abs() < 1e-12, "{x}");
    }
    assert_eq!(cube_root(-1.0), 0.0);
}

#[test]
fn it_is_back_at_the_old_window_after_k_and_flat_there() {
    let mut cubic = Cubic::default();
    let mut window = cubic.shrink(1000.0);
    assert_eq!(window, 700.0);
    // K = cbrt(300 / 0.4) = 9.09 s.
    let mut at = Vec::new();
    for round in 0..120u64 {
        let acks = window as u64;
        for n in 0..acks {
            window = cubic.avoid(window, &ack(round * RTT + n * RTT / acks, 1));
        }
        at.push(window);
    }
    assert!((at[90] - 1000.0).abs() < 2.0, "at K: {}", at[90]);
    assert!(at[20] - at[10] > 10.0 * (at[95] - at[85]), "steep first, flat at the old window");
    assert!((at[119] - (1000.0 + 0.4 * 2.91f64.powi(3))).abs() < 3.0, "then it probes: {}", at[119]);
}

#[test]
fn a_second_loss_below_the_first_releases_bandwidth() {
    let mut cubic = Cubic::default();
    cubic.shrink(1000.0);
    cubic.shrink(800.0);
    assert_eq!(cubic.w_max, 680.0);
    assert_eq!(cubic.prior, 800.0);
}

#[test]
fn with_a_short_round_trip_it_grows_like_reno() {
    let mut cubic = Cubic::default();
    let mut window = cubic.shrink(20.0);
    let rtt = 1_000_000;
    for round in 0..40u64 {
        for n in 0..window as u64 {
            let now = round * rtt + n;
            window = cubic.avoid(window, &Ack { smooth_rtt: Nanos(rtt), ..ack(now, 1) });
        }
    }
    // ALPHA a round up to 20 packets (11 rounds), then one a round.
    assert!((window - 48.0).abs() < 3.0, "{window}");
}
