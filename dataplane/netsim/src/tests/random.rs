use super::*;

#[test]
fn the_logarithm_is_one() {
    for n in 1..10_000u32 {
        let x = f64::from(n) / 10_000.0;
        assert!((natural_logarithm(x) - x.ln()).abs() < 1e-14, "{x}");
    }
    assert!((natural_logarithm(2f64.powi(-53)) - 2f64.powi(-53).ln()).abs() < 1e-13);
}

#[test]
fn exponential_numbers_have_mean_and_deviation_of_the_distribution() {
    let mut random = Random::new(1, Draws::Flow(3));
    let count = 200_000u32;
    let numbers: Vec<f64> = (0..count).map(|_| random.exponential(Nanos(1_000_000)).0 as f64).collect();
    let mean = numbers.iter().sum::<f64>() / f64::from(count);
    let variance = numbers.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / f64::from(count);
    // The mean's standard error is 0.22 %, that of the variance 0.63 %: five of each.
    assert!((mean / 1e6 - 1.0).abs() < 0.011, "{mean}");
    assert!((variance / 1e12 - 1.0).abs() < 0.032, "{variance}");
}

#[test]
fn streams_differ_and_repeat() {
    let draw = |stream| Random::new(9, stream).next_u32();
    assert_eq!(draw(Draws::Link(1)), draw(Draws::Link(1)));
    assert_ne!(draw(Draws::Link(1)), draw(Draws::Flow(1)));
    assert_ne!(draw(Draws::Link(1)), draw(Draws::Link(2)));
}
