use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use groupflow_tree::agent::known::KnownAddresses;

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
