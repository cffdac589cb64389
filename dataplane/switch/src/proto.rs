//! The messages of P4Runtime, generated from the .proto files.

#![allow(missing_docs, clippy::all, rustdoc::all)]

use prost::bytes::{Buf, BufMut};
use prost::{encoding, DecodeError, Message};

/// google.rpc
pub mod google {
    /// Status.
    pub mod rpc {
        include!(concat!(env!("OUT_DIR"), "/google.rpc.rs"));
    }
}

/// p4
pub mod p4 {
    /// The P4Runtime protocol.
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/p4.v1.rs"));
    }
    /// The P4 program as the controller sees it.
    pub mod config {
        /// P4Info.
        pub mod v1 {
            include!(concat!(env!("OUT_DIR"), "/p4.config.v1.rs"));
        }
    }
}

/// The descriptors of all messages, for P4Info's text form.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/p4runtime.bin"));

/// The answer to a read. A client gets its entities; the server sends entities that are encoded already.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadResponse {
    /// The entities that were found.
    pub entities: Vec<p4::v1::Entity>,
    /// More entities, each with its key and length as on the wire.
    pub encoded: Box<[u8]>,
}

impl Message for ReadResponse {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        buffer.put_slice(&self.encoded);
        encoding::message::encode_repeated(1, &self.entities, buffer);
    }

    fn merge_field(
        &mut self, tag: u32, wire_type: encoding::WireType, buffer: &mut impl Buf,
        context: encoding::DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => encoding::message::merge_repeated(wire_type, &mut self.entities, buffer, context),
            _ => encoding::skip_field(wire_type, tag, buffer, context),
        }
    }

    fn encoded_len(&self) -> usize {
        self.encoded.len() + encoding::message::encoded_len_repeated(1, &self.entities)
    }

    fn clear(&mut self) {
        *self = ReadResponse::default();
    }
}

macro_rules! into_entity {
    ($($message:ident),* $(,)?) => {
        $(impl From<p4::v1::$message> for p4::v1::entity::Entity {
            fn from(message: p4::v1::$message) -> p4::v1::entity::Entity {
                p4::v1::entity::Entity::$message(message)
            }
        })*
    };
}

into_entity!(
    TableEntry,
    MeterEntry,
    DirectMeterEntry,
    CounterEntry,
    DirectCounterEntry,
    PacketReplicationEngineEntry,
    RegisterEntry,
    DigestEntry,
    ActionProfileMember,
    ActionProfileGroup,
    ValueSetEntry,
    ExternEntry,
);
