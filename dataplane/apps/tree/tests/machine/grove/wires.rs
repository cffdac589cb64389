//! Connections between the hosts of a grove.

use super::*;

impl Grove {
    pub(super) fn connect(&mut self, host: HostId, conn: ConnId, to: HostId) {
        let now = self.now;
        let is_away = is_away(&self.nodes, host) || is_away(&self.nodes, to);
        let accepted =
            self.nodes.get_mut(&to).filter(|_| !is_away).and_then(|found| found.node.on_accepted(now));
        let node = &mut self.nodes.get_mut(&host).expect("who connects").node;
        match accepted {
            Some(accepted) => {
                node.on_connected(now, conn);
                let (bytes, closing) = (Default::default(), [false; 2]);
                self.wires.push(WirePair {
                    ends: [(host, conn), (to, accepted)],
                    bytes,
                    closing,
                    carried: 0,
                });
            }
            None => node.on_closed(now, conn),
        }
        self.act(host);
    }

    /// Breaks a connection; the bytes on it are lost.
    pub(super) fn cut(&mut self, at: usize) {
        let wire = self.wires.swap_remove(at);
        for (host, conn) in wire.ends {
            let now = self.now;
            if is_away(&self.nodes, host) {
                self.lost_ends.push((host, conn));
            } else if let Some(found) = self.nodes.get_mut(&host) {
                found.node.on_closed(now, conn);
                self.act(host);
            }
        }
    }

    pub fn wires(&self) -> usize {
        self.wires.len()
    }

    pub fn break_wire(&mut self, n: usize) {
        if !self.wires.is_empty() {
            self.cut(n % self.wires.len());
        }
    }

    /// Carries so many bytes from one end of a connection to the other.
    pub fn carry(&mut self, n: usize, side: usize, most: usize) -> bool {
        let (now, count) = (self.now, self.wires.len());
        if count == 0 {
            return false;
        }
        let at = n % count;
        let (from, to) = (self.wires[at].ends[side], self.wires[at].ends[1 - side]);
        if is_away(&self.nodes, from.0) || is_away(&self.nodes, to.0) {
            return self.close_alone(at);
        }
        let room = SOCKET.saturating_sub(self.wires[at].bytes[side].len());
        let mut filled = Vec::new();
        if let Some(found) = self.nodes.get_mut(&from.0).filter(|_| room > 0) {
            found.node.fill(now, from.1, &mut filled, room);
        }
        let wire = &mut self.wires[at];
        wire.bytes[side].extend(&filled);
        let carried: Vec<u8> = wire.bytes[side].drain(..most.min(wire.bytes[side].len())).collect();
        wire.carried += if side == 1 { carried.len() } else { 0 };
        let over = carried.is_empty() && filled.is_empty() && wire.closing[side];
        if let Some(found) = self.nodes.get_mut(&to.0).filter(|_| !carried.is_empty()) {
            found.node.on_bytes(now, to.1, &carried);
        }
        self.act(from.0);
        self.act(to.0);
        if over {
            let found = self.wires.iter().position(|wire| wire.ends.contains(&from));
            found.into_iter().for_each(|at| self.cut(at));
        }
        over || !carried.is_empty()
    }

    /// Bytes that each connection from one host to another has carried so far.
    pub fn carried(&self, from: HostId, to: HostId) -> Vec<usize> {
        let of_it = |wire: &&WirePair| wire.ends[0].0 == to && wire.ends[1].0 == from;
        self.wires.iter().filter(of_it).map(|wire| wire.carried).collect()
    }
}
