//! The router that this host is behind, named by its gateway's hardware address, as far as the kernel knows
//! it.

use std::fs;

use crate::machine::RouterId;

/// This host's router. `None`: there is no gateway, or nothing was sent over it yet.
pub fn own() -> Option<RouterId> {
    let gateway = gateway(&fs::read_to_string("/proc/net/route").ok()?)?;
    hardware(&fs::read_to_string("/proc/net/arp").ok()?, &gateway)
}

/// The default route's gateway, in dotted form. The columns are interface, destination and gateway; numbers
/// are hexadecimal, the lowest byte first.
fn gateway(routes: &str) -> Option<String> {
    let mut rows = routes.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.len() > 2 && row[1] == "00000000" && row[2] != "00000000")?;
    let number = u32::from_str_radix(row[2], 16).ok()?;
    let [a, b, c, d] = number.to_le_bytes();
    Some(format!("{a}.{b}.{c}.{d}"))
}

/// The hardware address of a neighbour. The columns are address, type, flags and hardware address.
fn hardware(neighbours: &str, address: &str) -> Option<RouterId> {
    let mut rows = neighbours.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.len() > 3 && row[0] == address)?;
    let digits: String = row[3].chars().filter(|&c| c != ':').collect();
    u64::from_str_radix(&digits, 16).ok().filter(|&number| number != 0).map(RouterId)
}

#[cfg(test)]
#[path = "tests/router.rs"]
mod tests;
