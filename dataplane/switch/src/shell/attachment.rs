//! A port's hold on its interface, also on one that is made again, as of a container that is started again.

use std::thread::{Builder, JoinHandle};

use super::error::ShellError;
use super::rx::FrameReceiver;
use super::socket::interface_index;
use super::tx::Transmitter;

/// The sockets of an interface.
pub struct Attachment {
    /// The source of frames.
    pub receiver: FrameReceiver,
    /// The destination of frames.
    pub transmitter: Transmitter,
}

impl Attachment {
    /// Attaches to an interface.
    pub fn open(interface: &str) -> Result<Attachment, ShellError> {
        let receiver = FrameReceiver::open(interface)?;
        Ok(Attachment { transmitter: Transmitter::open(receiver.index())?, receiver })
    }
}

/// Attaches again where another interface has the name: a packet socket stays with the interface that it was
/// bound to, even if that has gone. Threads open and close, since the kernel takes some 50 ms for it, in
/// which no packet would move.
#[derive(Default)]
pub struct Reopening {
    opening: Option<JoinHandle<Result<Attachment, ShellError>>>,
    /// Whether the last attempt failed.
    failed: bool,
}

impl Reopening {
    /// Looks at an interface by its name. Once another has it and is open, that takes the attachment's place.
    pub fn renew(&mut self, interface: &str, attachment: &mut Attachment) -> bool {
        if self.opening.is_none() {
            let other = |index| !attachment.receiver.is_attached_to(index);
            if interface_index(interface).is_some_and(other) {
                let interface = interface.to_string();
                self.opening = Builder::new().spawn(move || Attachment::open(&interface)).ok();
            }
            return false;
        }
        if !self.opening.as_ref().is_some_and(JoinHandle::is_finished) {
            return false;
        }
        match self.opening.take().map(JoinHandle::join) {
            Some(Ok(Ok(opened))) => {
                let old = std::mem::replace(attachment, opened);
                // Without a thread, the closure that has it is dropped, which closes it.
                drop(Builder::new().spawn(move || drop(old)));
                tracing::warn!(interface, "interface was made again; it is used from now on");
                self.failed = false;
                return true;
            }
            Some(Ok(Err(error))) if !std::mem::replace(&mut self.failed, true) => {
                tracing::warn!(interface, %error, "interface was made again, and cannot be used yet");
            }
            _ => {}
        }
        false
    }
}
