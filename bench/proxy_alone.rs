//! The proxy of faults in its own process, without effects, to be measured beside `bare_splice`.
//!
//! It prints its port, and at the end of its standard input the CPU time of its process in nanoseconds.
//!
//!     proxy_alone PORT

use std::io::Read;

use loadcell_proxy::{Proxy, Spec};

fn main() {
    let upstream: u16 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("proxy_alone PORT");
    let spec = format!(
        r#"{{"target": {{"protocol": "resp", "host": "127.0.0.1", "port": {upstream}, "sslmode": "disable",
            "connect_timeout_ns": 1}}, "threads": 1, "connections": 100, "processors": [], "seed": 1}}"#
    );
    let spec: Spec = serde_json::from_str(&spec).expect("a description");
    let proxy = Proxy::start(&spec).expect("a proxy");
    println!("{}", proxy.address().port());
    let _ = std::io::stdin().read(&mut [0]);
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    println!("{}", time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
}
