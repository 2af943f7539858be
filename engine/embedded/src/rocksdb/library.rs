//! The part of RocksDB's C interface that is used (rocksdb/c.h). It is unchanged since RocksDB 6.

use crate::fault::classify;
use std::ffi::{CStr, c_char, c_int, c_uchar};
use std::path::Path;

use crate::Fault;
use crate::library::{self, Library, Object, functions};

functions! {
    "rocksdb_";
    options_create: fn() -> Object;
    options_destroy: fn(Object);
    options_set_create_if_missing: fn(Object, c_uchar);
    options_set_create_missing_column_families: fn(Object, c_uchar);
    options_set_block_based_table_factory: fn(Object, Object);
    block_based_options_create: fn() -> Object;
    block_based_options_destroy: fn(Object);
    block_based_options_set_block_cache: fn(Object, Object);
    cache_create_lru: fn(usize) -> Object;
    cache_destroy: fn(Object);
    open_column_families: fn(
        Object, *const c_char, c_int, *const *const c_char, *const Object, *mut Object, *mut *mut c_char,
    ) -> Object;
    column_family_handle_destroy: fn(Object);
    close: fn(Object);
    writeoptions_create: fn() -> Object;
    writeoptions_destroy: fn(Object);
    writeoptions_set_sync: fn(Object, c_uchar);
    readoptions_create: fn() -> Object;
    readoptions_destroy: fn(Object);
    get_pinned_cf: fn(Object, Object, Object, *const c_char, usize, *mut *mut c_char) -> Object;
    pinnableslice_value: fn(Object, *mut usize) -> *const c_char;
    pinnableslice_destroy: fn(Object);
    multi_get_cf: fn(
        Object, Object, *const Object, usize, *const *const c_char, *const usize,
        *mut *mut c_char, *mut usize, *mut *mut c_char,
    );
    writebatch_create: fn() -> Object;
    writebatch_destroy: fn(Object);
    writebatch_clear: fn(Object);
    writebatch_put_cf: fn(Object, Object, *const c_char, usize, *const c_char, usize);
    writebatch_delete_cf: fn(Object, Object, *const c_char, usize);
    write: fn(Object, Object, Object, *mut *mut c_char);
    flush_wal: fn(Object, c_uchar, *mut *mut c_char);
    create_iterator_cf: fn(Object, Object, Object) -> Object;
    iter_destroy: fn(Object);
    iter_seek: fn(Object, *const c_char, usize);
    iter_valid: fn(Object) -> c_uchar;
    iter_next: fn(Object);
    iter_key: fn(Object, *mut usize) -> *const c_char;
    iter_value: fn(Object, *mut usize) -> *const c_char;
    iter_get_error: fn(Object, *mut *mut c_char);
    free: fn(Object);
}

/// RocksDB's library.
pub type Loaded = library::Loaded<Functions>;

/// Load RocksDB's library at `named`, or search the system for it.
pub fn find(named: Option<&Path>) -> Result<Loaded, Fault> {
    // SAFETY: the signatures are those of RocksDB's header.
    Library::find("RocksDB", "librocksdb.so", "rocksdb_close", named, |library| unsafe {
        Functions::of(library)
    })
}

impl Loaded {
    /// Version from the file name (`librocksdb.so.7.8.3`); the C interface does not provide it.
    pub fn version(&self) -> Option<String> {
        let (_, version) = self.path.file_name()?.to_str()?.split_once(".so.")?;
        Some(version.into())
    }

    /// Call a function that may return an error.
    #[inline]
    pub fn checked<R>(&self, call: impl FnOnce(*mut *mut c_char) -> R) -> Result<R, Fault> {
        let mut error = std::ptr::null_mut();
        let result = call(&mut error);
        if error.is_null() { Ok(result) } else { Err(self.fault(error)) }
    }

    /// Convert an error, and free it.
    #[cold]
    pub fn fault(&self, error: *mut c_char) -> Fault {
        // SAFETY: a text allocated with malloc by RocksDB, owned by the caller.
        let message = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
        unsafe { (self.free)(error.cast()) };
        classify(&message)
    }
}
