//! The addresses of a tree's dispatchers, from the command line and from the dispatchers themselves.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

/// The most addresses that are remembered from dispatchers.
const ADDRESSES: usize = 64;

/// The known addresses, of which one is in use, or is the next to try.
pub struct KnownAddresses {
    first: Vec<SocketAddrV4>,
    /// Addresses that dispatchers told, and when they last did, the latest first.
    told: Vec<(SocketAddrV4, Instant)>,
    at: Option<SocketAddrV4>,
    /// The IP address that was reached last.
    reached: Option<Ipv4Addr>,
    kept: Duration,
}

impl KnownAddresses {
    /// Begins with these addresses; an address told by dispatchers is kept for `kept` after it was last told.
    pub fn new(first: &[SocketAddrV4], kept: Duration) -> KnownAddresses {
        KnownAddresses {
            first: first.to_vec(),
            told: Vec::new(),
            at: first.first().copied(),
            reached: None,
            kept,
        }
    }

    /// Notes the addresses that dispatchers told. A process that was stopped for a while, and whose address
    /// was not told, may soon be the only one.
    pub fn know(&mut self, now: Instant, addresses: &[SocketAddrV4]) {
        let addresses: Vec<_> = addresses.iter().map(|&address| self.full(address)).collect();
        for &address in addresses.iter().take(ADDRESSES).rev() {
            self.put(now, address);
        }
        let (at, kept) = (self.at, self.kept);
        self.told.retain(|&(address, then)| Some(address) == at || now <= then + kept);
    }

    /// Chooses this address, before which no other is tried; returns it in full.
    pub fn go_to(&mut self, now: Instant, address: SocketAddrV4) -> SocketAddrV4 {
        let address = self.full(address);
        self.put(now, address);
        self.at = Some(address);
        address
    }

    fn put(&mut self, now: Instant, address: SocketAddrV4) {
        self.told.retain(|&(known, _)| known != address);
        self.told.insert(0, (address, now));
        self.told.truncate(ADDRESSES);
    }

    /// Replaces 0.0.0.0 by the address at which the dispatchers were reached.
    fn full(&self, address: SocketAddrV4) -> SocketAddrV4 {
        match self.reached {
            Some(ip) if address.ip().is_unspecified() => SocketAddrV4::new(ip, address.port()),
            _ => address,
        }
    }

    /// The address in use, or the next to try.
    pub fn at(&self) -> Option<SocketAddrV4> {
        self.at
    }

    /// The same address, to which the caller now connects.
    pub fn reach(&mut self) -> Option<SocketAddrV4> {
        self.reached = self.at.map(|at| *at.ip()).or(self.reached);
        self.at
    }

    /// All addresses in the order in which they are tried, each once.
    pub fn all(&self) -> Vec<SocketAddrV4> {
        let first = self.first.iter().copied();
        let later = self.told.iter().map(|&(address, _)| address);
        first.chain(later.filter(|address| !self.first.contains(address))).collect()
    }

    /// Goes on to the next address, after the last to the first.
    pub fn try_another(&mut self) {
        let all = self.all();
        let next = all.iter().position(|&address| Some(address) == self.at).map_or(0, |at| at + 1);
        self.at = all.get(next).or(all.first()).copied();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Duration = Duration::from_secs(60);

    fn at(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    fn ports(known: &KnownAddresses) -> Vec<u16> {
        known.all().iter().map(SocketAddrV4::port).collect()
    }

    #[test]
    fn each_address_is_tried_in_turn() {
        let (now, mut known) = (Instant::now(), KnownAddresses::new(&[at(1), at(2)], KEPT));
        known.know(now, &[at(2), at(3), at(4)]);
        let tried: Vec<_> = (0..5)
            .map(|_| {
                let port = known.reach().map(|address| address.port());
                known.try_another();
                port
            })
            .collect();
        assert_eq!(tried, [1, 2, 3, 4, 1].map(Some));
    }

    #[test]
    fn an_address_that_is_told_no_more_is_kept_for_a_while_behind_the_others() {
        let (now, mut known) = (Instant::now(), KnownAddresses::new(&[at(1)], KEPT));
        known.know(now, &[at(2), at(3)]);
        known.know(now + KEPT, &[at(4)]);
        assert_eq!(ports(&known), [1, 4, 2, 3]);
        known.know(now + KEPT + Duration::from_secs(1), &[at(4)]);
        assert_eq!(ports(&known), [1, 4]);
    }

    #[test]
    fn the_address_in_use_is_kept() {
        let (now, mut known) = (Instant::now(), KnownAddresses::new(&[at(1)], KEPT));
        known.go_to(now, at(2));
        known.know(now + 2 * KEPT, &[at(3)]);
        assert_eq!((known.at(), ports(&known)), (Some(at(2)), vec![1, 3, 2]));
    }

    #[test]
    fn an_unspecified_address_is_where_the_dispatchers_were_reached() {
        let (now, mut known) = (Instant::now(), KnownAddresses::new(&[at(1)], KEPT));
        known.reach();
        let nowhere = |port| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
        known.know(now, &[nowhere(1), nowhere(2)]);
        assert_eq!(known.all(), [at(1), at(2)]);
        assert_eq!(known.go_to(now, nowhere(3)), at(3));
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let (now, mut known) = (Instant::now(), KnownAddresses::new(&[at(1)], KEPT));
        known.know(now, &(2..1000).map(at).collect::<Vec<_>>());
        assert_eq!(ports(&known), (1..66).collect::<Vec<_>>());
    }
}
