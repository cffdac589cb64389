//! The messages of P4Runtime, generated from the .proto files.

#![allow(missing_docs, clippy::all, rustdoc::all)]

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
