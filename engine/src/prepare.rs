//! Loads data into a target, fast and in parallel.
