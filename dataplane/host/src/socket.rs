//! The agent's UDP socket: its address, and the options that group packets need.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::{mem, ptr};

use groupflow_base::{Dest, Transmit};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use nix::sys::socket::{recvmmsg, setsockopt, MsgFlags, MultiHeaders, SockaddrIn, SockaddrLike};
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::AgentError;
use crate::sockopt;
use crate::tcp::is_later;

/// Bytes of the receive buffer, for datagrams that arrive while the process is not running.
const RECEIVE_BUFFER: usize = 8 << 20;
const SEND_BUFFER: usize = 2 << 20;
/// The most routers that a group packet may cross.
const TTL: u32 = 64;
/// The most datagrams that may wait for the kernel; further ones are lost, as on a link.
const BACKLOG: usize = 4 * BATCH;

/// The addresses and options of an agent's socket.
#[derive(Debug, Clone)]
pub struct SocketConfig {
    pub interface: Option<String>,
    /// This host's address; `None`: the interface's.
    pub address: Option<Ipv4Addr>,
    pub port: u16,
    /// Whether another port is taken if that one is in use.
    pub any_port: bool,
    /// A destination for group packets instead of the group's address.
    pub via: Option<SocketAddrV4>,
    /// Plain multicast without a session: nothing rewrites packets, and this host receives its own ones, too.
    pub multicast: Option<Multicast>,
}

/// The options of multicast without sessions.
#[derive(Debug, Clone, Copy)]
pub struct Multicast {
    /// The group to receive, at any address of this host.
    pub listen: Option<Ipv4Addr>,
}

/// A UDP socket that sends and receives in batches.
pub struct GroupSocket {
    socket: Socket,
    pub address: SocketAddrV4,
    via: Option<SocketAddrV4>,
    inbox: Inbox,
    backlog: Vec<OutgoingDatagram>,
}

impl GroupSocket {
    /// Opens the socket, binds it and sets its options.
    pub fn open(config: &SocketConfig) -> Result<GroupSocket, AgentError> {
        let ip = own_address(config)?;
        let socket = Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), Some(Protocol::UDP))
            .map_err(|e| network("no UDP socket", &e))?;
        if let Some(name) = &config.interface {
            socket.bind_device(Some(name.as_bytes())).map_err(|e| {
                let cure = "run as root, or name no interface";
                AgentError::new("network", format!("cannot bind to interface {name}: {e}"), cure)
            })?;
        }
        let listen = config.multicast.and_then(|multicast| multicast.listen);
        if listen.is_some() {
            socket.set_reuse_address(true).map_err(|e| network("cannot share the UDP port", &e))?;
        }
        bind(&socket, listen.map_or(ip, |_| Ipv4Addr::UNSPECIFIED), config)?;
        let set = |what: &str, result: io::Result<()>| {
            result.map_err(|e| network(&format!("cannot set {what}"), &e))
        };
        set("the multicast interface", socket.set_multicast_if_v4(&ip))?;
        set("the multicast TTL", socket.set_multicast_ttl_v4(TTL))?;
        set("multicast loop", socket.set_multicast_loop_v4(config.multicast.is_some()))?;
        if let Some(group) = listen {
            set("which groups are heard", socket.set_multicast_all_v4(false))?;
            set("the multicast group", socket.join_multicast_v4(&group, &ip))?;
        }
        enlarge_buffers(&socket);
        if config.multicast.is_none() {
            leave_out_checksums(&socket);
        }
        let address = match socket.local_addr().map(|a| a.as_socket_ipv4()) {
            Ok(Some(address)) => address,
            _ => SocketAddrV4::new(ip, config.port),
        };
        let backlog = Vec::with_capacity(BATCH);
        Ok(GroupSocket { socket, address, via: config.via, inbox: Inbox::default(), backlog })
    }

    /// Hands arrived datagrams to `take`, at most one batch; returns their number.
    pub fn receive(&mut self, take: impl FnMut(SocketAddrV4, &[u8])) -> Result<usize, AgentError> {
        match self.inbox.receive(self.socket.as_fd(), take) {
            Ok(count) => Ok(count),
            Err(e) if is_transient(&e) => Ok(0),
            Err(e) => Err(network("receiving failed", &e)),
        }
    }

    /// Queues a packet; [`GroupSocket::flush`] sends it.
    pub fn queue(&mut self, transmit: Transmit) {
        if self.backlog.len() >= BACKLOG {
            return;
        }
        let to = match (transmit.dest, self.via) {
            (Dest::Group(_), Some(via)) => via,
            (dest, _) => dest.address(),
        };
        self.backlog.push(OutgoingDatagram { to, bytes: transmit.bytes });
    }

    /// Whether a whole batch waits to be sent.
    pub fn batch_full(&self) -> bool {
        self.backlog.len() >= BATCH
    }

    /// Whether datagrams wait because the kernel took no more.
    pub fn congested(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Sends the queued datagrams, as far as the kernel takes them.
    pub fn flush(&mut self) -> Result<(), AgentError> {
        let mut sent = 0;
        while sent < self.backlog.len() {
            match send(self.socket.as_fd(), &self.backlog[sent..]) {
                Ok(count) => sent += count.max(1),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The network may come back: a packet that cannot be sent counts as lost.
                Err(e) if is_transient(&e) => sent += 1,
                Err(e) => return Err(network("sending failed", &e)),
            }
        }
        self.backlog.drain(..sent);
        Ok(())
    }
}

impl AsFd for GroupSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn bind(socket: &Socket, ip: Ipv4Addr, config: &SocketConfig) -> Result<(), AgentError> {
    let try_bind = |port| socket.bind(&SocketAddrV4::new(ip, port).into());
    let bound = try_bind(config.port).or_else(|e| match e.kind() {
        io::ErrorKind::AddrInUse if config.any_port => try_bind(0),
        _ => Err(e),
    });
    let Err(error) = bound else { return Ok(()) };
    let port = config.port;
    Err(match error.kind() {
        io::ErrorKind::AddrInUse => {
            let cause = format!("UDP port {port} of {ip} is in use");
            AgentError::new("network", cause, "stop the other agent, or choose another port")
        }
        io::ErrorKind::AddrNotAvailable => {
            let cause = format!("{ip} is no address of this host");
            AgentError::new("network", cause, "name an address of this host")
        }
        _ => network(&format!("cannot bind to {ip}:{port}"), &error),
    })
}

/// Enlarges the buffers. Without root the kernel's limits hold, and the size that it grants must do.
fn enlarge_buffers(socket: &Socket) {
    if setsockopt(socket, RcvBufForce, &RECEIVE_BUFFER).is_err() {
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    }
    if setsockopt(socket, SndBufForce, &SEND_BUFFER).is_err() {
        let _ = socket.set_send_buffer_size(SEND_BUFFER);
    }
}

/// Leaves out UDP checksums, as RFC 768 permits: the network does the same when it rewrites copies, and a
/// checksum that the kernel leaves to the network card would be wrong behind a software switch, which never
/// sees such a card.
fn leave_out_checksums(socket: &Socket) {
    // If the kernel refuses, checksums stay on.
    let _ = sockopt::set_option(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK, &1);
}

/// The given address, or that of the interface, or that of the first interface other than loopback.
fn own_address(config: &SocketConfig) -> Result<Ipv4Addr, AgentError> {
    if let Some(address) = config.address {
        return Ok(address);
    }
    let all = getifaddrs().map_err(|e| network("cannot list the interfaces", &e.into()))?;
    let usable = |name: &str, flags: InterfaceFlags| match &config.interface {
        Some(wanted) => name == wanted,
        None => flags.contains(InterfaceFlags::IFF_UP) && !flags.contains(InterfaceFlags::IFF_LOOPBACK),
    };
    let found = all
        .filter(|i| usable(&i.interface_name, i.flags))
        .find_map(|i| i.address.and_then(|a| a.as_sockaddr_in().map(|a| a.ip())));
    found.ok_or_else(|| {
        let cause = match &config.interface {
            Some(name) => format!("no interface {name} with an IPv4 address"),
            None => "no interface with an IPv4 address is up".to_owned(),
        };
        AgentError::new("network", cause, "name an interface that has one")
    })
}

/// Whether an error is transient, such as a link that is down or a host that does not answer.
fn is_transient(error: &io::Error) -> bool {
    let raw = error.raw_os_error().unwrap_or(0);
    let unreachable =
        [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::ENETDOWN, libc::EHOSTDOWN, libc::ECONNREFUSED];
    is_later(error) || unreachable.contains(&raw) || [libc::ENOBUFS, libc::EPERM, libc::ENOMEM].contains(&raw)
}

fn network(what: &str, error: &io::Error) -> AgentError {
    AgentError::new("network", format!("{what}: {error}"), "check the host's network")
}

/// The most datagrams moved by one call.
pub const BATCH: usize = 64;
/// Bytes of a receive buffer, more than any group packet has: a longer datagram is cut, and then refused by
/// the parser.
const SLOT: usize = 2048;

pub struct Inbox {
    buffers: Vec<u8>,
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox { buffers: vec![0; BATCH * SLOT] }
    }
}

impl Inbox {
    /// Hands waiting datagrams to `take`, without blocking; returns their number, at most [`BATCH`].
    pub fn receive(
        &mut self, socket: BorrowedFd<'_>, mut take: impl FnMut(SocketAddrV4, &[u8]),
    ) -> io::Result<usize> {
        let mut slots: Vec<[IoSliceMut<'_>; 1]> =
            self.buffers.chunks_exact_mut(SLOT).map(|slot| [IoSliceMut::new(slot)]).collect();
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
        let received =
            recvmmsg(socket.as_raw_fd(), &mut headers, slots.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
        let mut count = 0;
        for datagram in received {
            if let Some(from) = datagram.address {
                take(from.into(), datagram.iovs().next().unwrap_or_default());
            }
            count += 1;
        }
        Ok(count)
    }
}

pub struct OutgoingDatagram {
    pub to: SocketAddrV4,
    pub bytes: Vec<u8>,
}

/// Sends the first [`BATCH`] datagrams, without waiting; returns how many were taken. (nix's sendmmsg gives
/// the count only by way of addresses that it never wrote.)
pub fn send(socket: BorrowedFd<'_>, datagrams: &[OutgoingDatagram]) -> io::Result<usize> {
    let datagrams = &datagrams[..datagrams.len().min(BATCH)];
    let mut addresses: Vec<SockaddrIn> = datagrams.iter().map(|datagram| datagram.to.into()).collect();
    let mut payloads: Vec<IoSlice<'_>> =
        datagrams.iter().map(|datagram| IoSlice::new(&datagram.bytes)).collect();
    let mut messages: Vec<libc::mmsghdr> = addresses
        .iter_mut()
        .zip(&mut payloads)
        .map(|(address, payload)| {
            // SAFETY: mmsghdr is plain data for which all zeros is a valid value.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_name = ptr::addr_of_mut!(*address).cast();
            message.msg_hdr.msg_namelen = address.len();
            // An IoSlice has the layout of an iovec; the kernel only reads through it.
            message.msg_hdr.msg_iov = ptr::addr_of_mut!(*payload).cast();
            message.msg_hdr.msg_iovlen = 1;
            message
        })
        .collect();
    let (fd, count) = (socket.as_raw_fd(), messages.len() as libc::c_uint);
    // SAFETY: there are `count` messages; each points to an address and a payload of vectors that outlive the
    // call.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
