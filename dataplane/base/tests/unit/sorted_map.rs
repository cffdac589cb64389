#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::collections::BTreeMap;

use groupflow_base::SortedMap;
use proptest::collection::vec;
use proptest::prelude::*;

/// Makes one call, which returns the same for both kinds of map.
macro_rules! call {
    ($map:ident, $step:ident, $key:ident, $value:ident) => {
        match $step {
            0..=3 => $map.insert($key, $value),
            4 => $map.remove(&$key),
            5 => $map.get(&$key).copied(),
            6 => Some(*$map.entry($key).and_modify(|value| *value /= 2).or_insert($value)),
            7 => Some(*$map.entry($key).or_default()),
            8 => {
                $map.retain(|key, value| *key == $key || *value % 3 > 0);
                $map.get_mut(&$key).map(|value| {
                    *value /= 2;
                    *value
                })
            }
            9 => {
                $map.values_mut().for_each(|value| *value /= 2);
                $map.contains_key(&$key).then(|| $map[&$key])
            }
            _ => {
                (&mut $map).into_iter().for_each(|(key, value)| *value ^= u16::from(*key));
                $map.last_key_value().map(|(_, value)| *value)
            }
        }
    };
}

proptest! {
    /// It behaves like the standard library's `BTreeMap`.
    #[test]
    fn it_is_a_map(steps in vec((0..11_u8, 0..12_u8, any::<u16>()), 1..60)) {
        let (mut map, mut model) = (SortedMap::new(), BTreeMap::new());
        for (step, key, value) in steps {
            prop_assert_eq!(call!(map, step, key, value), call!(model, step, key, value));
            prop_assert!(map.iter().eq(&model));
            prop_assert!(map.keys().eq(model.keys()) && map.values().rev().eq(model.values().rev()));
            prop_assert_eq!(map.first_key_value(), model.first_key_value());
            prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
        }
        prop_assert_eq!(format!("{map:?}"), format!("{model:?}"));
        let text = serde_json::to_string(&map).unwrap();
        prop_assert_eq!(&text, &serde_json::to_string(&model).unwrap());
        prop_assert_eq!(&serde_json::from_str::<SortedMap<u8, u16>>(&text).unwrap(), &map);
        prop_assert!(map.clone().into_values().eq(model.into_values()));
        prop_assert_eq!(map.clone().into_iter().rev().collect::<SortedMap<_, _>>(), map);
    }
}

#[test]
fn a_list_is_no_map() {
    let error = serde_json::from_str::<SortedMap<u8, u16>>("[1]").unwrap_err();
    assert!(error.to_string().contains("expected a map"), "{error}");
}
