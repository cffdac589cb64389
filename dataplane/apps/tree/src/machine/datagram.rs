//! The body of an edge's datagrams: offset (u64), 1 to [`MAX_PAYLOAD`] bytes of the stream. No datagram is
//! acknowledged to the node, and none is sent again.

/// Bytes of the body before those of the stream.
pub const PLACE: usize = 8;
/// Bytes of the stream in one datagram. QUIC carries datagrams of 1,162 bytes over every path that it takes
/// at all (RFC 9000, 14: 1,200 bytes of UDP payload), so a host relays bytes that came over a wide path
/// over a narrow one.
pub const MAX_PAYLOAD: usize = 1154;

/// Makes a body.
pub fn body(offset: u64, bytes: &[u8]) -> Vec<u8> {
    [&offset.to_be_bytes()[..], bytes].concat()
}

/// Parses a body into the offset and the bytes; `None`: the body is malformed.
pub fn parse_body(body: &[u8]) -> Option<(u64, &[u8])> {
    let place = <[u8; PLACE]>::try_from(body.get(..PLACE)?).ok()?;
    let (offset, bytes) = (u64::from_be_bytes(place), &body[PLACE..]);
    let fits = (1..=MAX_PAYLOAD).contains(&bytes.len()) && offset.checked_add(bytes.len() as u64).is_some();
    fits.then_some((offset, bytes))
}

#[cfg(test)]
#[path = "tests/datagram.rs"]
mod tests;
