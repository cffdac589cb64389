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
