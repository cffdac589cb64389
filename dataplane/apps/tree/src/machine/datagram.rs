//! An edge's datagrams: tag (u64), number (u64), and a body that may be sealed. Of bare ones it is offset (u64), 1 to
//! [`MAX_PAYLOAD`] bytes of the stream: nothing is acknowledged, and nothing is sent again. Or it is a packet of the group
//! transport, which does both.

/// Bytes of the stream in one datagram. With IPv6's header, UDP's and a seal it is below 1,280 bytes, so it is never cut on the
/// way (RFC 8200, 5).
pub const MAX_PAYLOAD: usize = 1184;
/// Bytes before the body.
pub const HEADER: usize = 16;
/// Bytes of the body before the stream's.
pub const PLACE: usize = 8;
/// Numbers below the highest that are still taken.
pub const WINDOW: u64 = 1024;

/// The most bytes of a body: what does not go bare, goes in packets of the group transport.
pub const MAX_BODY: usize = PLACE + MAX_PAYLOAD;

/// What goes in datagrams from parent to child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// DATA, each for itself, as [`parse_body`] says; all else goes over the connection.
    Data,
    /// All that the parent says, as a stream over the group transport ([`groupflow_transport::pipe`]), whose packets go both ways.
    Stream,
}

/// Where a child takes an edge's datagrams, as it tells its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Door {
    /// What they carry.
    pub carries: Carries,
    /// UDP port, at the address that the child's connection comes from.
    pub port: u16,
    /// What they begin with: made up for this edge, so that who does not see them cannot make one.
    pub tag: u64,
}

/// What a datagram begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The edge's.
    pub tag: u64,
    /// Goes up with each datagram of the edge.
    pub number: u64,
}

impl Header {
    /// As it is sent.
    pub fn encode(&self) -> [u8; HEADER] {
        (u128::from(self.tag) << 64 | u128::from(self.number)).to_be_bytes()
    }

    /// The header and what follows; `None`: it is too short.
    pub fn split(datagram: &[u8]) -> Option<(Header, &[u8])> {
        let head = <[u8; HEADER]>::try_from(datagram.get(..HEADER)?).ok()?;
        let both = u128::from_be_bytes(head);
        // The upper and the lower half.
        let header = Header { tag: (both >> 64) as u64, number: both as u64 };
        Some((header, &datagram[HEADER..]))
    }
}

/// Where the bytes of a body belong, and they; `None`: it makes no sense.
pub fn parse_body(body: &[u8]) -> Option<(u64, &[u8])> {
    let place = <[u8; PLACE]>::try_from(body.get(..PLACE)?).ok()?;
    let (offset, bytes) = (u64::from_be_bytes(place), &body[PLACE..]);
    let fits = (1..=MAX_PAYLOAD).contains(&bytes.len()) && offset.checked_add(bytes.len() as u64).is_some();
    fits.then_some((offset, bytes))
}

/// Which numbers came: each is taken once, and none that is too old to know (RFC 6479's bitmap).
#[derive(Debug, Clone)]
pub struct Window {
    /// The highest, and one.
    top: u64,
    seen: [u64; (WINDOW / 64) as usize],
}

impl Default for Window {
    fn default() -> Window {
        Window { top: 0, seen: [0; (WINDOW / 64) as usize] }
    }
}

impl Window {
    /// Whether it did not come before, as far as is known.
    pub fn is_new(&self, number: u64) -> bool {
        if number >= self.top {
            return number < u64::MAX;
        }
        self.top - number <= WINDOW && self.seen[word(number)] & bit(number) == 0
    }

    /// It came, and was what it said.
    pub fn take(&mut self, number: u64) {
        if !self.is_new(number) {
            return;
        }
        if number >= self.top {
            for other in self.top.max(number.saturating_sub(WINDOW - 1))..number {
                self.seen[word(other)] &= !bit(other);
            }
            self.top = number + 1;
        }
        self.seen[word(number)] |= bit(number);
    }
}

fn word(number: u64) -> usize {
    (number % WINDOW / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Beside a set that forgets nothing.
        #[test]
        fn each_number_is_taken_once(steps in proptest::collection::vec((0..4_u8, 0..1100_u64), 1..400)) {
            let (mut window, mut taken, mut at) = (Window::default(), BTreeSet::new(), 0_u64);
            for (kind, by) in steps {
                at = match kind { 0 => at.saturating_sub(by), 1 => at + by % 5, 2 => at + 1, _ => at + by };
                let highest: Option<u64> = taken.last().copied();
                let old = highest.is_some_and(|highest| highest >= at && highest - at >= WINDOW);
                prop_assert_eq!(window.is_new(at), !old && !taken.contains(&at), "{}", at);
                if window.is_new(at) {
                    taken.insert(at);
                }
                window.take(at);
            }
        }

        #[test]
        fn headers_and_bodies_come_as_they_were_sent(
            tag in any::<u64>(), number in any::<u64>(), offset in 0..u64::MAX / 2,
            bytes in proptest::collection::vec(any::<u8>(), 1..=MAX_PAYLOAD),
        ) {
            let header = Header { tag, number };
            let datagram = [&header.encode()[..], &offset.to_be_bytes()[..], &bytes[..]].concat();
            let (got, body) = Header::split(&datagram).expect("long enough");
            prop_assert_eq!(got, header);
            prop_assert_eq!(parse_body(body), Some((offset, &bytes[..])));
        }

        #[test]
        fn whatever_comes_is_a_datagram_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..1300)) {
            if let Some((offset, bytes)) = Header::split(&bytes).and_then(|(_, body)| parse_body(body)) {
                prop_assert!(!bytes.is_empty() && bytes.len() <= MAX_PAYLOAD && offset <= u64::MAX - bytes.len() as u64);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_none() {
        assert_eq!(Header::split(&[0; HEADER - 1]), None);
        for body in [vec![0; 7], vec![0; 8], vec![0; PLACE + MAX_PAYLOAD + 1], vec![255; 9]] {
            assert_eq!(parse_body(&body), None, "{} bytes", body.len());
        }
    }
}
