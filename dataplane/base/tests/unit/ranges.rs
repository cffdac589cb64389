use groupflow_base::ranges::Ranges;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    /// Beside a bitmap.
    #[test]
    fn it_is_a_set(steps in vec((0..4_u8, 0..60_u64, 0..60_u64), 1..80)) {
        let (mut ranges, mut bits) = (Ranges::default(), [false; 60]);
        for (step, a, b) in steps {
            let within = |bits: &[bool; 60]| (a..b).filter(|&i| !bits[i as usize]).count() as u64;
            match step {
                0 => {
                    prop_assert_eq!(ranges.missing(&(a..b)), within(&bits));
                    let around = ranges.containing(a);
                    prop_assert_eq!(around.is_some(), bits[a as usize]);
                    prop_assert!(around.into_iter().flatten().all(|i| bits[i as usize]));
                    let missing = (a..60).find(|&i| !bits[i as usize]).unwrap_or(60);
                    prop_assert_eq!(ranges.first_missing(a), missing);
                    let near = a.saturating_sub(1)..(b + 1).min(60);
                    let touches = near.into_iter().any(|i| bits[i as usize]);
                    let mut bounded = ranges.clone();
                    bounded.insert_within(a..b, 3);
                    let fits = ranges.count() < 3 || touches;
                    let added = if fits { within(&bits) } else { 0 };
                    prop_assert_eq!(bounded.total, ranges.total + added);
                    let mut told = Vec::new();
                    let expected: Vec<u64> = (a..b).filter(|&i| !bits[i as usize]).collect();
                    prop_assert_eq!(ranges.clone().insert(a..b), within(&bits));
                    ranges.insert_with(a..b, |part| told.extend(part));
                    prop_assert_eq!(told, expected);
                    (a..b).for_each(|i| bits[i as usize] = true);
                }
                1 => {
                    let mut told = Vec::new();
                    ranges.remove_below_with(a, |part| told.extend(part));
                    prop_assert_eq!(told, (0..a).filter(|&i| bits[i as usize]).collect::<Vec<_>>());
                    (0..a).for_each(|i| bits[i as usize] = false);
                }
                2 => {
                    ranges.remove(a..b);
                    (a..b).for_each(|i| bits[i as usize] = false);
                }
                _ => {
                    let first = bits.iter().position(|&bit| bit).filter(|_| b > 0);
                    let taken = ranges.take_first(b);
                    prop_assert_eq!(taken.as_ref().map(|r| r.start as usize), first);
                    taken.into_iter().flatten().for_each(|i| bits[i as usize] = false);
                }
            }
            let gaps: u64 = ranges.gaps(60, 100).iter().map(|gap| gap.end - gap.start).sum();
            prop_assert_eq!(gaps, bits.iter().filter(|&&bit| !bit).count() as u64);
            prop_assert!(ranges.gaps(60, 100).into_iter().flatten().all(|i| !bits[i as usize]));
            prop_assert!(ranges.iter().flatten().all(|i| bits[i as usize]));
            let runs = (0..60).filter(|&i| bits[i] && (i == 0 || !bits[i - 1])).count();
            prop_assert_eq!(ranges.count(), runs);
            prop_assert_eq!(ranges.total, bits.iter().filter(|&&bit| bit).count() as u64);
        }
    }
}
