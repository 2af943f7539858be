//! Remedies for server errors.

use super::error::NO_DATABASE;
use loadcell_core::error::MAX_CLIENTS;
use loadcell_core::os;

/// Remedy for the first word of an error or a code of loadcell; empty where no general advice exists.
pub fn advice(code: &str) -> &'static str {
    match code {
        "NOAUTH" => "the server wants a password: give `password` (and `user`, where it has users)",
        "WRONGPASS" => "check the user and the password",
        "NOPERM" => "give the user the right to do that (ACL SETUSER), or use one who has it",
        "NOPROTO" => "the server does not speak this version of the protocol: use `resp: 2`",
        "WRONGTYPE" => {
            "the key holds another type of value: give this command keys of its own, with another prefix"
        }
        "OOM" => {
            "the server has used up its maxmemory: raise it, choose a maxmemory-policy that evicts, or load less"
        }
        "MOVED" | "ASK" | "CROSSSLOT" | "CLUSTERDOWN" | "TRYAGAIN" => {
            "the server is a node of a cluster, and loadcell speaks to one server: name one that is not in cluster mode, or a \
             proxy of the cluster"
        }
        "READONLY" => "the server is a replica: name its primary",
        "LOADING" => "the server is still reading its data from disk: try again in a moment",
        "BUSY" => "a script runs on the server and keeps it busy: wait for it, or end it with SCRIPT KILL",
        "MISCONF" => {
            "the server could not save its data and takes no writes: make room on its disk, see its log"
        }
        "MASTERDOWN" | "NOREPLICAS" => "look after the server's replication",
        "UNKILLABLE" | "NOSCRIPT" => "look at the scripts that run on the server",
        "EXECABORT" => "give the commands of a transaction one by one",
        MAX_CLIENTS => "raise the server's maxclients (and its limit of open files), or use fewer clients",
        NO_DATABASE => "name a database below the server's `databases` (16, unless it was set)",
        "lost" | "stale" | "corrupt" => {
            "the server lost or mixed up what it had acknowledged: do not trust it with data; see that nobody else writes \
             these keys, and that maxmemory evicts none"
        }
        "connection" => "check that the server runs, and its host and port",
        "timeout" => "check host and port and what lies between, or allow more time",
        "tls" => {
            "check the server's certificate and that its port is one for TLS (tls-port), or choose another `tls`"
        }
        "protocol" => "check that host and port are those of a Redis server, and whether it wants TLS",
        _ => os::advice(code),
    }
}
