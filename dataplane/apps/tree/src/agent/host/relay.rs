//! A host's datagrams: from its parent to its node, and from that to its children.

use std::net::SocketAddr;

use groupflow_host::error::AgentError;

use super::{open_socket, Host, Target};
use crate::agent::args::EdgesArg;
use crate::agent::datagrams::{Datagrams, Seal, Way};
use crate::machine::{ConnId, Door};

impl Host<'_> {
    /// The source takes what there is room for; how many bytes.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = self.node.write(self.nanos(), bytes);
        self.send_datagrams();
        taken
    }

    pub(super) fn send_datagrams(&mut self) {
        while let Some(datagram) = self.node.poll_datagram() {
            if let Some(datagrams) = &mut self.datagrams {
                datagrams.send(&datagram);
            }
        }
    }

    pub(super) fn take_datagrams(&mut self) {
        let now = self.nanos();
        let Some(datagrams) = self.datagrams.as_mut().filter(|datagrams| datagrams.readable) else { return };
        let (edges, node) = (&self.edges, &mut self.node);
        datagrams.receive(
            |conn, tag| Seal::of(edges.get(&conn)?.channel(), tag, Way::Down),
            |conn, offset, bytes| {
                node.on_datagram(now, conn, offset, bytes);
            },
        );
        self.send_datagrams();
    }

    /// A child takes datagrams.
    pub(super) fn serve_datagrams(&mut self, conn: ConnId, door: Door) -> Result<(), AgentError> {
        if self.datagrams.is_none() {
            self.datagrams =
                Some(open_socket(self.args, &mut self.poller, Target::Datagrams, Datagrams::open)?);
        }
        let edge = self.edges.get(&conn);
        let seal = edge.and_then(|edge| Seal::of(edge.channel(), door.tag, Way::Down));
        let address = edge.and_then(|edge| edge.socket().peer_addr().ok());
        if let (Some(seal), Some(SocketAddr::V4(at)), Some(datagrams)) = (seal, address, &mut self.datagrams)
        {
            datagrams.serve(conn, *at.ip(), door, seal);
        }
        Ok(())
    }

    /// Tells a parent that is connected to where data are taken, if not there.
    pub(super) fn offer(&mut self, conn: ConnId) {
        let now = self.nanos();
        let door = match self.args.edges {
            EdgesArg::Stream => None,
            EdgesArg::Group => self.pipes.as_mut().map(|pipes| pipes.expect(now, conn)),
            EdgesArg::Datagrams => self.datagrams.as_mut().map(|datagrams| datagrams.expect(conn)),
        };
        door.into_iter().for_each(|door| self.node.offer(conn, door));
    }

    pub(super) fn forget_doors(&mut self, conn: ConnId) {
        self.datagrams.iter_mut().for_each(|datagrams| datagrams.forget(conn));
        let now = self.nanos();
        let lost = self.node.child_at(conn).is_some();
        self.pipes.iter_mut().for_each(|pipes| pipes.forget(now, conn, lost));
    }
}
