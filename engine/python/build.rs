//! Builds the library that targets load for faults (`preload`), which the module carries.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

const SOURCES: [&str; 3] = ["control.c", "clock.c", "storage.c"];

fn main() {
    println!("cargo::rerun-if-changed=preload");
    let library = Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("preload.so");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux")
        || env::var("CARGO_CFG_TARGET_POINTER_WIDTH").as_deref() != Ok("64")
    {
        fs::write(&library, []).expect("the output directory is writable");
        return;
    }
    // The crate makes archives only; its compiler is the one for the target, that of zig included.
    let mut command: Command = cc::Build::new()
        .pic(true)
        .opt_level(2)
        .debug(false)
        .warnings(true)
        .extra_warnings(true)
        .flag("-std=gnu11")
        .flag("-fvisibility=hidden")
        .get_compiler()
        .to_command();
    command.args(["-shared", "-Wl,-z,relro,-z,now", "-Wl,-s", "-o"]).arg(&library);
    command.args(SOURCES.map(|name| Path::new("preload").join(name))).arg("-ldl");
    let status = command.status().expect("a C compiler is needed to build the engine");
    assert!(status.success(), "the library for faults does not compile: {command:?}");
}
