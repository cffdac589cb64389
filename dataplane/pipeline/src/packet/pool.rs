//! Packets and payloads whose memory is used again.

use std::sync::Arc;

use crate::packet::Packet;

/// Buffers kept: as many as a burst leaves behind.
const KEPT: usize = 4_096;

#[derive(Debug, Clone, Default)]
pub(crate) struct PacketBody {
    pub fields: Box<[u8]>,
    /// The bytes that no header covers; `None` where there are none.
    pub payload: Option<Arc<Vec<u8>>>,
    /// Bytes behind the payload that exist only as a length.
    pub tail: u32,
    pub received: u32,
    /// BMv2's packet length: bytes on arrival, plus headers added, minus headers removed.
    pub length: u32,
    /// Bytes of the frame if egress changes nothing.
    pub wire: u32,
    pub truncate: Option<u32>,
    /// The field list of a recirculation that ingress asked for: BMv2 carries it out after egress.
    pub recirculate: Option<u32>,
    pub priority: u8,
}

/// Memory that waits for the next packet.
#[derive(Debug, Default)]
pub(crate) struct PacketPool {
    packets: Vec<Packet>,
    payloads: Vec<Arc<Vec<u8>>>,
}

impl PacketPool {
    /// A packet whose contents are of an earlier one.
    #[inline]
    pub fn packet(&mut self) -> Box<PacketBody> {
        self.packets.pop().map(|packet| packet.0).unwrap_or_default()
    }

    /// A copy of these bytes, if there are any.
    #[inline]
    pub fn payload(&mut self, bytes: &[u8]) -> Option<Arc<Vec<u8>>> {
        (!bytes.is_empty()).then(|| self.filled(bytes))
    }

    #[inline]
    fn filled(&mut self, bytes: &[u8]) -> Arc<Vec<u8>> {
        let mut payload = self.payloads.pop().unwrap_or_default();
        // Payloads in the pool have no other owner.
        if let Some(own) = Arc::get_mut(&mut payload) {
            own.clear();
            own.extend_from_slice(bytes);
            return payload;
        }
        Arc::new(bytes.to_vec())
    }

    /// A copy that shares the payload.
    #[inline]
    pub fn copy(&mut self, body: &PacketBody) -> Box<PacketBody> {
        match self.packets.pop() {
            Some(Packet(mut copy)) => {
                copy.fields.clone_from(&body.fields);
                copy.payload.clone_from(&body.payload);
                let PacketBody { tail, received, length, wire, truncate, recirculate, priority, .. } = *body;
                (copy.tail, copy.received, copy.length) = (tail, received, length);
                (copy.wire, copy.truncate, copy.priority) = (wire, truncate, priority);
                copy.recirculate = recirculate;
                copy
            }
            None => Box::new(body.clone()),
        }
    }

    /// Keeps a packet's memory, and its payload's if no copy needs it.
    #[inline(always)]
    pub fn take_back(&mut self, mut body: Box<PacketBody>) {
        if let Some(payload) = body.payload.take() {
            self.keep(payload);
        }
        if self.packets.len() < KEPT {
            self.packets.push(Packet(body));
        }
    }

    #[inline]
    fn keep(&mut self, payload: Arc<Vec<u8>>) {
        if self.payloads.len() < KEPT && Arc::strong_count(&payload) == 1 {
            self.payloads.push(payload);
        }
    }
}
