//! Memory for machine code.

use std::io;

/// Machine code that can be run and no longer written.
#[derive(Debug)]
pub(crate) struct MachineCode {
    first: *mut libc::c_void,
    len: usize,
}

// SAFETY: the memory is never written after `new`, and unmapped only when the last owner drops the value.
unsafe impl Send for MachineCode {}
// SAFETY: as above.
unsafe impl Sync for MachineCode {}

impl MachineCode {
    /// Copies code into memory of its own.
    pub fn new(bytes: &[u8]) -> io::Result<MachineCode> {
        let len = bytes.len().max(1);
        // SAFETY: a new private mapping; nothing else refers to it.
        let first = unsafe {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0)
        };
        if first == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let code = MachineCode { first, len };
        // SAFETY: the mapping has room for `bytes`, and is writable until `mprotect`.
        let result = unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), first.cast::<u8>(), bytes.len());
            libc::mprotect(first, len, libc::PROT_READ | libc::PROT_EXEC)
        };
        match result {
            0 => Ok(code),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn address(&self, offset: usize) -> *const u8 {
        self.first.cast::<u8>().wrapping_add(offset)
    }
}

impl Drop for MachineCode {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it, and no code runs in it: callers borrow the value while it does.
        unsafe { libc::munmap(self.first, self.len) };
    }
}
