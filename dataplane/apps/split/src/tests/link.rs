use super::*;
use crate::cache::BlockPool;
use crate::config::LateStart;
use crate::keep::Keeper;
use crate::resources::Limits;
use groupflow_host::poller::Poller;
use nix::sys::socket::{socketpair, AddressFamily, SockFlag, SockType};
use std::fs::File;
use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn resources(keeper: Keeper) -> Resources {
    let second = Duration::from_secs(1);
    Resources {
        poller: Poller::new().expect("an epoll"),
        pool: BlockPool::new(0),
        limits: Limits { address: Ipv4Addr::LOCALHOST, silence: second, connect: second, resume: second },
        keeper: Some(keeper),
        scratch: Box::default(),
        now: Instant::now(),
        events: Vec::new(),
    }
}

#[test]
fn the_keeper_lets_go_of_what_cannot_be_taken_over() {
    let (ours, theirs) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::empty()).expect("a pair");
    let mut resources = resources(Keeper::at(ours.into()));
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9000);
    let (kind, join) = (BranchKind::Member(1), LateStart::Now);
    let spec = BranchSpec { kind, name: "m1".to_owned(), address, join, links: Vec::new() };
    let mut link = BranchLink::new(spec, 0, BranchId(0), 0, resources.now);
    // TCP_INFO is not known for this socket.
    let (socket, _peer) = UnixStream::pair().expect("a pair");
    let socket = TcpStream::from(OwnedFd::from(socket));
    let orphan = Orphan { key: 77, stream: StreamId(1), address, start: 0, socket };
    assert!(link.adopt(&mut resources, StreamId(1), orphan).is_err());
    drop(resources);
    let mut told = [0; 64];
    let count = File::from(theirs).read(&mut told).expect("the keeper is told");
    assert_eq!(&told[..count], br#"{"key":77}"#);
}
