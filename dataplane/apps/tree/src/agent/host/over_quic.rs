//! A host's edges over QUIC: the bytes that come and go over them.

use std::time::Duration;

use bytes::Bytes;
use groupflow_base::Nanos;

use super::{TreeHost, BATCH};
use crate::agent::args::EdgesArg;
use crate::agent::quic::Happened;
use crate::machine::datagram::{body, parse_body};
use crate::machine::{ConnId, DatagramRelay};

impl TreeHost<'_> {
    /// Takes the packets that came, and the events that they cause.
    pub(super) fn take_quic(&mut self) {
        let now = self.drive.poller.now;
        self.quic.iter_mut().for_each(|quic| quic.receive(now));
        while let Some(happened) = self.quic.as_mut().and_then(|quic| quic.links.poll()) {
            match happened {
                Happened::Came(handle) => {
                    self.make_room();
                    let named = self.drive.node.conns.on_accepted(self.drive.nanos());
                    let Some(quic) = &mut self.quic else { break };
                    match named {
                        Some(conn) => quic.links.name(handle, conn),
                        None => quic.links.refuse(now, handle),
                    }
                }
                Happened::Connected(conn) => {
                    if self.edges.is_made(conn) {
                        let nanos = self.drive.nanos();
                        self.drive.node.offer(conn, Nanos::from_millis(self.args.deadline_ms));
                        self.drive.node.on_connected(nanos, conn);
                    }
                }
                Happened::Readable(conn) => self.read_quic(conn),
                Happened::Closed(conn) => self.close(conn),
            }
        }
    }

    fn read_quic(&mut self, conn: ConnId) {
        let Some(quic) = &mut self.quic else { return };
        let (now, node) = (self.drive.nanos(), &mut self.drive.node);
        let mut is_open = true;
        while let Some(link) = quic.links.get(conn).filter(|_| is_open) {
            quic.received.clear();
            is_open = link.read(BATCH, &mut quic.received).is_some();
            if is_open || !quic.received.is_empty() {
                // No bytes are a sign of life.
                node.on_bytes(now, conn, &quic.received);
            }
            if quic.received.len() < BATCH {
                break;
            }
        }
        let mut next = || quic.links.get(conn).filter(|_| is_open)?.read_datagram();
        while let Some(datagram) = next() {
            if let Some((offset, bytes)) = parse_body(&datagram) {
                node.on_datagram(now, conn, offset, bytes);
            }
        }
        if !is_open {
            self.close(conn);
        }
    }

    pub(super) fn send_quic(&mut self) {
        self.send_datagrams();
        let (now, nanos, node) = (self.drive.poller.now, self.drive.nanos(), &mut self.drive.node);
        let Some(quic) = &mut self.quic else { return };
        for conn in quic.links.names() {
            while let Some(link) = quic.links.get(conn).filter(|link| link.takes()) {
                let mut batch = Vec::new();
                node.fill(nanos, conn, &mut batch, BATCH);
                if batch.is_empty() {
                    link.finish(now);
                    break;
                }
                link.write(now, batch.into());
            }
        }
        quic.send(now);
    }

    fn send_datagrams(&mut self) {
        while let Some(DatagramRelay { to, offset, bytes }) = self.drive.node.poll_datagram() {
            let Some(quic) = &mut self.quic else { continue };
            let bytes = Bytes::from(body(offset, &bytes));
            for conn in to {
                if let Some(link) = quic.links.get(conn) {
                    link.write_datagram(self.drive.poller.now, bytes.clone());
                }
            }
        }
    }

    /// The source takes as many bytes as there is room for; returns how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = self.drive.node.write(self.drive.nanos(), bytes);
        self.send_datagrams();
        taken
    }

    /// Lets a child take datagrams; a child that asks for them over TCP is closed.
    pub(super) fn serve_datagrams(&mut self, conn: ConnId, deadline: Nanos) {
        match self.quic.as_mut().and_then(|quic| quic.links.get(conn)) {
            Some(link) => link.patience = Duration::from_nanos(deadline.0),
            None => self.close(conn),
        }
    }

    /// Closes a connection when its last bytes are acknowledged.
    pub(super) fn end_link(&mut self, conn: ConnId) {
        if let Some(link) = self.quic.as_mut().and_then(|quic| quic.links.get(conn)) {
            link.end(self.drive.poller.now);
        }
    }

    /// Whether all last bytes are acknowledged.
    pub fn is_silent(&self) -> bool {
        self.quic.as_ref().map_or(true, |quic| quic.links.names().is_empty())
    }

    /// Ends all edges over QUIC: their last bytes wait in this process until they are acknowledged.
    pub fn hang_up(&mut self) {
        let names = self.quic.as_ref().map(|quic| quic.links.names()).unwrap_or_default();
        names.into_iter().for_each(|conn| self.end_link(conn));
    }

    pub fn takes_datagrams(&self) -> bool {
        self.args.edges == EdgesArg::Datagrams
    }
}
