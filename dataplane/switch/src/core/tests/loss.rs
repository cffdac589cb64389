use super::*;

#[test]
fn losses_are_read_as_written() {
    assert_eq!("0.01".parse(), Ok(Loss(10_000_000)));
    assert_eq!("1%".parse(), Ok(Loss(10_000_000)));
    assert_eq!("1".parse(), Ok(Loss(1_000_000_000)));
}

#[test]
fn nonsense_is_refused() {
    for text in ["", "1.1", "-0.1", "200%", "%", "0.0000000001", "x"] {
        assert!(text.parse::<Loss>().is_err(), "{text:?}");
    }
}

#[test]
fn a_loss_is_the_proportion_of_the_numbers_drawn() {
    let percent: Loss = "1%".parse().expect("a loss");
    assert!(percent.hits(0));
    assert!(percent.hits((u32::MAX / 100) - 1));
    assert!(!percent.hits((u32::MAX / 100) + 2));
    assert!(!Loss::NONE.hits(0));
    assert!("1".parse::<Loss>().expect("a loss").hits(u32::MAX));
}
