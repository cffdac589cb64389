//! The hash algorithms of v1model, with BMv2's parameters.

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
            Algorithm::Crc16 => u64::from(crc16(bytes)),
            Algorithm::CrcCcitt => u64::from(crc_ccitt(bytes)),
            Algorithm::Crc32 => u64::from(crc32(bytes)),
            Algorithm::Csum16 => u64::from(csum16(bytes)),
            Algorithm::Xor16 => u64::from(words(bytes).fold(0, |sum, word| sum ^ word)),
            Algorithm::Identity => bytes.iter().take(8).fold(0, |value, &byte| value << 8 | u64::from(byte)),
        }
    }
}

/// Big-endian words; an odd last byte is followed by zero.
fn words(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

fn csum16(bytes: &[u8]) -> u16 {
    let mut sum: u64 = words(bytes).map(u64::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| if crc & 1 != 0 { crc >> 1 ^ 0xa001 } else { crc >> 1 })
    })
}

fn crc_ccitt(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xffff, |crc, &byte| {
        (0..8).fold(
            crc ^ u16::from(byte) << 8,
            |crc, _| {
                if crc & 0x8000 != 0 {
                    crc << 1 ^ 0x1021
                } else {
                    crc << 1
                }
            },
        )
    })
}

const CRC32_TABLE: [u32; 256] = crc32_table();

const fn crc32_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes
        .iter()
        .fold(u32::MAX, |crc, &byte| crc >> 8 ^ CRC32_TABLE[((crc ^ u32::from(byte)) & 0xff) as usize])
}

#[cfg(test)]
#[path = "tests/hash.rs"]
mod tests;
