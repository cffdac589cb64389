//! A port's hold on its interface, also on one that is made again, as of a container that is started again.

use std::thread::{Builder, JoinHandle};

use super::error::ShellError;
use super::rx::FrameReceiver;
use super::socket::interface_index;
use super::tx::Transmitter;

pub struct Attachment {
    pub receiver: FrameReceiver,
    pub transmitter: Transmitter,
}

impl Attachment {
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
    failed: bool,
}

impl Reopening {
    /// Looks at an interface by its name. Once another has it and is open, that takes the attachment's place.
    pub fn renew(&mut self, interface: &str, attachment: &mut Attachment) -> bool {
        let Some(opening) = self.opening.take() else {
            let other = |index| !attachment.receiver.is_attached_to(index);
            if interface_index(interface).is_some_and(other) {
                let interface = interface.to_string();
                self.opening = Builder::new().spawn(move || Attachment::open(&interface)).ok();
            }
            return false;
        };
        if !opening.is_finished() {
            self.opening = Some(opening);
            return false;
        }
        match opening.join() {
            Ok(Ok(opened)) => {
                let old = std::mem::replace(attachment, opened);
                // Without a thread, the closure that has it is dropped, which closes it.
                drop(Builder::new().spawn(move || drop(old)));
                tracing::warn!(
                    interface,
                    "interface was made again; it is used from now on. If its host has another MAC address \
                     than before, groupflow's guard (table port_sources) drops the host's frames as spoofed: \
                     give the host its old address (ip link set dev <its interface> address <MAC>)"
                );
                self.failed = false;
                return true;
            }
            Ok(Err(error)) if !std::mem::replace(&mut self.failed, true) => {
                tracing::warn!(interface, %error, "interface was made again, and cannot be used yet");
            }
            _ => {}
        }
        false
    }
}
