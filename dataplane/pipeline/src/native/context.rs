//! The words that native code and Rust exchange.

use crate::native::compile::Compiled;
use crate::packet::Preserved;
use crate::program::Program;
use crate::state::table::TableState;
use crate::state::{Externs, Register};

macro_rules! context {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// The words that native code reads and writes, by name and by number ([`Word`]).
        #[repr(C)]
        pub(crate) struct Context {
            $($(#[$doc])* pub $name: $kind,)*
        }

        /// The place of each word.
        #[allow(non_camel_case_types, dead_code)] // Named as the fields; some are for helpers only.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i32)]
        pub(crate) enum Word { $($name,)* }

        // Each field is one word, so a field's place is its number.
        const _: () = { $(assert!(std::mem::size_of::<$kind>() == 8);)* };
    };
}

context! {
    /// The packet's fields.
    phv: *mut u64,
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
    compiled: *const Compiled,
    digests: *mut Vec<u32>,
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
    /// As in `Externs`.
    dropped_at: u64,
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

impl Context {
    /// All zero: no pointer is used before it is set.
    pub fn new() -> Context {
        // SAFETY: words of any kind, null pointers among them, may be zero.
        unsafe { std::mem::zeroed() }
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
    pub fn of(register: &Register) -> RegisterCells {
        let cells = &register.cells;
        RegisterCells { cells: cells.as_ptr(), len: cells.len() as u64, watched: 0 }
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
