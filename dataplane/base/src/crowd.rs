//! Fairness among connections that are silent so far.

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
