//! Engines in C and C++, found in shared libraries at run time: who has none of them can build and use all the rest.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Fault;
use super::fault::LIBRARY;

/// Any of a library's objects, or functions.
pub type Object = *mut c_void;

/// Where libraries lie, besides where the dynamic linker looks itself.
const PLACES: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"];

/// Makes a struct of a library's functions, which are declared as in its header, without their common prefix.
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
                        let found = library.function(concat!($prefix, stringify!($name)))?;
                        // SAFETY: a function of this name has this signature.
                        unsafe {
                            std::mem::transmute::<
                                $crate::library::Object,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(found)
                        }
                    },)*
                })
            }
        }
    };
}
pub(super) use functions;

/// A shared library. It stays for the life of the process, as threads of its own may.
pub struct Library {
    handle: Object,
    /// What it was asked for by, and where that was found.
    asked: PathBuf,
}

impl Library {
    /// The library that is named, or the one that this machine has: `of` reads its functions, which it must have.
    /// `product` is whose it is, `name` what its file is called, whatever its version.
    pub fn find<F>(
        product: &str,
        name: &str,
        named: Option<&Path>,
        of: impl Fn(&Self) -> Result<F, String>,
    ) -> Result<(Self, F), Fault> {
        let open = |path: PathBuf| {
            let library = Self::open(path)?;
            let functions = of(&library)?;
            Ok((library, functions))
        };
        let absent = |why: String| Fault::fatal(LIBRARY, why);
        if let Some(path) = named {
            let wrong = |why| absent(format!("{} is no library of {product}: {why}", path.display()));
            return open(path.into()).map_err(wrong);
        }
        let mut first: Option<String> = None;
        for path in std::iter::once(PathBuf::from(name)).chain(versions(name)) {
            match open(path) {
                Ok(found) => return Ok(found),
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
        // SAFETY: a valid name; what the library does when it is loaded is its makers' care.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() { Err(linker_said()) } else { Ok(Self { handle, asked }) }
    }

    pub fn function(&self, name: &str) -> Result<Object, String> {
        let symbol = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: a handle that is never closed, and a name.
        let found = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        if found.is_null() { Err(format!("it has no function {name}")) } else { Ok(found) }
    }

    /// The file that a function of it was loaded from, links resolved.
    pub fn path(&self, function: &str) -> PathBuf {
        let found = self.function(function).ok().and_then(file_of).unwrap_or_else(|| self.asked.clone());
        found.canonicalize().unwrap_or(found)
    }
}

/// The libraries of every version that lie where libraries lie, the newest first as far as names tell.
fn versions(name: &str) -> impl Iterator<Item = PathBuf> {
    let listed = PLACES.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let ours =
        |path: &PathBuf| path.file_name().is_some_and(|file| file.as_bytes().starts_with(name.as_bytes()));
    let mut found: Vec<_> = listed.map(|entry| entry.path()).filter(ours).collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.into_iter()
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

fn linker_said() -> String {
    // SAFETY: the text is the linker's own, and is copied at once.
    let said = unsafe { libc::dlerror() };
    if said.is_null() {
        return "the dynamic linker did not say why".into();
    }
    unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
}

/// Bytes that a library shows.
///
/// # Safety
/// `size` bytes lie at `start` for as long as the result is used.
pub unsafe fn bytes<'b, T>(start: *const T, size: usize) -> &'b [u8] {
    if size == 0 {
        return &[];
    }
    // SAFETY: as promised.
    unsafe { std::slice::from_raw_parts(start.cast(), size) }
}
