//! Frames of diffusion-type flow control (`feedback_t` in p4src/stages/headers.p4), as hosts read them.

pub const ETHERTYPE: u16 = 0x88B5;
/// The group address to which feedback is sent; no bridge passes it on.
pub const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E];
/// The fields in use, behind the Ethernet header.
const FIELDS: std::ops::Range<usize> = 14..26;
const FLAG_EXTERNAL: u16 = 0x0001;
const FLAG_PROBE: u16 = 0x0002;
/// Units in a packet/s: rates are Q26.6 packets/s.
const UNITS: u64 = 64;

/// A node's report about a flow to its upstream neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    pub flow: u16,
    /// The rate is eq. 9's: for a host that shapes.
    pub external: bool,
    /// The rate in Q26.6 packets/s; below 0 it means 0.
    pub rate: i32,
}

impl Feedback {
    /// Reads a frame. `None`: it is no feedback, or is too short.
    pub fn read(frame: &[u8]) -> Option<Feedback> {
        if frame.get(12..14)? != ETHERTYPE.to_be_bytes() {
            return None;
        }
        // The last 4 bytes tell the packets that wait, which no host uses.
        let fields = frame.get(FIELDS)?;
        let half = |at: usize| u16::from_be_bytes([fields[at], fields[at + 1]]);
        let flags = half(2);
        if flags & FLAG_PROBE != 0 {
            return None; // it measures a link, and tells nothing
        }
        let rate = i32::from_be_bytes([fields[4], fields[5], fields[6], fields[7]]);
        Some(Feedback { flow: half(0), external: flags & FLAG_EXTERNAL != 0, rate })
    }

    /// The rate in bytes a second, for packets of `packet` bytes.
    pub fn bytes_per_second(&self, packet: u32) -> u64 {
        u64::from(self.rate.max(0).unsigned_abs()) * u64::from(packet) / UNITS
    }
}
