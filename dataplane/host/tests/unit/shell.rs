use std::net::{Ipv4Addr, UdpSocket};

use groupflow_base::{Datagram, Machine, Nanos, Transmit};
use groupflow_host::shell::Shell;
use groupflow_host::socket::{GroupSocket, SocketConfig};

/// Datagrams that arrive while the process stands still: a window of requests.
const WAITING: usize = 1024;

/// Notes what it has heard when it may first send.
#[derive(Default)]
struct Listener {
    heard: usize,
    heard_first: Option<usize>,
}

impl Machine for Listener {
    type Error = ();

    fn handle(&mut self, _now: Nanos, _datagram: Datagram<'_>) -> Result<(), ()> {
        self.heard += 1;
        Ok(())
    }

    fn poll_transmit(&mut self, _now: Nanos) -> Option<Transmit> {
        self.heard_first.get_or_insert(self.heard);
        None
    }

    fn next_deadline(&self) -> Option<Nanos> {
        None
    }
}

#[test]
fn a_machine_hears_all_that_waits_before_it_sends() {
    let config = SocketConfig {
        interface: None,
        address: Some(Ipv4Addr::LOCALHOST),
        port: 0,
        any_port: true,
        via: None,
        multicast: None,
    };
    let mut shell = Shell::new(GroupSocket::open(&config).expect("a socket")).expect("a shell");
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a sender");
    for _ in 0..WAITING {
        sender.send_to(&[0; 8], shell.socket.address).expect("loopback takes it");
    }
    let mut machine = Listener::default();
    shell.exchange(&mut machine).expect("an exchange");
    assert_eq!(machine.heard_first, Some(WAITING));
}
