use super::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashMap;

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn it_behaves_as_a_map(steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..3), 0..300)) {
        let (mut slots, mut map) = (Slots::new(), HashMap::new());
        let mut rows = vec![0; 3];
        for (number, (add, a, b)) in (1u32..).zip(steps) {
            let key = [a << 40, b];
            rows.extend([7, key[0], key[1]]);
            if add && !map.contains_key(&key) {
                slots.insert(hash(key), number);
                map.insert(key, number);
            } else if !add {
                map.remove(&key).into_iter().for_each(|number| slots.remove(hash(key), number));
            }
            let keys = Keys { rows: &rows, stride: 3, first: 1 };
            for a in 0..40 {
                for b in 0..3 {
                    let key = [a << 40, b];
                    prop_assert_eq!(slots.get(&key, keys), map.get(&key).copied().unwrap_or(0));
                }
            }
            prop_assert_eq!(slots.is_empty(), map.is_empty());
        }
    }
}
