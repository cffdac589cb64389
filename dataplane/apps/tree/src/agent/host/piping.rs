//! A host's edges over the group transport: what goes into them, and what comes out.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use groupflow_base::Nanos;

use super::{open_socket, Host, Target};
use crate::agent::datagrams::Way;
use crate::agent::edge::{self, BATCH};
use crate::agent::pipes::{Pipes, Seals};
use crate::machine::{ConnId, Door};

impl Host<'_> {
    pub(super) fn take_pipes(&mut self) {
        let now = self.nanos();
        let Some(pipes) = self.pipes.as_mut().filter(|pipes| pipes.readable) else { return };
        let (edges, node) = (&self.edges, &mut self.node);
        pipes.receive(
            now,
            |conn, tag| Seals::of(edges.get(&conn)?.channel(), tag, Way::Up),
            |conn, said, first| {
                if first {
                    node.on_other_way(conn);
                }
                node.on_bytes(now, conn, said);
            },
        );
    }

    pub(super) fn send_pipes(&mut self) {
        let now = self.nanos();
        let Some(pipes) = &mut self.pipes else { return };
        pipes.send(now);
        for conn in pipes.failed(now) {
            self.close(conn);
        }
    }

    /// What is said to a child goes into its pipe, as far as there is room.
    pub(super) fn fill_pipe(&mut self, conn: ConnId) -> io::Result<()> {
        let now = self.nanos();
        let (Some(pipes), Some(edge)) = (&mut self.pipes, self.edges.get_mut(&conn)) else { return Ok(()) };
        let mut batch = Vec::new();
        while pipes.takes(conn) {
            batch.clear();
            self.node.fill(now, conn, &mut batch, BATCH);
            if batch.is_empty() {
                break;
            }
            pipes.write(conn, &batch);
        }
        if edge.closing && pipes.is_over(now, conn) {
            edge.end();
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    /// A child takes what is said to it in a pipe. Where there can be none, or nothing comes through, it is said over the connection.
    pub(super) fn serve_pipe(&mut self, conn: ConnId, door: Door) {
        if self.pipes.is_none() {
            self.pipes = open_socket(self.args, &mut self.poller, Target::Pipes, Pipes::open).ok();
        }
        let now = self.nanos();
        let edge = self.edges.get(&conn);
        let seals = edge.and_then(|edge| Seals::of(edge.channel(), door.tag, Way::Down));
        let address = edge.and_then(|edge| edge.socket().peer_addr().ok());
        let child = self.node.child_at(conn);
        let round_trip = edge.map_or(Nanos::ZERO, |edge| edge::round_trip(edge.socket()));
        if let (Some(seals), Some(SocketAddr::V4(at)), Some(child), Some(pipes)) =
            (seals, address, child, &mut self.pipes)
        {
            let to = SocketAddrV4::new(*at.ip(), door.port);
            pipes.serve(now, (conn, child, round_trip), to, door.tag, seals);
        }
    }

    /// Whether its parent is one that was to speak in a pipe, and speaks over the connection.
    pub fn is_without_pipe(&self) -> bool {
        self.attached && self.pipes.as_ref().is_some_and(Pipes::hears_nobody)
    }
}
