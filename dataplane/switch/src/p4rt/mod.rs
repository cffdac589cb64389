//! P4Runtime without sockets: the rights of clients, and the effect of their calls on a switch.
//!
//! | module | subject |
//! |---|---|
//! | `runtime`, `arbitration`, `status` | the service of one device; the primary client; errors |
//! | `config`, `p4info_file`, `annotations` | a pipeline configuration; P4Info files; queues' registers |
//! | `bind`, `binding` | P4Info compared with a program; the pairs of their ids |
//! | `roles` | the entities and packets of a named role |
//! | `update`, `state` | entities of any kind; values that are read back as they were written |
//! | `batch`, `reconcile` | batches that can be taken back; state that moves to another configuration |
//! | `table`, `table_read`, `matching`, `idle` | table entries; how they are read; keys; idle timeouts |
//! | `restriction`, `restriction_text` | rules that entries and arguments keep, and their language |
//! | `arrays`, `direct` | registers, counters and meters with an index; those of table entries |
//! | `pre` | multicast groups and clone sessions |
//! | `digest`, `digest_type` | messages of the data plane; their types |
//! | `packet_io` | packets from and to the controller |
//! | `externs`, `fields` | queues, ports and generators as ExternEntry; the fields of their Struct |
//! | `bytestring`, `translation` | P4Runtime's byte strings; values that are strings |

mod annotations;
mod arbitration;
mod arrays;
mod batch;
mod bind;
mod binding;
mod bytestring;
mod config;
mod digest;
mod digest_type;
mod direct;
mod externs;
mod fields;
mod idle;
mod matching;
mod p4info_file;
mod packet_io;
mod pre;
mod profiles;
mod reconcile;
mod restriction;
mod restriction_text;
mod roles;
mod runtime;
mod state;
mod status;
mod table;
mod table_read;
mod translation;
mod update;
mod value_sets;

pub use arbitration::{too_many, ClientId, ClientMessage, CLIENT_LIMIT};
pub use batch::Batch;
pub use binding::{
    ActionScope, Binding, BindingError, BoundAction, BoundArray, BoundDigest, BoundField, BoundProfile,
    BoundTable, BoundValue, BoundValueSet, ControllerHeader, GroupBounds,
};
pub use bytestring::{decode, decode_signed, encode, encode_signed};
pub use config::{ConfigurationError, PipelineConfig};
pub use digest::{LIST_LIMIT, UNACKNOWLEDGED_LIMIT};
pub use digest_type::DataType;
pub use externs::{GENERATOR, PORT, QUEUE};
pub use p4info_file::{parse_p4info, P4InfoError};
pub use packet_io::{packet_in, packet_out};
pub use runtime::{Reaction, Runtime, API_VERSION};
pub use status::{Code, Status};
pub use update::{is_timed, takes_effect_in_time, Found};
