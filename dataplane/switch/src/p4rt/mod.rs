//! P4Runtime without sockets: the rights of clients, and the effect of their calls on a switch.

#[macro_use]
mod status; // errors

mod annotations; // P4Info's annotations about queues' registers
mod arbitration; // the primary client
mod arrays; // registers, indirect counters and meters
mod batch; // batches that can be taken back
mod bind; // P4Info compared with a program
mod binding; // pairs of P4Info's and the program's ids
mod bytestring; // P4Runtime's byte strings
mod config; // a pipeline configuration and P4Info files
mod digest; // digests
mod digest_type; // the types of digests
mod direct; // counters and meters of table entries
mod externs; // queues, ports and generators as ExternEntry
mod fields; // the fields of such an ExternEntry
mod idle; // idle timeouts
mod matching; // the keys of table entries
mod packet_io; // packets from and to the controller
mod pre; // multicast groups and clone sessions
mod profiles; // action profiles: members, groups, one-shots
mod reconcile; // state that moves to another configuration
mod restriction; // rules that entries and arguments keep
mod restriction_text; // the language of `restriction`
mod roles; // the entities and packets of a named role
mod runtime; // the service of one device
mod state; // entities as they were written, to be read back
mod table; // table entries
mod table_read; // reads of table entries
mod translation; // values that `@p4runtime_translation` makes strings
mod update; // entities of any kind
mod value_sets; // members of value sets

pub use arbitration::{too_many, ClientId, ClientMessage};
pub use batch::Batch;
pub use binding::Binding;
pub use bytestring::{decode, encode};
pub use config::{parse_p4info, ConfigurationError, PipelineConfig};
pub use externs::{GENERATOR, PORT, QUEUE};
pub use packet_io::{packet_in, packet_out};
pub use runtime::{Reaction, Runtime};
pub use status::{Code, Status};
pub use update::{is_timed, takes_effect_in_time};
