//! The keeper: a small process that holds copies of connections while the agent restarts.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use groupflow_host::private;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{recvmsg, sendmsg, ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr};
use serde_json::{json, Value};
use socket2::{Domain, SockAddr, Socket, Type};

/// Bytes of the longest note.
const NOTE: usize = 4096;
/// Time within which a keeper must answer.
const ANSWER: Duration = Duration::from_secs(5);

/// A kept connection: its key, its note and its descriptor.
pub type Kept = (u64, Value, OwnedFd);

/// The agent's connection to its keeper.
#[derive(Debug)]
pub struct Keeper {
    socket: Socket,
}

impl Keeper {
    /// Finds the keeper at `path` or starts one, which waits `patience` for the next agent. Also returns the
    /// kept connections.
    pub fn open(path: &Path, patience: Duration) -> io::Result<(Keeper, Vec<Kept>)> {
        if let Ok(socket) = dial(path) {
            match Keeper::join(socket) {
                // The old keeper had nothing to keep, and was about to end.
                Err(error) if is_gone(&error) => {}
                joined => return joined,
            }
        }
        // The keeper inherits a socket that already listens, so that the caller need not wait until the
        // keeper runs.
        let listener = listen_at(path)?;
        Command::new(std::env::current_exe()?)
            .arg("keep")
            .arg("--path")
            .arg(path)
            .args(["--patience", &patience.as_secs().to_string()])
            // The keeper gets its own process group, so that a signal to the agent's group does not end it.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Keeper::join(dial(path)?)
    }

    /// The keeper at the other end of a socket.
    #[cfg(test)]
    pub(super) fn at(socket: Socket) -> Keeper {
        Keeper { socket }
    }

    /// Joins a keeper. A keeper that serves another agent does not answer, which is an error.
    fn join(socket: Socket) -> io::Result<(Keeper, Vec<Kept>)> {
        socket.set_read_timeout(Some(ANSWER))?;
        let mut kept = Vec::new();
        loop {
            match receive(socket.as_fd())? {
                Some((note, Some(fd))) => {
                    let key = note["key"].as_u64().ok_or(io::ErrorKind::InvalidData)?;
                    kept.push((key, note["note"].clone(), fd));
                }
                Some(_) => return Ok((Keeper { socket }, kept)),
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Gives the keeper a copy of a connection. An error means that the keeper is gone, and nothing is kept.
    pub fn keep(&self, key: u64, note: &Value, connection: impl AsFd) -> io::Result<()> {
        send(self.socket.as_fd(), &json!({"key": key, "note": note}), Some(connection.as_fd()))
    }

    /// Tells the keeper to close its copy.
    pub fn drop_kept(&self, key: u64) -> io::Result<()> {
        send(self.socket.as_fd(), &json!({"key": key}), None)
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

fn listen_at(path: &Path) -> io::Result<Socket> {
    // No process answers at this path.
    let _ = std::fs::remove_file(path);
    private::listen(path, Type::SEQPACKET, 4)
}

fn dial(path: &Path) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
    socket.connect(&SockAddr::unix(path)?)?;
    match private::is_ours(&socket) {
        true => Ok(socket),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn send(socket: BorrowedFd<'_>, note: &Value, fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let bytes = note.to_string();
    let raw = fd.map(|fd| [fd.as_raw_fd()]);
    let rights: Vec<ControlMessage<'_>> = raw.iter().map(|fds| ControlMessage::ScmRights(fds)).collect();
    let parts = [IoSlice::new(bytes.as_bytes())];
    sendmsg::<UnixAddr>(socket.as_raw_fd(), &parts, &rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// Receives the next message; `None`: the other side is gone.
fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(Value, Option<OwnedFd>)>> {
    let mut bytes = vec![0; NOTE];
    let mut space = cmsg_space!(std::os::fd::RawFd);
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<UnixAddr>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut fd = None;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = control {
            for raw in fds {
                // SAFETY: the kernel has just made this descriptor for this process, and nothing else owns
                // it.
                fd = Some(unsafe { OwnedFd::from_raw_fd(raw) });
            }
        }
    }
    let length = message.bytes;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&bytes[..length])?, fd)))
}

/// Runs the keeper itself, on a socket that listens at `path`, until no agent comes for `patience`.
pub fn run(listener: &Socket, path: &Path, patience: Duration) -> io::Result<()> {
    let mut kept: BTreeMap<u64, (Value, OwnedFd)> = BTreeMap::new();
    while let Some(agent) = next_agent(listener, patience)? {
        // When an agent goes away, its connections stay for the next agent.
        let _ = serve(agent.as_fd(), &mut kept);
        if kept.is_empty() {
            break;
        }
    }
    let _ = std::fs::remove_file(path);
    Ok(())
}

fn next_agent(listener: &Socket, patience: Duration) -> io::Result<Option<Socket>> {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => match listener.accept()? {
                (agent, _) if private::is_ours(&agent) => return Ok(Some(agent)),
                _ => {}
            },
            Err(error) => return Err(error.into()),
        }
        if left.is_zero() {
            return Ok(None);
        }
    }
}

fn serve(agent: BorrowedFd<'_>, kept: &mut BTreeMap<u64, (Value, OwnedFd)>) -> io::Result<()> {
    for (key, (note, fd)) in &*kept {
        send(agent, &json!({"key": key, "note": note}), Some(fd.as_fd()))?;
    }
    send(agent, &json!({"end": true}), None)?;
    while let Some((note, fd)) = receive(agent)? {
        let key = note["key"].as_u64().ok_or(io::ErrorKind::InvalidData)?;
        match fd {
            Some(fd) => drop(kept.insert(key, (note["note"].clone(), fd))),
            None => drop(kept.remove(&key)),
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/keep.rs"]
mod tests;
