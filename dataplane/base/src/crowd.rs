//! Fairness among connections that have not said a word yet.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

/// Of silent connections, oldest first, the one that gives way to a newcomer: the oldest of the source that
/// has the most of them. So strangers who hold all places keep nobody out, and a source crowds itself first.
pub fn gives_way<K>(silent: impl Iterator<Item = (K, IpAddr)>) -> Option<K> {
    let silent: Vec<(K, IpAddr)> = silent.collect();
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for (_, from) in &silent {
        *counts.entry(*from).or_default() += 1;
    }
    silent.into_iter().min_by_key(|(_, from)| Reverse(counts[from])).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_source_with_most_gives_way() {
        let from = |list: &[u8]| {
            let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
            gives_way(list.iter().enumerate().map(|(number, &last)| (number, ip(last))))
        };
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[1, 2, 2, 3, 2]), Some(1));
        assert_eq!(from(&[1, 2, 3]), Some(0));
    }
}
