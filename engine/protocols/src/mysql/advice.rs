//! Remedies for server errors.

use loadcell_core::os;

/// Remedy for a SQLSTATE, a server error number or a code of loadcell; empty where no general advice exists.
pub fn advice(code: &str) -> &'static str {
    match code {
        "28000" => "check the user, the password, and from where that user may come",
        "08004" => "raise max_connections on the server, or use fewer clients",
        "08S01" => "the server was shut down or has crashed: its log says why",
        "1927" | "3169" => "somebody ended this connection (KILL): let nobody do so",
        "1203" | "1226" => "raise max_user_connections of the server or the user, or use fewer clients",
        "1461" => {
            "raise max_prepared_stmt_count on the server (each client prepares every statement for every table), \
             or use `protocol: simple`, fewer clients, or fewer tables"
        }
        "1049" => "create that database, or name one that is there",
        "1044" | "1142" | "1143" | "1227" | "1370" => {
            "give the user the right to do that, or use one who has it"
        }
        "42S02" => "load the data first, and check the database",
        "42S01" => "drop the old table, or load into another database",
        "42S22" => "the table is not what this workload loads: load the data again",
        "1148" | "3948" | "4166" => "let the server take LOAD DATA LOCAL (`SET GLOBAL local_infile = ON`)",
        "1021" | "1114" => "make room on the server's disk, or load less",
        "1037" | "1038" | "1041" => "give the server more memory, or it less to do",
        "1129" => "the server has refused this host after too many errors: `FLUSH HOSTS` there",
        "1130" => "let the server's user come from this host",
        "1153" => "raise max_allowed_packet on the server",
        "1205" => {
            "transactions waited for locks longer than innodb_lock_wait_timeout: use fewer clients, or more rows"
        }
        "1290" | "1836" => "the server only reads: name the primary",
        "3159" => "the server wants TLS: choose another sslmode",
        "connection" => "check that the server runs, and its host and port",
        "timeout" => "check host and port and what lies between, or allow more time",
        "tls" => "check the server's certificate and its TLS settings, or choose another sslmode",
        "auth" => {
            "give the user another plugin (mysql_native_password, caching_sha2_password), or use TLS where it is needed"
        }
        "protocol" => "check that host and port are those of a MySQL or MariaDB server",
        _ => os::advice(code),
    }
}
