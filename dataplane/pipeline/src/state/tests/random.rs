use super::*;

#[test]
fn random_values_stay_within_and_repeat() {
    let draw = |seed| {
        let mut random = RandomExtern(seed);
        (0..1_000).map(|_| random.within(10, 20)).collect::<Vec<_>>()
    };
    let values = draw(7);
    assert!(values.iter().all(|v| (10..=20).contains(v)));
    assert!((10..=20).all(|v| values.contains(&v)));
    assert_eq!(values, draw(7));
    assert_ne!(values, draw(8));
    assert_eq!(RandomExtern(1).within(5, 5), 5);
    let mut random = RandomExtern(1);
    assert_ne!(random.within(0, u128::MAX), random.within(0, u128::MAX));
}
