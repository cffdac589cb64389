use super::*;
use crate::random::Draws;

fn run(spec: LossSpec, frames: usize) -> Vec<bool> {
    let mut random = Random::new(11, Draws::Link(0));
    let mut process = LossProcess::new(spec).expect("proportions");
    (0..frames).map(|_| process.loses(&mut random)).collect()
}

fn proportion(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

#[test]
fn independent_losses_are_of_the_proportion_and_independent() {
    let lost = run(LossSpec::Bernoulli { loss_ppb: 20_000_000 }, 500_000);
    // Five standard deviations: 5 * sqrt(0.02 * 0.98 / 500,000).
    assert!((proportion(&lost) - 0.02).abs() < 0.001, "{}", proportion(&lost));
    let after: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
    assert!((proportion(&after) - 0.02).abs() < 0.007, "{}", proportion(&after));
}

#[test]
fn bursts_have_the_length_and_share_of_the_bad_state() {
    let (to_bad, to_good) = (0.01, 0.2);
    let lost = run(
        LossSpec::GilbertElliott {
            to_bad_ppb: 10_000_000,
            to_good_ppb: 200_000_000,
            good_loss_ppb: 0,
            bad_loss_ppb: 1_000_000_000,
        },
        1_000_000,
    );
    let share = to_bad / (to_bad + to_good);
    assert!((proportion(&lost) / share - 1.0).abs() < 0.05, "{}", proportion(&lost));
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let length = lost.iter().filter(|&&lost| lost).count() as f64 / bursts as f64;
    assert!((length * to_good - 1.0).abs() < 0.05, "{length}");
}

#[test]
fn a_proportion_above_the_whole_is_refused() {
    assert!(LossProcess::new(LossSpec::Bernoulli { loss_ppb: 1_000_000_001 }).is_none());
}

#[test]
fn a_frame_is_damaged_in_proportion_to_its_length() {
    for bytes in [100, 1000] {
        let mut errors = BitErrors::new(100_000, Random::new(3, Draws::Errors(0)));
        let damaged = (0..200_000).filter(|_| errors.damage(bytes)).count() as f64 / 200_000.0;
        let expected = 1.0 - (-(bytes as f64) / 100_000.0).exp();
        assert!((damaged / expected - 1.0).abs() < 0.08, "{damaged} {expected}");
    }
}
