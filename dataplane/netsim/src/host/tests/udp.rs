use super::*;
use crate::random::Draws;
use std::net::Ipv4Addr;

fn source(rate_bps: u64, frame_bytes: u32, sizes: Sizes, arrivals: Arrivals, stop: u64) -> UdpSource {
    let address = Ipv4Addr::new(10, 0, 0, 1);
    let addresses = Addresses {
        source_mac: [2; 6],
        destination_mac: [4; 6],
        source: address,
        destination: address,
        source_port: 1,
        destination_port: 2,
    };
    let spec = UdpSpec { rate_bps, frame_bytes, sizes, arrivals };
    UdpSource::new(addresses, spec, Random::new(1, Draws::Flow(0)), (Nanos(100), Nanos(stop)), 1)
}

fn times(mut source: UdpSource) -> Vec<u64> {
    let mut times = Vec::new();
    while source.deadline() != Nanos::MAX {
        times.push(source.deadline().0);
        source.generate();
    }
    times
}

#[test]
fn a_constant_source_is_exact() {
    let times = times(source(3_000_000_000, 1000, Sizes::Constant, Arrivals::Constant, 8_100));
    assert_eq!(times, [100, 2766, 5433]); // 8000 bits at 3 Gb/s: 2666.67 ns
}

#[test]
fn an_on_off_source_sends_while_on() {
    let arrivals = Arrivals::OnOff { on_ns: 2_000, off_ns: 10_000, random: false };
    let times = times(source(8_000_000_000, 1000, Sizes::Constant, arrivals, 26_000));
    assert_eq!(times, [100, 1100, 12_100, 13_100, 24_100, 25_100]);
}

#[test]
fn poisson_arrivals_and_exponential_sizes_have_their_means() {
    let mut source = source(1_000_000_000, 1000, Sizes::Exponential, Arrivals::Poisson, 1_000_000_000);
    let (mut count, mut bytes) = (0u64, 0u64);
    while source.deadline() != Nanos::MAX {
        bytes += u64::from(source.generate());
        count += 1;
    }
    // 125,000 arrivals expected: five standard deviations are 1768; sizes below 58 bytes are cut off.
    assert!(count.abs_diff(125_000) < 1768, "{count}");
    assert!((bytes as f64 / count as f64 / 1001.6 - 1.0).abs() < 0.015);
}
