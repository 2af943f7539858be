//! The part of SQLite's C interface that is used (sqlite3.h).

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::path::Path;

use crate::Fault;
use crate::library::{self, Library, Object, functions};

functions! {
    "sqlite3_";
    libversion: fn() -> *const c_char;
    threadsafe: fn() -> c_int;
    open_v2: fn(*const c_char, *mut Object, c_int, *const c_char) -> c_int;
    close_v2: fn(Object) -> c_int;
    busy_timeout: fn(Object, c_int) -> c_int;
    exec: fn(Object, *const c_char, Object, Object, Object) -> c_int;
    prepare_v3: fn(Object, *const c_char, c_int, c_uint, *mut Object, Object) -> c_int;
    finalize: fn(Object) -> c_int;
    bind_blob: fn(Object, c_int, *const u8, c_int, Object) -> c_int;
    step: fn(Object) -> c_int;
    reset: fn(Object) -> c_int;
    column_blob: fn(Object, c_int) -> *const u8;
    column_bytes: fn(Object, c_int) -> c_int;
    errmsg: fn(Object) -> *const c_char;
    errstr: fn(c_int) -> *const c_char;
}

/// SQLite's library.
pub type Loaded = library::Loaded<Functions>;

/// Load SQLite's library at `named`, or search the system for it.
pub fn find(named: Option<&Path>) -> Result<Loaded, Fault> {
    // SAFETY: the signatures are those of SQLite's header.
    Library::find("SQLite", "libsqlite3.so", "sqlite3_libversion", named, |library| unsafe {
        Functions::of(library)
    })
}

impl Loaded {
    pub fn version(&self) -> String {
        // SAFETY: a constant of the library.
        unsafe { CStr::from_ptr((self.libversion)()) }.to_string_lossy().into_owned()
    }
}
