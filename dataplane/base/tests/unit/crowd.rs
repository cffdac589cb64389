use std::net::IpAddr;

use groupflow_base::gives_way;

#[test]
fn the_oldest_of_the_source_with_most_gives_way() {
    let from = |list: &[u8]| {
        let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
        gives_way(list.iter().enumerate().map(|(number, &last)| (number, ip(last))))
    };
    assert_eq!(from(&[]), None);
    assert_eq!(from(&[1, 2, 2, 3, 2]), Some(1));
    assert_eq!(from(&[1, 2, 3]), Some(0));
}
