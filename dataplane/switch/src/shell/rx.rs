//! Receives frames from interfaces: one packet socket a port, read in batches.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_void};

use super::error::ShellError;
use super::frame::{complete_checksum, insert_vlan_tag, VlanTag, VLAN_TAG};
use crate::core::MAX_FRAME;

/// Frames read per call.
pub const BATCH: usize = 64;
/// Frames that fit the arena.
pub const SLOTS: usize = 512;
/// Room for a frame, and for a VLAN tag in front that the kernel took off.
const SLOT: usize = MAX_FRAME + VLAN_TAG;
/// struct virtio_net_hdr
const VNET_HEADER: usize = 10;
/// Kernel buffer of a socket, in bytes.
const RECEIVE_BUFFER: c_int = 16 << 20;

/// A packet socket that receives what arrives at one interface.
#[derive(Debug)]
pub struct Receiver {
    socket: OwnedFd,
    index: c_int,
}

/// A frame in the arena.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// The receiver it is from, as numbered by the caller.
    pub source: usize,
    /// The wall clock's reading when the kernel got it, ns since 1970; 0 if it did not say.
    pub received_at: u64,
    start: usize,
    length: usize,
}

/// What a read amounted to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    /// Frames read, oversize ones included.
    pub frames: usize,
    /// Frames longer than [`MAX_FRAME`], which are left out.
    pub oversize: usize,
}

/// Buffers for received frames.
pub struct Arena {
    bytes: Vec<u8>,
    used: usize,
    frames: Vec<Frame>,
    headers: Vec<[u8; VNET_HEADER]>,
    controls: Vec<Control>,
    vectors: Vec<[libc::iovec; 2]>,
    messages: Vec<libc::mmsghdr>,
}

/// Ancillary data of a message: time stamp and auxiliary data. Aligned as cmsghdr wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 128]);

impl Receiver {
    /// Attaches to an interface, in promiscuous mode.
    pub fn open(name: &str) -> Result<Receiver, ShellError> {
        let failed = |what| {
            let name = name.to_string();
            move |error| ShellError::Interface { name, what, error }
        };
        let index = interface_index(name).ok_or_else(|| ShellError::NoInterface(name.into()))?;
        // Protocol 0 receives nothing: otherwise frames of all interfaces come in before bind().
        let socket = packet_socket(libc::SOCK_NONBLOCK)?;
        let enable = |level, option| set_option(&socket, level, option, &1);
        enable(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING)
            .map_err(failed("PACKET_IGNORE_OUTGOING (Linux 4.20 or newer is needed)"))?;
        enable(libc::SOL_PACKET, libc::PACKET_AUXDATA).map_err(failed("PACKET_AUXDATA"))?;
        enable(libc::SOL_PACKET, libc::PACKET_VNET_HDR).map_err(failed("PACKET_VNET_HDR"))?;
        enable(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS).map_err(failed("SO_TIMESTAMPNS"))?;
        // Without CAP_NET_ADMIN the plain form still gives what sysctl allows.
        if set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER).is_err() {
            set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER)
                .map_err(failed("SO_RCVBUF"))?;
        }
        bind(&socket, index).map_err(failed("bind"))?;
        // SAFETY: packet_mreq is plain integers, for which zero is valid.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = index;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
            .map_err(failed("promiscuous mode"))?;
        Ok(Receiver { socket, index })
    }

    /// The interface's index.
    pub fn index(&self) -> c_int {
        self.index
    }

    /// For poll.
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Frames that the kernel dropped for want of buffers since the last call.
    pub fn take_kernel_drops(&self) -> u64 {
        // SAFETY: tpacket_stats is plain integers, for which zero is valid.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let target: *mut libc::tpacket_stats = &mut stats;
        // SAFETY: target points to `length` writable bytes that outlive the call.
        let result = unsafe {
            libc::getsockopt(
                self.fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                target.cast::<c_void>(),
                &mut length,
            )
        };
        if result == 0 {
            stats.tp_drops.into()
        } else {
            0
        }
    }

    /// Reads up to [`BATCH`] frames that are there into the arena, as of `source`.
    pub fn read(&self, source: usize, arena: &mut Arena) -> io::Result<Read> {
        let wanted = BATCH.min(SLOTS - arena.used);
        if wanted == 0 {
            return Ok(Read::default());
        }
        arena.prepare(wanted);
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: prepare() made `wanted` headers whose pointers are to live buffers of the arena with the
        // lengths given, and nothing else touches these buffers during the call.
        let result = unsafe {
            libc::recvmmsg(
                self.fd(),
                arena.messages.as_mut_ptr(),
                wanted as libc::c_uint,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        match usize::try_from(result) {
            Ok(count) => Ok(arena.take(source, count)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

impl Default for Arena {
    fn default() -> Arena {
        // SAFETY: mmsghdr and iovec are integers and pointers, for which zero (null) is valid.
        let (message, vector): (libc::mmsghdr, libc::iovec) = unsafe { (zeroed(), zeroed()) };
        Arena {
            bytes: vec![0; SLOT * SLOTS],
            used: 0,
            frames: Vec::with_capacity(SLOTS),
            headers: vec![[0; VNET_HEADER]; BATCH],
            controls: vec![Control([0; 128]); BATCH],
            vectors: vec![[vector; 2]; BATCH],
            messages: vec![message; BATCH],
        }
    }
}

impl Arena {
    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.used = 0;
        self.frames.clear();
    }

    /// Whether there is room for a whole batch.
    pub fn has_room(&self) -> bool {
        SLOTS - self.used >= BATCH
    }

    /// Puts the frames into the order of their arrival.
    pub fn in_order(&mut self) {
        // Frames of one port are in order already; a stable sort merges the ports.
        self.frames.sort_by_key(|frame| frame.received_at);
    }

    /// The frames read since the last [`Arena::clear`].
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The bytes of a frame.
    pub fn bytes(&self, frame: &Frame) -> &[u8] {
        &self.bytes[frame.start..frame.start + frame.length]
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn prepare(&mut self, count: usize) {
        for n in 0..count {
            let slot = (self.used + n) * SLOT + VLAN_TAG;
            let frame = &mut self.bytes[slot..slot + MAX_FRAME];
            let header = &mut self.headers[n];
            self.vectors[n] = [
                libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: VNET_HEADER },
                libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: MAX_FRAME },
            ];
            let message = &mut self.messages[n].msg_hdr;
            message.msg_iov = self.vectors[n].as_mut_ptr();
            message.msg_iovlen = 2;
            message.msg_control = self.controls[n].0.as_mut_ptr().cast();
            message.msg_controllen = self.controls[n].0.len() as _;
        }
    }

    fn take(&mut self, source: usize, count: usize) -> Read {
        let mut oversize = 0;
        for n in 0..count {
            let start = (self.used + n) * SLOT + VLAN_TAG;
            let length = (self.messages[n].msg_len as usize).saturating_sub(VNET_HEADER);
            if length > MAX_FRAME {
                oversize += 1;
                continue;
            }
            let ancillary = ancillary(&self.messages[n].msg_hdr);
            complete_checksum(&self.headers[n], &mut self.bytes[start..start + length]);
            let mut frame = Frame { source, received_at: ancillary.received_at, start, length };
            if let Some(tag) = ancillary.vlan.filter(|_| length <= MAX_FRAME - VLAN_TAG) {
                if insert_vlan_tag(&mut self.bytes[start - VLAN_TAG..start + length], tag) {
                    frame.start -= VLAN_TAG;
                    frame.length += VLAN_TAG;
                }
            }
            self.frames.push(frame);
        }
        self.used += count;
        Read { frames: count, oversize }
    }
}

#[derive(Debug, Default)]
struct Ancillary {
    received_at: u64,
    vlan: Option<VlanTag>,
}

const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;

fn ancillary(message: &libc::msghdr) -> Ancillary {
    let mut found = Ancillary::default();
    // SAFETY: the kernel filled msg_control up to msg_controllen; the macros walk within these bounds.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: header is within the control buffer, which is aligned for cmsghdr.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        // SAFETY: as above; the data follows the header.
        let data = unsafe { libc::CMSG_DATA(header) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
            // SAFETY: messages of this type carry a timespec, not necessarily aligned.
            let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
            found.received_at = seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0);
        } else if level == libc::SOL_PACKET && kind == libc::PACKET_AUXDATA {
            // SAFETY: messages of this type carry a tpacket_auxdata, not necessarily aligned.
            let aux = unsafe { data.cast::<libc::tpacket_auxdata>().read_unaligned() };
            if aux.tp_status & TP_STATUS_VLAN_VALID != 0 {
                let has_protocol = aux.tp_status & TP_STATUS_VLAN_TPID_VALID != 0;
                let protocol = if has_protocol { aux.tp_vlan_tpid } else { 0x8100 };
                found.vlan = Some(VlanTag { protocol, control: aux.tp_vlan_tci });
            }
        }
        // SAFETY: header is a valid header of this message.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    found
}

/// A packet socket that is not bound to any protocol yet.
pub fn packet_socket(flags: c_int) -> Result<OwnedFd, ShellError> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC | flags, 0) };
    if fd >= 0 {
        // SAFETY: the descriptor is new and nobody else owns it.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Err(ShellError::NotRoot),
        _ => Err(ShellError::System { what: "packet socket", error }),
    }
}

/// Sets a socket option to a plain value.
pub fn set_option<T: Copy>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let pointer: *const T = value;
    // SAFETY: pointer is to size_of::<T>() readable bytes that outlive the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            pointer.cast::<c_void>(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn bind(socket: &OwnedFd, index: c_int) -> io::Result<()> {
    // SAFETY: sockaddr_ll is plain integers, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let pointer: *const libc::sockaddr_ll = &address;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: pointer is to `length` readable bytes that outlive the call.
    if unsafe { libc::bind(socket.as_raw_fd(), pointer.cast(), length) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn interface_index(name: &str) -> Option<c_int> {
    let name = CString::new(name).ok()?;
    // SAFETY: name is a string that ends with a zero byte and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    c_int::try_from(index).ok().filter(|index| *index > 0)
}
