//! Sessions that carry SQL workloads.
