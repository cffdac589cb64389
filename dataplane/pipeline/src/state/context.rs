//! A packet at work: the words that both engines read and write.

use crate::packet::{DropReason, Preserved};
use crate::program::field::Field;
use crate::program::{Program, Standard};
use crate::state::table::TableState;
use crate::state::{Externs, Register};

macro_rules! context {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// The words of a packet at work, by name and by number ([`Word`]). Only native code and the
        /// functions that it calls follow the pointers.
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        pub(crate) struct Context {
            $($(#[$doc])* pub $name: $kind,)*
        }

        /// The place of each word.
        #[allow(non_camel_case_types, dead_code)] // Named as the fields; some are for Rust only.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i32)]
        pub(crate) enum Word { $($name,)* }

        // Each field is one word, so a field's place is its number.
        const _: () = { $(assert!(std::mem::size_of::<$kind>() == 8);)* };

        impl Context {
            pub fn word(&self, word: Word) -> u64 {
                match word {
                    $(Word::$name => self.$name as u64,)*
                }
            }
        }
    };
}

context! {
    /// The packet's fields.
    phv: *mut u8,
    /// The frame that arrived, or nothing in egress.
    bytes: *const u8,
    len: u64,
    /// The bytes that no header covers.
    payload: *const u8,
    payload_len: u64,
    /// The memory to which the deparser writes headers, and the number of bytes that it wrote.
    out: *mut u8,
    out_len: u64,
    registers: *const RegisterCells,
    counters: *const CounterCells,
    externs: *mut Externs,
    states: *mut TableState,
    program: *const Program,
    /// The machine code, as the native engine knows it.
    compiled: *const (),
    /// Null, or the fields that a resubmitted or recirculated packet kept.
    restored: *const Preserved,
    now: u64,
    now_us: u64,
    received: u64,
    length: u64,
    drop_port: u64,
    ingress_port: u64,
    egress_port: u64,
    instance: u64,
    rid: u64,
    enq_timestamp_us: u64,
    enq_qdepth: u64,
    deq_qdepth: u64,
    deq_timedelta_us: u64,
    /// The program's requests: 0, or a number plus one, unless said otherwise.
    clone_list: u64,
    clone_session: u64,
    resubmit: u64,
    recirculate: u64,
    /// Bytes to keep; all ones for all.
    truncate: u64,
    exit: u64,
    /// 1 assertion, 2 step limit.
    failed: u64,
    steps: u64,
    /// The action that a group selected, plus one, or 0.
    selected: u64,
    /// The place of the mark to drop the packet: a number in the program's names plus one, or 0.
    dropped_at: u64,
    /// The counter of drops, plus one, or 0, and the cell in which the packet was counted.
    counter: u64,
    counter_cell: u64,
    /// Bytes of the valid headers after ingress.
    header_bytes: u64,
    group: u64,
    egress_spec: u64,
    priority: u64,
    /// Counted here by native code, for `Stats`.
    parser_errors: u64,
    register_out_of_range: u64,
    counter_out_of_range: u64,
    assertions_failed: u64,
}

/// The functions that run a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryPoint {
    /// Parser, checksums, and the ingress control.
    Ingress,
    Egress,
    /// Checksums and headers.
    Deparse,
}

impl Context {
    /// All zero: no pointer is used before it is set.
    pub fn new() -> Context {
        // SAFETY: words of any kind, null pointers among them, may be zero.
        unsafe { std::mem::zeroed() }
    }

    /// The reason why the packet's way ended early.
    #[inline]
    pub fn failed(&self) -> Option<DropReason> {
        match self.failed {
            0 => None,
            1 => Some(DropReason::Assertion),
            _ => Some(DropReason::StepLimit),
        }
    }

    /// Bytes to keep, if not all.
    #[inline]
    pub fn truncation(&self) -> Option<u32> {
        u32::try_from(self.truncate).ok()
    }
}

/// A register array of at most 64 bits a cell.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RegisterCells {
    pub cells: *mut u64,
    pub len: u64,
    /// Not 0 if writes are noted.
    pub watched: u64,
}

impl RegisterCells {
    /// The cells of an array, whose address does not change. Wide cells are left to the interpreter.
    pub fn of(register: &mut Register) -> RegisterCells {
        let cells = &mut register.cells;
        RegisterCells { cells: cells.as_mut_ptr(), len: cells.len() as u64, watched: 0 }
    }
}

/// A counter array: packets and bytes of each cell.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CounterCells {
    pub cells: *mut u64,
    pub len: u64,
}

impl Word {
    /// Bytes from the context's first.
    pub fn offset(self) -> i32 {
        self as i32 * 8
    }
}

// SAFETY: the pointers are to parts of the pipeline that has the context, and are set anew whenever code
// runs.
unsafe impl Send for Context {}
// SAFETY: nothing is done with the pointers through a shared reference.
unsafe impl Sync for Context {}

/// A field that the target sets, which the program may lack, and its value.
pub(crate) type Setting = (Option<Field>, Word);

/// The metadata of a packet that comes to ingress: what it may have kept from another round, and the rest.
pub(crate) fn arrival(standard: &Standard) -> [[Setting; 2]; 2] {
    [
        [
            (Some(standard.ingress_port), Word::ingress_port),
            (standard.ingress_global_timestamp, Word::now_us),
        ],
        [(Some(standard.instance_type), Word::instance), (Some(standard.packet_length), Word::received)],
    ]
}

/// The metadata of a packet that comes to egress.
pub(crate) fn departure(standard: &Standard) -> [Setting; 10] {
    [
        (Some(standard.egress_spec), Word::egress_spec),
        (Some(standard.egress_port), Word::egress_port),
        (Some(standard.instance_type), Word::instance),
        (Some(standard.packet_length), Word::length),
        (standard.egress_rid, Word::rid),
        (standard.egress_global_timestamp, Word::now_us),
        (standard.enq_timestamp, Word::enq_timestamp_us),
        (standard.enq_qdepth, Word::enq_qdepth),
        (standard.deq_qdepth, Word::deq_qdepth),
        (standard.deq_timedelta, Word::deq_timedelta_us),
    ]
}
