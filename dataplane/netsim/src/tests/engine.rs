use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_island_has_one_thread(
        work in proptest::collection::vec(1u64..100, 1..40), threads in 1usize..5) {
        let bounds = spread(&work, threads);
        prop_assert_eq!(bounds.len(), threads + 1);
        prop_assert_eq!((bounds[0], bounds[threads]), (0, work.len()));
        prop_assert!(bounds.windows(2).all(|pair| pair[0] <= pair[1]));
        let (total, most) = (work.iter().sum::<u64>(), work.iter().copied().max().unwrap_or(0));
        for pair in bounds.windows(2) {
            let piece: u64 = work[pair[0]..pair[1]].iter().sum();
            prop_assert!(piece <= total / threads as u64 + most + 1);
        }
    }
}
