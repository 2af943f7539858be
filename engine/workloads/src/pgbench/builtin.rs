//! Built-in scripts of pgbench.

/// A built-in script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    pub name: &'static str,
    pub description: &'static str,
    pub source: &'static str,
}

macro_rules! accounts_script {
    ($middle:literal) => {
        concat!(
            "\\set aid random(1, 100000 * :scale)\n",
            "\\set bid random(1, 1 * :scale)\n",
            "\\set tid random(1, 10 * :scale)\n",
            "\\set delta random(-5000, 5000)\n",
            "BEGIN;\n",
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n",
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
            $middle,
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, \
                CURRENT_TIMESTAMP);\n",
            "END;\n",
        )
    };
}

pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "TPC-B (sort of)",
        source: accounts_script!(
            "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\nUPDATE \
                pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
        ),
    },
    Builtin { name: "simple-update", description: "simple update", source: accounts_script!("") },
    Builtin {
        name: "select-only",
        description: "select only",
        source: "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = \
            :aid;\n",
    },
];

/// Find the built-in script by a prefix of its name. Fails with the reason.
pub fn find(beginning: &str) -> Result<Builtin, String> {
    let names = || BUILTINS.map(|b| b.name).join(", ");
    let mut matches = BUILTINS.iter().filter(|b| b.name.starts_with(beginning));
    match (matches.next(), matches.next()) {
        (Some(builtin), None) => Ok(*builtin),
        (None, _) => Err(format!("no builtin script {beginning:?}; there are {}", names())),
        (Some(_), Some(_)) => Err(format!("ambiguous builtin script {beginning:?}; there are {}", names())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_prefix_selects_a_script() {
        assert_eq!(find("t").unwrap().name, "tpcb-like");
        assert_eq!(find("si").unwrap().name, "simple-update");
        assert_eq!(find("select-only").unwrap().name, "select-only");
        assert!(find("s").unwrap_err().contains("ambiguous"));
        assert!(find("no-such-builtin").unwrap_err().contains("no builtin script \"no-such-builtin\""));
    }
}
