//! Engines in C and C++, loaded from shared libraries at run time, so that building needs none of them.

use std::ffi::{CStr, CString, c_void};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Fault;
use super::fault::LIBRARY;

/// Pointer to an object or function of a library.
pub type Object = *mut c_void;

/// Directories searched besides those of the dynamic linker.
const DIRECTORIES: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Define a struct of a library's functions, declared as in its header without their common prefix.
macro_rules! functions {
    ($prefix:literal; $($name:ident: fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// The library's functions have these signatures.
            unsafe fn of(library: &$crate::library::Library) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        let result = library.function(concat!($prefix, stringify!($name)))?;
                        // SAFETY: a function of this name has this signature.
                        unsafe {
                            std::mem::transmute::<
                                $crate::library::Object,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(result)
                        }
                    },)*
                })
            }
        }
    };
}
pub(super) use functions;

/// Functions of a library, and the path of its file.
pub struct Loaded<F> {
    functions: F,
    pub path: PathBuf,
}

impl<F> Deref for Loaded<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.functions
    }
}

/// A shared library. Never unloaded, as it may have threads.
pub struct Library {
    handle: Object,
    /// Path or name by which it was loaded.
    asked: PathBuf,
}

impl Library {
    /// Load the library at `named`, or search the system for `name` in any version. `of` resolves its
    /// functions, all of which must exist; `function` is one of them. `product` is the name for messages.
    pub fn find<F>(
        product: &str,
        name: &str,
        function: &str,
        named: Option<&Path>,
        of: impl Fn(&Self) -> Result<F, String>,
    ) -> Result<Loaded<F>, Fault> {
        let open = |path: PathBuf| {
            let library = Self::open(path)?;
            Ok(Loaded { functions: of(&library)?, path: library.path(function) })
        };
        let absent = |why: String| Fault::fatal(LIBRARY, why);
        if let Some(path) = named {
            let wrong = |why| absent(format!("{} is no library of {product}: {why}", path.display()));
            return open(path.into()).map_err(wrong);
        }
        let mut first: Option<String> = None;
        for path in std::iter::once(PathBuf::from(name)).chain(versions(name)) {
            match open(path) {
                Ok(result) => return Ok(result),
                Err(why) => drop(first.get_or_insert(why)),
            }
        }
        Err(absent(format!(
            "the library of {product} is not on this machine ({})",
            first.unwrap_or_default()
        )))
    }

    fn open(asked: PathBuf) -> Result<Self, String> {
        let name = CString::new(asked.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: a valid name; the library's initialisers are trusted.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() { Err(linker_error()) } else { Ok(Self { handle, asked }) }
    }

    pub fn function(&self, name: &str) -> Result<Object, String> {
        let symbol = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: a handle that is never closed, and a name.
        let result = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        if result.is_null() { Err(format!("it has no function {name}")) } else { Ok(result) }
    }

    /// Path of the file that contains a function, with links resolved.
    fn path(&self, function: &str) -> PathBuf {
        let result = self.function(function).ok().and_then(file_of).unwrap_or_else(|| self.asked.clone());
        result.canonicalize().unwrap_or(result)
    }
}

/// Installed versions of a library, the newest first by name.
fn versions(name: &str) -> impl Iterator<Item = PathBuf> {
    let listed =
        DIRECTORIES.iter().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten().flatten();
    let ours =
        |path: &PathBuf| path.file_name().is_some_and(|file| file.as_bytes().starts_with(name.as_bytes()));
    let mut result: Vec<_> = listed.map(|entry| entry.path()).filter(ours).collect();
    result.sort_unstable_by(|first, second| second.cmp(first));
    result.into_iter()
}

fn file_of(function: Object) -> Option<PathBuf> {
    // SAFETY: all zeros are a valid `Dl_info`; the name it is given lives as long as the library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(function, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes())))
    }
}

fn linker_error() -> String {
    // SAFETY: the message belongs to the linker and is copied at once.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "the dynamic linker did not say why".into();
    }
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// Bytes owned by a library.
///
/// # Safety
///
/// `size` bytes lie at `start` for as long as the result is used.
pub unsafe fn bytes<'b, T>(start: *const T, size: usize) -> &'b [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: as promised.
    unsafe { std::slice::from_raw_parts(start.cast(), size) }
}
