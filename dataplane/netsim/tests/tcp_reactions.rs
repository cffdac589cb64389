//! Reactions of each variant to acknowledgements, duplicates, blocks, echoes and timeouts: traces of window,
//! threshold and packets sent.
//!
//! A trace is a list of events, each with what it leads to: `window threshold | packets`. Packet 0 is the
//! SYN. All traces begin with 8 packets of initial window and a threshold of 100; a round trip is 100 ms
//! unless an event says `later`.

use groupflow_base::Nanos;
use groupflow_netsim::tcp::{Sack, SackBlock, Segment, TcpFlags, TcpSender, TcpSenderConfig, Variant};

struct Trace {
    sender: TcpSender,
    now: Nanos,
    una: u32,
    mss: u32,
}

impl Trace {
    fn new(mut config: TcpSenderConfig) -> Trace {
        config.initial_window = 8;
        config.initial_ssthresh = Some(100);
        config.timestamps = false;
        Trace { sender: TcpSender::new(config).unwrap(), now: Nanos::ZERO, una: 0, mss: config.mss }
    }

    /// Past slow start, with the first window out.
    fn steady(config: TcpSenderConfig) -> Trace {
        let config = TcpSenderConfig { initial_ssthresh: Some(2), timestamps: false, ..config };
        let mut trace = Trace::new(config);
        trace.sender = TcpSender::new(config).unwrap();
        for event in ["start", "later", "ack 1"] {
            trace.apply(event);
            trace.sent();
        }
        trace
    }

    /// Packets in flight are acknowledged after so many milliseconds, one by one. Returns the window.
    fn round(&mut self, millis: u64) -> f64 {
        self.now += Nanos::from_millis(millis);
        for _ in 0..self.sender.stats().in_flight {
            self.una += 1;
            self.acknowledge(Sack::default(), false);
            self.sent();
        }
        self.sender.stats().cwnd
    }

    fn wire(&self, packet: u32) -> u32 {
        packet.checked_sub(1).map_or(0, |data| 1 + data * self.mss)
    }

    fn acknowledge(&mut self, sack: Sack, echo: bool) {
        let flags = if echo { TcpFlags::ACK.with(TcpFlags::ECE) } else { TcpFlags::ACK };
        let segment = Segment { ack: self.wire(self.una), flags, sack, ..Segment::default() };
        self.sender.on_segment(self.now, &segment);
    }

    /// `start`, `ack N`, `echo N` (an ACK with ECE), `dup`, `dup L-R` (a duplicate with a block, both ends in
    /// it), `timeout`, `later`.
    fn apply(&mut self, event: &str) {
        let (word, argument) = event.split_once(' ').unwrap_or((event, ""));
        match word {
            "start" => self.sender.on_timer(self.now),
            "ack" | "echo" => {
                self.una = argument.parse().unwrap();
                self.acknowledge(Sack::default(), word == "echo");
            }
            "dup" => {
                let mut sack = Sack::default();
                if let Some((left, right)) = argument.split_once('-') {
                    let right = self.wire(right.parse::<u32>().unwrap() + 1);
                    sack.push(SackBlock { left: self.wire(left.parse().unwrap()), right });
                }
                self.acknowledge(sack, false);
            }
            "timeout" => {
                self.now = self.sender.deadline().unwrap();
                self.sender.on_timer(self.now);
            }
            "later" => self.now += Nanos::from_millis(100),
            _ => panic!("no such event: {event}"),
        }
    }

    fn sent(&mut self) -> Vec<u32> {
        let mut packets = Vec::new();
        while let Some(segment) = self.sender.poll(self.now) {
            packets.push(segment.seq.div_ceil(self.mss));
        }
        packets
    }
}

/// `1-3 7` for 1, 2, 3, 7.
fn ranges(packets: &[u32]) -> String {
    let mut text: Vec<(u32, u32)> = Vec::new();
    for packet in packets {
        match text.last_mut() {
            Some((_, end)) if *end + 1 == *packet => *end = *packet,
            _ => text.push((*packet, *packet)),
        }
    }
    let one =
        |(start, end): &(u32, u32)| if start == end { format!("{start}") } else { format!("{start}-{end}") };
    text.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn check(config: TcpSenderConfig, events: &[(&str, &str)]) {
    let mut trace = Trace::new(config);
    for (place, (event, expected)) in events.iter().enumerate() {
        trace.apply(event);
        let sent = trace.sent();
        let stats = trace.sender.stats();
        let window = (stats.cwnd * 100.0).round() / 100.0;
        let got = format!("{window} {} | {}", (stats.ssthresh * 100.0).round() / 100.0, ranges(&sent));
        assert_eq!(got.trim_end(), *expected, "{:?}, event {place}: {event}", config.variant);
    }
}

fn ns2(variant: Variant) -> TcpSenderConfig {
    TcpSenderConfig { syn: true, ..TcpSenderConfig::ns2(variant, 50) }
}

fn rfc(variant: Variant) -> TcpSenderConfig {
    TcpSenderConfig::new(variant, 50)
}

const OPENING: [(&str, &str); 4] =
    [("start", "1 100 | 0"), ("later", "1 100 |"), ("ack 1", "8 100 | 1-8"), ("later", "8 100 |")];

fn after_opening(config: TcpSenderConfig, events: &[(&str, &str)]) {
    check(config, &[&OPENING, events].concat());
}

#[test]
fn slow_start_ends_at_the_threshold() {
    let mut config = ns2(Variant::Reno);
    config.max_window = 10;
    after_opening(
        config,
        &[
            ("ack 2", "9 100 | 9-10"),
            ("ack 3", "10 100 | 11-12"),
            ("ack 4", "10 100 | 13"), // the window limit
            ("ack 6", "10 100 | 14-15"),
        ],
    );
}

#[test]
fn tahoe_starts_again() {
    for config in [ns2(Variant::Tahoe), rfc(Variant::Tahoe)] {
        let half = if config == ns2(Variant::Tahoe) { "4" } else { "4.5" };
        let at = |window: &str, sent: &str| format!("{window} {half} | {sent}").trim_end().to_owned();
        after_opening(
            config,
            &[
                ("ack 2", "9 100 | 9-10"),
                ("dup", "9 100 | 11"), // limited transmit
                ("dup", "9 100 | 12"),
                ("dup", &at("1", "2")),
                ("dup", &at("1", "")),
                ("ack 13", &at("2", "13-14")),
                ("ack 14", &at("3", "15-16")),
                ("ack 15", &at("4", "17-18")),
            ],
        );
    }
}

#[test]
fn reno_recovers_until_the_first_new_acknowledgement() {
    after_opening(
        ns2(Variant::Reno),
        &[
            ("ack 2", "9 100 | 9-10"),
            ("dup", "9 100 | 11"),
            ("dup", "9 100 | 12"),
            ("dup", "4.5 4 | 2"), // half; inflated by 3: 7 packets, 11 are out
            ("dup", "4.5 4 |"),
            ("dup", "4.5 4 |"),
            ("dup", "4.5 4 |"),
            ("dup", "4.5 4 |"),
            ("dup", "4.5 4 | 13"), // 4 + 8 packets
            ("dup", "4.5 4 | 14"),
            ("dup", "4.5 4 | 15"),
            ("ack 13", "4.72 4 | 16"), // deflated: 13 to 16 are out
            ("ack 14", "4.93 4 | 17"),
            ("dup", "4.93 4 | 18"),
            ("dup", "4.93 4 | 19"),
            ("dup", "2.47 2 | 14"), // of the next window: a new reduction
        ],
    );
}

#[test]
fn a_second_loss_in_the_window_stops_reno_and_not_newreno() {
    let begin = [
        ("ack 2", "9 100 | 9-10"),
        ("dup", "9 100 | 11"),
        ("dup", "9 100 | 12"),
        ("dup", "4.5 4 | 2"),
        ("dup", "4.5 4 |"),
        ("dup", "4.5 4 |"),
        ("dup", "4.5 4 |"),
        ("dup", "4.5 4 |"),
        ("dup", "4.5 4 | 13"),
    ];
    let reno = [
        ("ack 5", "4.72 4 |"), // recovery is over with 5 lost
        ("dup", "4.72 4 |"),
        ("dup", "4.72 4 |"),
        ("dup", "4.72 4 |"), // no fast retransmit below what was sent at the first
        ("timeout", "1 2 | 5"),
    ];
    after_opening(ns2(Variant::Reno), &[&begin[..], &reno].concat());
    let newreno = [
        ("ack 5", "4.5 4 | 5 14"), // partial: the next hole, and a new packet for those acknowledged
        ("dup", "4.5 4 | 15"),
        ("ack 14", "4.72 4 | 16-17"), // full
    ];
    after_opening(ns2(Variant::NewReno), &[&begin[..], &newreno].concat());
}

#[test]
fn newreno_after_the_rfc_ends_recovery_without_a_burst() {
    after_opening(
        rfc(Variant::NewReno),
        &[
            ("dup", "8 100 | 9"),
            ("dup", "8 100 | 10"),
            ("dup", "4 4 | 1"), // half, without what limited transmit sent (RFC 5681, section 3.2)
            ("ack 11", "2 4 | 11-12"), // nothing in flight: two packets, not four (RFC 6582, section 3.2)
            ("ack 12", "3 4 | 13-14"),
        ],
    );
}

#[test]
fn sack_repeats_what_is_missing() {
    // Packets 2 and 5 are lost.
    after_opening(
        rfc(Variant::Sack),
        &[
            ("ack 2", "9 100 | 9-10"),
            ("dup 3-3", "9 100 | 11"),
            ("dup 3-4", "9 100 | 12"),
            ("dup 6-6", "4.5 4.5 | 2"), // in the network: 5, 7 to 12, and 2 again
            ("dup 6-7", "4.5 4.5 |"),
            ("dup 6-8", "4.5 4.5 |"), // three above 5, so it is lost: 9 to 12, and 2
            ("dup 6-9", "4.5 4.5 |"),
            ("dup 6-10", "4.5 4.5 | 5"), // 11, 12 and 2: room for one
            ("dup 6-11", "4.5 4.5 | 13"),
            ("dup 6-12", "4.5 4.5 | 14"),
            ("ack 5", "4.5 4.5 | 15"),     // partial
            ("ack 14", "4.5 4.5 | 16-17"), // recovery is over
            ("ack 15", "4.72 4.5 | 18"),
        ],
    );
}

#[test]
fn sack1_counts_as_ns2_does() {
    after_opening(
        ns2(Variant::Sack),
        &[
            ("ack 2", "9 100 | 9-10"),
            ("dup 3-3", "9 100 | 11"),
            ("dup 3-3", "9 100 |"), // no news: not a duplicate to it
            ("dup 3-4", "9 100 | 12"),
            ("dup 6-6", "4.5 4 | 2"), // pipe: 11 - 3
            ("dup 6-7", "4.5 4 |"),
            ("dup 6-8", "4.5 4 |"),
            ("dup 6-9", "4.5 4 |"),
            ("dup 6-10", "4.5 4 |"), // 4
            ("dup 6-11", "4.5 4 | 5"),
            ("dup 6-12", "4.5 4 | 13"),
            ("ack 5", "4.5 4 | 14-15"),  // partial: two
            ("ack 14", "4.5 4 | 16-17"), // full; the window does not open with it
        ],
    );
}

#[test]
fn after_a_timeout_sack_repeats_only_what_is_missing() {
    let lost = [("dup 3-4", "8 100 | 9-10"), ("timeout", "1 4 | 1"), ("later", "1 4 |")];
    let after = [("ack 2", "2 4 | 2 5"), ("ack 5", "3 4 | 6-7"), ("ack 6", "4 4 | 8-9")];
    after_opening(rfc(Variant::Sack), &[&lost[..], &after].concat());
    let lost = [("dup 3-4", "8 100 | 9"), ("timeout", "1 4 | 1"), ("later", "1 4 |")];
    let after = [("ack 2", "2 4 | 2-3"), ("ack 5", "3 4 | 5-7")];
    after_opening(ns2(Variant::Sack), &[&lost[..], &after].concat());
}

#[test]
fn timeouts_double_and_a_new_measurement_ends_that() {
    let mut trace = Trace::new(rfc(Variant::Reno));
    for event in ["start", "later", "ack 1"] {
        trace.apply(event);
        trace.sent();
    }
    let mut spans = Vec::new();
    for _ in 0..4 {
        let before = trace.now;
        trace.apply("timeout");
        trace.sent();
        spans.push((trace.now - before).as_millis());
    }
    // 100 ms + 4 * 50 ms.
    assert_eq!(spans, [300, 600, 1200, 2400]);
    trace.apply("later");
    trace.apply("ack 2");
    let left = trace.sender.deadline().unwrap() - trace.now;
    assert!(left >= Nanos::from_millis(4000), "Karn: a repeated packet is no measurement: {left}");
    trace.apply("ack 9");
    trace.sent();
    trace.apply("later");
    trace.apply("ack 10");
    let left = trace.sender.deadline().unwrap() - trace.now;
    assert!(left < Nanos::from_millis(1000), "{left}");
    assert_eq!(trace.sender.stats().timeouts, 4);
}

#[test]
fn an_echo_of_congestion_halves_once_a_window() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack] {
        let config = TcpSenderConfig { ecn: true, ..ns2(variant) };
        after_opening(
            config,
            &[
                ("ack 2", "9 100 | 9-10"),
                ("echo 3", "4.5 4 |"),
                ("echo 4", "4.5 4 |"),
                ("ack 8", "4.72 4 | 11"),
                ("ack 11", "4.93 4 | 12-14"),
                ("echo 12", "2.47 2 |"), // sent after the reduction
            ],
        );
    }
}

#[test]
fn cubic_keeps_seven_tenths() {
    after_opening(
        rfc(Variant::Cubic),
        &[
            ("ack 3", "9 100 | 9-11"),
            ("dup 4-4", "9 100 | 12"),
            ("dup 4-5", "9 100 | 13"),
            ("dup 4-6", "6.3 6.3 | 3"),
            ("timeout", "1 4.41 | 3"), // 0.7 of the 6.3 it had
        ],
    );
}

#[test]
fn compound_adds_a_window_by_delay() {
    let mut trace =
        Trace::steady(TcpSenderConfig { initial_window: 400, max_window: 1000, ..rfc(Variant::Compound) });
    let windows: Vec<f64> = (0..3).map(|_| trace.round(100)).collect();
    // One packet a round from Reno's part, 400^0.75 / 8 - 1 = 10.2 and more from the other.
    assert!(windows[2] - windows[1] > 10.0, "{windows:?}");
}

#[test]
fn vegas_holds_between_one_and_three_packets_in_queues() {
    let mut trace = Trace::steady(TcpSenderConfig { initial_window: 10, ..ns2(Variant::Vegas) });
    let empty: Vec<f64> = (0..4).map(|_| trace.round(100)).collect();
    assert!(empty[3] - empty[0] > 2.0, "no queue: one more a round: {empty:?}");
    let before = trace.sender.stats().cwnd;
    // 12 packets where 100 ms would do in 120: two wait.
    let held: Vec<f64> = (0..4).map(|_| trace.round(118)).collect();
    assert!((held[3] - before).abs() < 1.1, "two packets in queues: {before} {held:?}");
    let full: Vec<f64> = (0..4).map(|_| trace.round(200)).collect();
    assert!(held[3] - full[3] > 2.0, "more than three: one less a round: {held:?} {full:?}");
}

#[test]
fn duplicates_after_a_timeout_do_not_close_vegas() {
    after_opening(
        ns2(Variant::Vegas),
        &[
            ("timeout", "2 4 | 1-2"),
            ("dup", "2 4 |"),
            ("dup", "2 4 |"),
            ("dup", "2 4 |"), // the same window of data
            ("dup", "3 4 | 3"),
            ("ack 4", "2 2 | 4-5"),
        ],
    );
}
