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
mod tests {
    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\n\
        eth0\t0000000A\t00000000\t0001\n\
        eth0\t00000000\tFE00000A\t0003\n";
    const NEIGHBOURS: &str =
        "IP address       HW type     Flags       HW address            Mask     Device\n\
        10.0.0.7         0x1         0x2         02:00:00:00:00:07     *        eth0\n\
        10.0.0.254       0x1         0x2         02:00:00:00:00:fe     *        eth0\n\
        10.0.0.9         0x1         0x0         00:00:00:00:00:00     *        eth0\n";

    #[test]
    fn the_gateway_is_known_by_its_hardware_address() {
        assert_eq!(gateway(ROUTES).as_deref(), Some("10.0.0.254"));
        assert_eq!(hardware(NEIGHBOURS, "10.0.0.254"), Some(RouterId(0x0200_0000_00fe)));
        for (address, what) in [("10.0.0.9", "not known"), ("10.0.0.8", "not there")] {
            assert_eq!(hardware(NEIGHBOURS, address), None, "{what}");
        }
        assert_eq!(gateway("Iface\tDestination\tGateway\neth0\t0000000A\t00000000\n"), None);
        assert_eq!(gateway("rubbish"), None);
    }
}
