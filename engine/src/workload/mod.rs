//! What to say: each workload decides the operations, their mix and their data.
