use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

proptest! {
    #[test]
    fn it_is_a_map(entries in proptest::collection::vec((0u32..200, 0u32..100), 0..150)) {
        let table = AddressTable::new(&entries);
        let map: BTreeMap<u32, u32> = entries.into_iter().collect();
        for key in (0..200).chain([u32::MAX]) {
            prop_assert_eq!(table.get(key), map.get(&key).copied());
        }
    }
}
