//! The socket where reports arrive.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use groupflow_base::feedback::{Feedback, ETHERTYPE, NEAREST_BRIDGE};
use groupflow_host::error::{plain, AgentError};
use groupflow_host::sockopt::join_link_group;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{recvfrom, LinkAddr};
use socket2::{Domain, Protocol, Socket, Type};

/// More bytes than a report has.
const FRAME: usize = 128;

/// A packet socket for the reports on one interface.
#[derive(Debug)]
pub struct Reports {
    socket: Socket,
    name: String,
    interface: u32,
}

impl Reports {
    /// Opens the socket.
    ///
    /// # Errors
    /// There is no such interface, or this process is not root.
    pub fn open(name: &str) -> Result<Reports, AgentError> {
        let interface = index(name)?;
        let refused = |error: io::Error| {
            let cause = format!("no packet socket: {}", plain(&error));
            AgentError::new("network", cause, "run as root")
        };
        let protocol = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW.nonblocking(), Some(protocol)).map_err(refused)?;
        join_link_group(&socket, interface, NEAREST_BRIDGE).map_err(refused)?;
        Ok(Reports { socket, name: name.to_owned(), interface })
    }

    /// Checks that the interface is still there.
    ///
    /// # Errors
    /// Fails if the interface is gone, and with it all that was set up there.
    pub fn check(&self) -> Result<(), AgentError> {
        if index(&self.name)? == self.interface {
            Ok(())
        } else {
            Err(gone(&self.name))
        }
    }

    /// The next report that has arrived.
    ///
    /// # Errors
    /// The socket does not work any more.
    pub fn next(&self) -> Result<Option<Feedback>, AgentError> {
        let mut frame = [0; FRAME];
        loop {
            match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), &mut frame) {
                // The socket hears all interfaces.
                Ok((length, Some(from))) if from.ifindex() == self.interface as usize => {
                    if let Some(report) = Feedback::read(&frame[..length]) {
                        return Ok(Some(report));
                    }
                }
                Ok(_) | Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                Err(error) => {
                    let cause = format!("receiving failed: {}", error.desc());
                    return Err(AgentError::new("network", cause, "check the interface"));
                }
            }
        }
    }
}

fn index(name: &str) -> Result<u32, AgentError> {
    if_nametoindex(name).map_err(|_| gone(name))
}

fn gone(name: &str) -> AgentError {
    AgentError::new("network", format!("no interface {name:?}"), "see `ip link`, check --iface")
}

impl AsFd for Reports {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
