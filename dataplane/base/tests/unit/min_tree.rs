use groupflow_base::min_tree::MinTree;
use groupflow_base::Nanos;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_first_is_the_lowest_of_the_earliest(
        leaves in 1usize..20,
        updates in proptest::collection::vec((0usize..20, 0u64..8), 1..60),
    ) {
        let mut tree = MinTree::new(leaves);
        let mut plain = vec![Nanos::MAX; leaves];
        for (leaf, time) in updates {
            let time = if time == 7 { Nanos::MAX } else { Nanos(time) };
            tree.set(leaf % leaves, time);
            plain[leaf % leaves] = time;
            let earliest = plain.iter().copied().min().unwrap_or(Nanos::MAX);
            prop_assert_eq!(tree.time(), earliest);
            prop_assert_eq!(Some(tree.first()), plain.iter().position(|&t| t == earliest));
            prop_assert_eq!(tree.get(leaf % leaves), plain[leaf % leaves]);
        }
    }
}
