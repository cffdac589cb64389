//! Tables as native code looks them up.

use crate::state::row::RowShape;
use crate::state::table::TableState;

/// Finds the row for the key at the pointer.
pub(crate) type Find = extern "C" fn(*mut TableState, *const u64) -> *mut u64;

/// The function that finds rows in this kind of table.
pub(crate) fn find(shape: &RowShape) -> *const u8 {
    let find: Find = match (shape.words.len(), shape.ordered, shape.prefixed) {
        (1, false, false) => find_exact::<1>,
        (2, false, false) => find_exact::<2>,
        (3, false, false) => find_exact::<3>,
        (4, false, false) => find_exact::<4>,
        (1, false, true) => find_prefix,
        _ => find_any,
    };
    find as *const u8
}

extern "C" fn find_exact<const WORDS: usize>(table: *mut TableState, key: *const u64) -> *mut u64 {
    // SAFETY: native code passes a table of the pipeline that runs, which nothing else borrows meanwhile,
    // and a key of as many words as the table has.
    let (table, key) = unsafe { (&mut *table, &*key.cast::<[u64; WORDS]>()) };
    let row = table.search_exact(key);
    table.address(row)
}

/// One field of at most 64 bits, its longest matching prefix.
extern "C" fn find_prefix(table: *mut TableState, key: *const u64) -> *mut u64 {
    // SAFETY: as in `find_exact`.
    let (table, key) = unsafe { (&mut *table, *key) };
    let row = table.search_prefix(key);
    table.address(row)
}

extern "C" fn find_any(table: *mut TableState, key: *const u64) -> *mut u64 {
    // SAFETY: as in `find_exact`.
    let (table, key) = unsafe {
        let table = &mut *table;
        let words = table.shape.words.len();
        (table, std::slice::from_raw_parts(key, words))
    };
    let row = table.search(key);
    table.address(row)
}
