//! The hash algorithms of v1model, with BMv2's parameters.

use crc::{Crc, CRC_16_ARC, CRC_16_IBM_3740, CRC_32_ISO_HDLC};
use groupflow_base::codec::internet_checksum;

static CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
static CRC_CCITT: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);
static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// An algorithm over a string of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// CRC-16/ARC: polynomial 0x8005 reflected, initial value 0.
    Crc16,
    /// CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xffff.
    CrcCcitt,
    /// CRC-32 of IEEE 802.3.
    Crc32,
    /// The Internet checksum (RFC 1071).
    Csum16,
    /// Exclusive or of 16-bit words.
    Xor16,
    /// The first eight bytes.
    Identity,
}

impl Algorithm {
    /// The algorithm of p4c's name.
    pub fn named(name: &str) -> Option<Algorithm> {
        match name {
            // Custom polynomials are set at run time in BMv2; until then they are these.
            "crc16" | "crc16_custom" => Some(Algorithm::Crc16),
            "crc32" | "crc32_custom" => Some(Algorithm::Crc32),
            "crcCCITT" => Some(Algorithm::CrcCcitt),
            "csum16" | "cksum16" => Some(Algorithm::Csum16),
            "xor16" => Some(Algorithm::Xor16),
            "identity" => Some(Algorithm::Identity),
            _ => None,
        }
    }

    pub fn apply(self, bytes: &[u8]) -> u64 {
        match self {
            Algorithm::Crc16 => u64::from(CRC16.checksum(bytes)),
            Algorithm::CrcCcitt => u64::from(CRC_CCITT.checksum(bytes)),
            Algorithm::Crc32 => u64::from(CRC32.checksum(bytes)),
            Algorithm::Csum16 => u64::from(internet_checksum(bytes)),
            Algorithm::Xor16 => u64::from(words(bytes).fold(0, |sum, word| sum ^ word)),
            Algorithm::Identity => bytes.iter().take(8).fold(0, |value, &byte| value << 8 | u64::from(byte)),
        }
    }
}

/// Big-endian words; an odd last byte is followed by zero.
fn words(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

#[cfg(test)]
#[path = "tests/hash.rs"]
mod tests;
