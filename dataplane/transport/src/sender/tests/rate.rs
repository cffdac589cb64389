use super::*;

const MBIT: u64 = 1_000_000;

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// A model, and the bytes that were delivered so far, in rounds of 100 ms.
struct ModelPath {
    model: RateModel,
    round: u32,
    bytes: u64,
}

impl ModelPath {
    fn new(hint: u64) -> ModelPath {
        let mut model = RateModel::new(BitRate(hint), BitRate(0));
        model.begin(Nanos::ZERO, Seq::ZERO);
        ModelPath { model, round: 0, bytes: 0 }
    }

    fn run(&mut self, rounds: u64, rate: u64) {
        for _ in 0..rounds {
            self.round += 1;
            self.bytes += BitRate(rate).bytes_in(ms(100));
            let (now, seq) = (ms(100 * u64::from(self.round)), Seq(self.round));
            self.model.on_ack(now, seq, self.bytes, seq);
        }
    }
}

#[test]
fn a_hint_bounds_the_pacing() {
    let mut path = ModelPath::new(100 * MBIT);
    assert_eq!(path.model.pacing(), BitRate(98_500_000));
    for _ in 0..20 {
        path.run(1, 100 * MBIT);
        assert!(path.model.pacing() <= BitRate(98_500_000));
    }
    let capped = RateModel::new(BitRate(100 * MBIT), BitRate(10 * MBIT));
    assert_eq!(capped.pacing(), BitRate(10 * MBIT));
}

#[test]
fn a_measurement_close_to_the_ceiling_does_not_lower_the_pacing() {
    for (measured, pacing) in [(90, 98_500_000), (80, 80_000_000)] {
        let mut path = ModelPath::new(100 * MBIT);
        path.run(RATE_ROUNDS, measured * MBIT);
        path.run((CYCLE - path.model.rounds % CYCLE) + 2, measured * MBIT);
        assert_eq!(path.model.pacing(), BitRate(pacing), "{measured} Mb/s");
    }
}

#[test]
fn the_hint_gives_way_to_measurements() {
    let mut path = ModelPath::new(100 * MBIT);
    path.run(HINT_ROUNDS - 1, 10 * MBIT);
    assert_eq!(path.model.rate(), BitRate(98_500_000));
    path.run(1, 10 * MBIT);
    assert_eq!(path.model.rate(), BitRate(10 * MBIT));
}

#[test]
fn startup_ends_when_the_rate_stops_growing() {
    let mut path = ModelPath::new(0);
    assert_eq!(path.model.pacing(), RATE_GUESS.scaled(STARTUP_GAIN));
    // 10, 20, 40, 50, then three rounds without growth.
    path.run(7, 50 * MBIT);
    assert_eq!(path.model.phase, RatePhase::Drain);
    assert_eq!(path.model.pacing(), BitRate(25 * MBIT));
    path.run(1, 50 * MBIT);
    assert_eq!(path.model.phase, RatePhase::Cruise);
}

#[test]
fn the_gain_probes_up_then_down() {
    let mut path = ModelPath::new(0);
    path.run(20, 50 * MBIT);
    let mut gains: Vec<u64> = Vec::new();
    for _ in 0..8 {
        path.run(1, 50 * MBIT);
        gains.push(path.model.pacing().0 / (50 * MBIT / UNIT));
    }
    gains.sort_unstable();
    assert_eq!(gains, [750, 1000, 1000, 1000, 1000, 1000, 1000, 1250]);
}

#[test]
fn idle_rounds_do_not_lower_the_rate() {
    let mut path = ModelPath::new(0);
    path.run(10, 50 * MBIT);
    for _ in 0..25 {
        path.model.on_idle();
        path.run(1, MBIT);
    }
    assert_eq!(path.model.rate(), BitRate(50 * MBIT));
}

#[test]
fn the_least_rtt_expires() {
    let mut model = RateModel::new(BitRate(0), BitRate(0));
    model.on_rtt(ms(0), ms(60));
    model.on_rtt(ms(1), ms(80));
    assert_eq!(model.rtts.front().map(|&(_, least)| least), Some(ms(60)));
    model.on_rtt(ms(10_001), ms(90));
    assert_eq!(model.rtts.front().map(|&(_, least)| least), Some(ms(80)));
}

#[test]
fn the_pacer_catches_up_a_little_and_forgets_idle_time() {
    let rate = BitRate(100 * MBIT);
    let mut pacer = PacketPacer::default();
    pacer.idle(ms(100));
    pacer.sent(ms(100), MAX_PAYLOAD, rate);
    assert_eq!(pacer.next, ms(100) + Nanos(121_120));
    pacer.sent(ms(200), MAX_PAYLOAD, rate);
    assert_eq!(pacer.next, ms(192) + Nanos(121_120));
    pacer.idle(ms(300));
    assert_eq!(pacer.next, ms(300));
}
