//! P4Runtime conformance: the specification's demands on a server (v1.5.0, p4lang/p4runtime docs/v1), and the
//! test of each; a module of `p4rt` stands for its unit tests. Error messages are golden: users read them.
//!
//! | section | demand | test |
//! |---|---|---|
//! | Rules for MasterArbitrationUpdate | the highest election id ever seen is primary | `p4rt::arbitration` |
//! | Rules for MasterArbitrationUpdate | no backup is promoted by itself | `p4rt::arbitration` |
//! | Rules for MasterArbitrationUpdate | wrong device, role, double id end the stream | `p4rt::arbitration` |
//! | Unset Election ID | unset never wins, zero is an id | `p4rt::arbitration` |
//! | Bytestrings | valid, invalid and canonical forms | `p4rt::bytestring` |
//! | Write RPC | NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION | `calls::checks_come_in_order` |
//! | Batch Atomicity | a failed batch leaves nothing | `atomicity::*` |
//! | Role Config | what a role writes, reads and gets | `roles::*` |
//! | Error Reporting | a batch goes on; errors in order | `calls::a_batch_goes_on_after_an_error` |
//! | Read RPC | needs no stream; an error a request | `calls::reads_need_no_stream_and_report_each_request` |
//! | SetForwardingPipelineConfig | all actions; primary only | `config::*` |
//! | GetForwardingPipelineConfig | the parts asked for, or unset | `config::the_configuration_is_read_back` |
//! | TableEntry | insert, modify, delete and their refusals | `tables::entries_come_change_and_go` |
//! | Match Format | each kind of match, canonical, don't care left out | `tables::matches_are_canonical` |
//! | Match Format | other keys | `tables::bad_keys_are_refused` |
//! | Action Specification | ids, parameters, scope | `tables::bad_actions_are_refused` |
//! | Default Entry | modify only, reset, const | `tables::the_default_entry_is_modified_only` |
//! | Constant Tables | PERMISSION_DENIED, readable | `tables::constant_tables_are_read_only` |
//! | Wildcard Reads | filters, table id 0 | `tables::reads_filter` |
//! | Wildcard Reads | parameters do not count | `tables::an_entry_is_read_as_it_was_written` |
//! | Direct Resources | counters, meters within entries | `state::direct_counters`, `state::direct_meters` |
//! | Idle-timeout | refused where not supported, told elsewhere | `idle::*` |
//! | ActionProfileMember & ActionProfileGroup | members, groups, weights, one-shot; in use | `profiles::*` |
//! | ValueSetEntry | modify only, size | `profiles::the_parser_takes_the_members_of_a_value_set` |
//! | CounterEntry, MeterEntry, RegisterEntry | modify only, index rules, wildcards | `state::*` |
//! | MulticastGroupEntry | id 0, unique replicas, deprecated port | `replication::*` |
//! | CloneSessionEntry | id 0, class of service, length | `replication::*` |
//! | DigestEntry | lists, duplicates, acknowledgement, timeouts | `digests::*` |
//! | Packet I/O | fields once, primary only | `p4rt::packet_io`, `calls::only_the_primary_sends_packets` |
//! | Stream Error Reporting | errors name the message | `calls::only_the_primary_sends_packets` |
//! | Capabilities | version, unknown device | `calls::capabilities` |
//! | ExternEntry | queues, ports, generators: unknown types and fields are refused | `externs::*` |
//! | (p4-constraints) | rules of entries and arguments are kept | `restrictions::*` |
//! | (robustness) | no request panics | `robustness::*` |

#![allow(clippy::unwrap_used)] // A test fails by panicking.
#![allow(clippy::clone_on_copy)] // Which generated messages are Copy is not ours to decide.

#[path = "../common/mod.rs"]
mod common;

mod atomicity;
mod calls;
mod config;
mod digests;
mod externs;
mod idle;
mod profiles;
mod reconcile;
mod replication;
mod restrictions;
mod robustness;
mod roles;
mod state;
mod strings;
mod tables;
