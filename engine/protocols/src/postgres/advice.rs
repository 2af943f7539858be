//! Remedies for server errors.

use loadcell_core::os;

/// Remedy for an SQLSTATE or a code of loadcell; empty where no general advice exists.
pub fn advice(code: &str) -> &'static str {
    match code {
        "28P01" => "check the user and the password",
        "28000" => "check the user, and what pg_hba.conf lets in from here and how",
        "3D000" => "create that database, or name one that is there",
        "42501" => "give the user the right to do that, or use one who has it",
        "42P01" | "3F000" => "load the data first, and check `search_path` in the target's options",
        "42P07" => "drop the old table, or load into another schema or database",
        "42703" => "the table is not what this workload loads: load the data again",
        "53100" => "make room on the server's disk, or load less",
        "53200" => "give the server more memory, or it less to do",
        "53300" => "raise max_connections on the server, or use fewer clients",
        "57P01" | "57P02" => "the server was shut down or has crashed: its log says why",
        "57P03" => "the server is still starting or already stopping: try again in a moment",
        "25006" => "the server only reads (a standby?): name the primary",
        "connection" => "check that the server runs, and its host and port",
        "timeout" => "check host and port and what lies between, or allow more time",
        "tls" => "check the server's certificate and its `ssl` setting, or choose another sslmode",
        "protocol" => "check that host and port are those of a PostgreSQL server",
        _ => os::advice(code),
    }
}
