use super::*;

#[test]
fn a_frame_is_damaged_in_proportion_to_its_length() {
    for bytes in [100, 1000] {
        let mut errors = Errors::new(100_000, Random::new(3, Draws::Errors(0)));
        let damaged = (0..200_000).filter(|_| errors.damage(bytes)).count() as f64 / 200_000.0;
        let expected = 1.0 - (-(bytes as f64) / 100_000.0).exp();
        assert!((damaged / expected - 1.0).abs() < 0.08, "{damaged} {expected}");
    }
}
