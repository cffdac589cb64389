//! The open ports of a session, to which its senders connect.

use std::net::{SocketAddrV4, TcpListener};
use std::rc::Rc;

use groupflow_host::error::plain;
use groupflow_host::poller::{Poller, Registration};
use groupflow_host::tcp::{self, TcpOptions};

use super::SplitPollKey;
use crate::machine::{Refusal, SessionSpec};

#[derive(Default)]
pub struct SessionPorts {
    options: TcpOptions,
    ports: Vec<(SocketAddrV4, Rc<TcpListener>, Registration)>,
}

impl SessionPorts {
    /// Opens and closes ports by the session's settings. If that fails, everything stays as it was, unless
    /// the options of the ports have changed.
    pub fn update(&mut self, poller: &mut Poller<SplitPollKey>, spec: &SessionSpec) -> Result<(), Refusal> {
        let wanted: Vec<SocketAddrV4> =
            spec.ports.iter().map(|&port| SocketAddrV4::new(spec.address, port)).collect();
        if self.options != spec.listening() {
            self.close(poller);
            self.options = spec.listening();
        }
        let mut fresh = Vec::new();
        for &address in &wanted {
            if self.ports.iter().any(|(at, ..)| *at == address) {
                continue;
            }
            let made = tcp::listen(address, &self.options).and_then(|listener| {
                let registration = poller.add(&listener, SplitPollKey::Listener(spec.id, address.port()))?;
                Ok((address, Rc::new(listener), registration))
            });
            match made {
                Ok(made) => fresh.push(made),
                Err(error) => {
                    for (_, listener, registration) in fresh {
                        poller.remove(&listener, registration);
                    }
                    let text = format!("cannot be listened on at {address}: {}", plain(&error));
                    return Err(Refusal::field("listen", "session.ports", text));
                }
            }
        }
        self.ports.append(&mut fresh);
        self.ports.retain(|(address, listener, registration)| {
            let stays = wanted.contains(address);
            if !stays {
                poller.remove(listener, *registration);
            }
            stays
        });
        Ok(())
    }

    pub fn at(&self, port: u16) -> Option<Rc<TcpListener>> {
        let found = self.ports.iter().find(|(address, ..)| address.port() == port);
        found.map(|(_, listener, _)| Rc::clone(listener))
    }

    pub fn close(&mut self, poller: &mut Poller<SplitPollKey>) {
        for (_, listener, registration) in self.ports.drain(..) {
            poller.remove(&listener, registration);
        }
    }
}
