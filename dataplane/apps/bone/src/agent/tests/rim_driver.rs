use super::*;
use crate::agent::store::Store;
use crate::machine::message::{Body, Method, Repair};
use crate::machine::{RimId, TransferId};
use groupflow_host::process::Wake;

const HUB: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 7);

fn parameters(name: &FileName) -> Parameters {
    Parameters {
        method: Method::Scheduled,
        repair: Repair::Selective,
        size: 1000,
        mode: 0o644,
        packet: 500,
        per_round: 2,
        interval_us: 1000,
        grace_ms: 100,
        window_ms: 0,
        join_ms: 1000,
        result_ms: 1000,
        silence_s: 5,
        digest: [0; 32],
        name: name.clone(),
    }
}

/// A client that waits has an answer, however the hub ends.
#[test]
fn a_file_whose_hub_falls_silent_fails_for_the_clients_that_wait_for_it() {
    let folder = std::env::temp_dir().join(format!("gfagent-silent-{}", std::process::id()));
    let (store, _) = Store::open(&folder, 1 << 20).expect("a store");
    let shelf = Arc::new(Shelf::new(store, Wake::new().expect("a descriptor")));
    let config = RimConfig { id: RimId(1), max_size: 1 << 20, seed: 1, forgets: false };
    let mut driver = RimDriver::new(config, Carrier::default(), Arc::clone(&shelf), None);
    let name = FileName::parse("film").expect("a name");
    let progress = shelf.follow(&name).expect("room");
    let bytes = Message { transfer: TransferId(1), body: Body::Control(parameters(&name)) }.encode();
    driver.handle(Nanos::ZERO, Datagram { from: HUB, bytes: &bytes }).expect("it makes sense");
    assert!(matches!(&*progress.borrow(), Progress::Arriving(_)));
    let silence = Nanos::from_secs(5);
    while driver.poll_transmit(Nanos(silence.0 - 1)).is_some() {}
    assert!(matches!(&*progress.borrow(), Progress::Arriving(_)), "it may still come");
    assert!(driver.next_deadline() <= Some(silence));
    while driver.poll_transmit(silence).is_some() {}
    assert!(matches!(&*progress.borrow(), Progress::Failed(StatusCode::GATEWAY_TIMEOUT, _)));
    assert!(driver.arriving().is_none());
    std::fs::remove_dir_all(folder).expect("removed");
}
