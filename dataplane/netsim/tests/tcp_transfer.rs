//! TCP endpoints over a small network in virtual time: everything arrives, nothing is sent beyond the window,
//! and the throughput under random loss is what theory says.

use crate::tcp_net::{Net, QueuedLink, TcpFlow};
use groupflow_base::Nanos;
use groupflow_netsim::tcp::{Behaviour, DataSource, TcpReceiverConfig, TcpSenderConfig, Variant};
use proptest::prelude::*;

fn configs(variant: Variant, window: u32) -> [TcpSenderConfig; 2] {
    [TcpSenderConfig::new(variant, window), TcpSenderConfig::ns2(variant, window)]
}

const ALL: [Variant; 7] = [
    Variant::Tahoe,
    Variant::Reno,
    Variant::NewReno,
    Variant::Sack,
    Variant::Vegas,
    Variant::Cubic,
    Variant::Compound,
];

fn variants() -> impl Strategy<Value = Variant> {
    (0..ALL.len()).prop_map(|index| ALL[index])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Random loss both ways, reordering, delayed acknowledgements: every byte arrives, once and in order.
    #[test]
    fn everything_arrives(
        variant in variants(),
        ns2: bool,
        bytes in 1u64..300_000,
        window in 1u32..60,
        loss in 0.0f64..0.2,
        jitter_ms in 0u64..8,
        delayed: bool,
        seed: u64,
    ) {
        let mut config = configs(variant, window)[usize::from(ns2)];
        config.data = DataSource::Bytes(bytes);
        let mut receiver = TcpReceiverConfig::for_sender(&config);
        if delayed {
            receiver.delayed_ack = Some(Nanos::from_millis(40));
        }
        let mut link = QueuedLink::new(10_000_000, Nanos::from_millis(5), 30);
        link.loss = loss;
        link.jitter = Nanos::from_millis(jitter_ms);
        let mut net = Net::new(vec![link], vec![TcpFlow::with_receiver(0, 1, config, receiver)], seed);
        net.run_until(Nanos::from_secs(20_000));
        let flow = &net.flows[0];
        let (sent, received) = (flow.sender.stats(), flow.receiver.stats());
        prop_assert!(flow.sender.is_finished(), "{sent:?} {received:?}");
        prop_assert_eq!(sent.bytes_acked, bytes);
        prop_assert_eq!(received.bytes_delivered, bytes);
        prop_assert_eq!(flow.sender.deadline(), None);
        prop_assert_eq!(sent.in_flight, 0);
        let packets = bytes.div_ceil(u64::from(config.mss)) + u64::from(config.syn);
        prop_assert_eq!(sent.packets_sent, packets + sent.retransmissions);
    }

    /// Whatever acknowledgements say, no more than the window is in flight and nothing panics.
    #[test]
    fn never_beyond_the_window(
        variant in variants(),
        ns2: bool,
        window in 1u32..50,
        ecn: bool,
        acks in proptest::collection::vec(
            (0u32..80_000, any::<u8>(), 0u32..80_000, 0u32..20_000, 0u64..400_000_000), 1..200),
    ) {
        use groupflow_netsim::tcp::{TcpFlags, Sack, SackBlock, Segment, TcpSender};
        let mut config = configs(variant, window)[usize::from(ns2)];
        config.ecn = ecn && variant != Variant::Vegas;
        let mut sender = TcpSender::new(config).unwrap();
        let mut now = Nanos::ZERO;
        sender.on_timer(now);
        while sender.poll(now).is_some() {}
        for (ack, flags, left, length, later) in acks {
            now += Nanos(later);
            sender.on_timer(now);
            while sender.poll(now).is_some() {}
            let mut sack = Sack::default();
            sack.push(SackBlock { left, right: left + length });
            let flags = TcpFlags(flags & 0x40 | 0x10);
            // Multiples of the packet size are what a receiver sends; the rest is noise.
            let ack = if ack % 3 == 0 { ack } else { ack / config.mss * config.mss + u32::from(config.syn) };
            sender.on_segment(now, &Segment { ack, flags, sack, ..Segment::default() });
            while sender.poll(now).is_some() {}
            let stats = sender.stats();
            prop_assert!(stats.in_flight <= u64::from(window), "{stats:?}");
            prop_assert!(stats.cwnd >= 1.0 && stats.ssthresh >= 1.0 && stats.cwnd.is_finite(), "{stats:?}");
        }
    }
}

#[test]
fn a_transfer_without_loss_sends_each_packet_once() {
    for variant in ALL {
        for mut config in configs(variant, 20) {
            config.data = DataSource::Bytes(1_000_000);
            let link = QueuedLink::new(10_000_000, Nanos::from_millis(5), 100);
            let mut net = Net::new(vec![link], vec![TcpFlow::new(0, 1, config)], 0);
            net.run_until(Nanos::from_secs(10));
            let stats = net.flows[0].sender.stats();
            assert!(net.flows[0].sender.is_finished(), "{variant:?}");
            assert_eq!((stats.retransmissions, stats.timeouts, stats.dup_acks), (0, 0, 0), "{variant:?}");
            assert_eq!(net.flows[0].receiver.stats().duplicates, 0, "{variant:?}");
        }
    }
}

#[test]
fn two_runs_are_the_same() {
    let run = || {
        let mut link = QueuedLink::new(10_000_000, Nanos::from_millis(5), 20);
        link.loss = 0.02;
        let flows = ALL.map(|variant| TcpFlow::new(0, 1, TcpSenderConfig::new(variant, 50)));
        let mut net = Net::new(vec![link], flows.into(), 7);
        net.run_until(Nanos::from_secs(30));
        net.flows.iter().map(|flow| (flow.sender.stats(), flow.receiver.stats())).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// Mathis et al. 1997: with random loss p and an acknowledgement for each packet, the window is
/// sqrt(3/2)/sqrt(p) packets on average: rate * RTT = 1.22 / sqrt(p).
#[test]
fn throughput_follows_the_square_root_law() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        for config in configs(variant, 10_000) {
            for loss in [0.0005, 0.002] {
                let mut config = config;
                config.initial_ssthresh = Some(30);
                let rtt = Nanos::from_millis(20);
                let mut link = QueuedLink::new(10_000_000_000, Nanos(rtt.0 / 2), 100_000);
                link.loss = loss;
                let mut net = Net::new(vec![link], vec![TcpFlow::new(0, 1, config)], 1);
                net.back[0].loss = 0.0;
                net.run_until(Nanos::from_secs(200));
                let stats = net.flows[0].sender.stats();
                let rounds = 200.0 / 0.02;
                let window = stats.bytes_acked as f64 / f64::from(config.mss) / rounds;
                let law = (1.5 / loss).sqrt();
                let ratio = window / law;
                println!(
                    "{variant:?} {:?} p={loss}: {window:.1} packets, law {law:.1}: {ratio:.3}",
                    config.behaviour
                );
                assert!(
                    (0.80..1.20).contains(&ratio),
                    "{variant:?} {:?} at {loss}: {ratio}",
                    config.behaviour
                );
            }
        }
    }
}

/// Two flows over one queue share it; ECN does so without a loss.
#[test]
fn ecn_keeps_the_queue_without_loss() {
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic, Variant::Compound] {
        let mut config = TcpSenderConfig::new(variant, 1_000);
        config.ecn = true;
        config.initial_ssthresh = Some(40);
        let mut link = QueuedLink::new(20_000_000, Nanos::from_millis(10), 200);
        link.mark_at = Some(30);
        let mut other = config;
        other.source_port += 1;
        let mut net = Net::new(vec![link], vec![TcpFlow::new(0, 1, config), TcpFlow::new(0, 1, other)], 3);
        net.run_until(Nanos::from_secs(60));
        let delivered: Vec<u64> =
            net.flows.iter().map(|flow| flow.receiver.stats().bytes_delivered).collect();
        assert_eq!(net.forth[0].drops, 0, "{variant:?}");
        for flow in &net.flows {
            let stats = flow.sender.stats();
            assert!(stats.ecn_reductions > 10 && stats.retransmissions == 0, "{variant:?} {stats:?}");
        }
        let rate = delivered.iter().sum::<u64>() as f64 * 8.0 / 60.0;
        assert!(rate > 0.9 * 20e6, "{variant:?}: {rate}");
        let share = delivered[0] as f64 / (delivered[0] + delivered[1]) as f64;
        assert!((0.3..0.7).contains(&share), "{variant:?}: {share}");
    }
}

#[test]
fn delayed_acknowledgements_halve_their_number() {
    let mut config = TcpSenderConfig::ns2(Variant::Reno, 50);
    config.data = DataSource::Bytes(1_460_000);
    let mut receiver = TcpReceiverConfig::for_sender(&config);
    receiver.delayed_ack = Some(Nanos::from_millis(100));
    let link = QueuedLink::new(10_000_000, Nanos::from_millis(5), 100);
    let mut net = Net::new(vec![link], vec![TcpFlow::with_receiver(0, 1, config, receiver)], 0);
    net.run_until(Nanos::from_secs(10));
    let acks = net.flows[0].receiver.stats().acks;
    assert!(net.flows[0].sender.is_finished());
    assert!((500..=505).contains(&acks), "{acks} for 1000 packets and a SYN");
}

#[test]
fn start_and_stop_are_kept() {
    let mut config = TcpSenderConfig::ns2(Variant::Reno, 10);
    assert_eq!(config.behaviour, Behaviour::Ns2);
    config.start = Nanos::from_millis(100);
    config.stop = Some(Nanos::from_millis(300));
    let link = QueuedLink::new(10_000_000, Nanos::from_millis(5), 100);
    let mut net = Net::new(vec![link], vec![TcpFlow::new(0, 1, config)], 0);
    net.run_until(Nanos::from_millis(99));
    assert_eq!(net.flows[0].sender.stats().packets_sent, 0);
    net.run_until(Nanos::from_millis(300));
    let sent = net.flows[0].sender.stats().packets_sent;
    assert!(sent > 10);
    net.run_until(Nanos::from_secs(5));
    assert_eq!(net.flows[0].sender.stats().packets_sent, sent);
    assert!(net.flows[0].sender.is_finished());
}
