//! Behaviour of scripts, as fixed by pgbench's own tests or observed with pgbench 15.18.

use super::super::client::RunResult;
use super::super::statement::{Statement, Store};
use super::super::{Client, Mode, Next, Program, Run, builtin};
use super::*;

/// Values fixed by pgbench's own tests.
const VALUES: &[(&str, &str)] = &[
    ("abs(-4)", "int 4"),
    ("greatest(5, 4, 3, 2)", "int 5"),
    ("11 + least(-5, -4, -3, -2)", "int 6"),
    ("int(7.3)", "int 7"),
    ("17 / (4|1) + ( 4 + (7 >> 2))", "int 8"),
    ("- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1", "int 9"),
    ("10 + (0 + 0 * 0 - 0 / 1)", "int 10"),
    ("64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)", "int 12"),
    ("sqrt(+1.5 * 2.0) * abs(-0.8E1)", "double 13.856406460551"),
    ("double(1 + 1) * (-75.0 / :foo)", "double 14.8514851485149"),
    ("pi() * 4.9", "double 15.3938040025900"),
    ("greatest(4, 2, -1.17) * 4.0 * Ln(Exp(1.0))", "double 16"),
    ("least(-5.18, .0E0, 1.0/0) * -3.3", "double 17.094"),
    ("pow(-3,3)", "double -27"),
    ("pow(2.0,10)", "double 1024"),
    ("pow(0,0)", "double 1"),
    ("pow(-2,-3)", "double -0.125"),
    ("power(-5.0,-5.0)", "double -0.00032"),
    ("pow(9223372036854775807, 2)", "double 8.50705917302346e+37"),
    ("pow(10,30)", "double 1e+30"),
    ("1.0 = 0.0 and 1.0 != 0.0", "boolean false"),
    ("0 = 1 Or 1.0 = 1", "boolean true"),
    ("case when 0 < 1 then 32 else 0 end", "int 32"),
    ("case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end ", "double 34"),
    (
        "case when (1 > 0) and (1 >= 0) and (0 < 1) and (0 <= 1) and (0 != 1) and (0 = 0) and (0 <> 1) then \
            35 else 0 end",
        "int 35",
    ),
    ("CASE \\\n   WHEN (1.0 > 0.0) AND \\\n (0.0 = 0.0) \\\n THEN 36 \\\n  ELSE 0 \\\n END", "int 36"),
    ("CASE WHEN NOT FALSE THEN 3 * 12.3333334 END", "double 37.0000002"),
    ("case when false then 0 when 1-1 <> 0 then 1 else 38 end", "int 38"),
    ("10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)", "int 39"),
    (
        "NOT (0 > 1) AND (1 <= 1) AND NOT (0 >= 1) AND (0 < 1) AND \\\n NOT (false and true) AND (false OR \
            TRUE) AND (NOT :f) AND (NOT FALSE) AND \\\n NOT (NOT TRUE)",
        "boolean true",
    ),
    ("NULL + NULL * exp(NULL)", "null"),
    ("NOT (:n IS NOT NULL OR :d IS NULL)", "boolean true"),
    (":n IS NULL AND :d IS NOT NULL AND :d NOTNULL", "boolean true"),
    ("NULL ISNULL AND NOT NULL IS TRUE AND NULL IS NOT FALSE", "boolean true"),
    ("CASE WHEN :n IS NULL THEN 46 ELSE NULL END", "int 46"),
    (
        "CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :n THEN NULL ELSE TRUE END",
        "boolean true",
    ),
    ("hash(10, 5432)", "int -5817877081768721676"),
    ("hash(10, 5432) = hash_murmur2(10, 5432)", "boolean true"),
    ("hash_fnv1a(10, 5432)", "int -7793829335365542153"),
    ("hash(10) = hash(10, :default_seed)", "boolean true"),
    ("case when :zy = 0 then -1 else (1 / :zy) end", "int -1"),
    ("case when :zy = 0 or (1 / :zy) < 0 then -1 else (1 / :zy) end", "int -1"),
    ("case when :zy > 0 and (1 / :zy) < 0 then (1 / :zy) else 1 end", "int 1"),
    (":scale", "int 1"),
    (":client_id", "int 0"),
    (":random_seed", "int 5432"),
    ("-9223372036854775808", "int -9223372036854775808"),
    ("-(-9223372036854775808 + 1)", "int 9223372036854775807"),
    ("permute(0, 2) + permute(1, 2) = 1", "boolean true"),
    ("permute(0, 3) + permute(1, 3) + permute(2, 3) = 3", "boolean true"),
    ("permute(17, 1)", "int 0"),
    ("permute(0, 2, 5431) = 0 and permute(1, 2, 5431) = 1 and permute(0, 2, 5433) = 1", "boolean true"),
    ("permute(9223372036854775796, 9223372036854775797, 5432)", "int 520382784483822430"),
    // First draws of the first client with this seed.
    ("random(10, 19)", "int 17"),
];

/// Further behaviour observed with pgbench 15.18.
const SEEN: &[(&str, &str)] = &[
    ("null and false", "null"),
    ("false and null", "boolean false"),
    ("null or true", "null"),
    ("null and 1", "null"),
    ("1 is true", "boolean false"),
    ("null is null", "boolean true"),
    ("1 is null is null", "boolean false"),
    ("1 << 65", "int 2"),
    ("-9 >> 1", "int -5"),
    ("int(2.5)", "int 2"),
    ("int(3.5)", "int 4"),
    ("abs(-9223372036854775808)", "int -9223372036854775808"),
    ("greatest(1, 0.0/0)", "double NaN"),
    ("least(0.0/0,1)", "double 1"),
    ("-7 / 2", "int -3"),
    ("-7 % 2", "int -1"),
    ("5.5 % 2", "int 0"),
    ("1.0/0", "double Infinity"),
    ("-1.0/0", "double -Infinity"),
    ("1e-5", "double 1e-05"),
    ("-0.0", "double 0"),
    ("1 = 1.0", "boolean true"),
    ("~1 + 2", "int -4"),
    ("~ 1 | 2", "int -2"),
    ("1 | 2 & 1", "int 1"),
    ("2 - 3 - 4", "int -5"),
    ("- 2 * 3 - -4", "int -2"),
    ("least(,1)", "int 1"),
    ("1.e3 + 1e+2 + 1E-1 + 5.", "double 1105.1"),
    ("CaSe WhEn TrUe ThEn ABS(-1) EnD", "int 1"),
    ("case when null then 1 end", "null"),
    ("1 + case when 1 < 2 then 3 else 4 end * 2", "int 7"),
    ("case when true then 1 else 2 end + 3", "int 4"),
    ("-9223372036854775808 % -1", "int 0"),
    ("9223372036854775807 + 0.0", "double 9.22337203685478e+18"),
    (":t or :f and :f", "boolean true"),
    ("not :f = :f", "cannot coerce boolean to int"),
    (":i", "int 3"),
];

#[test]
fn expressions_match_pgbench() {
    let defined =
        [("foo", "-10.1"), ("i", "+3"), ("n", "null"), ("t", "t"), ("f", "of"), ("d", "1.0"), ("zy", "0")];
    for (expression, expected) in VALUES.iter().chain(SEEN) {
        let actual = value(expression, &defined);
        let number = |text: &str| text.strip_prefix("double ").and_then(|d| d.parse::<f64>().ok());
        match (number(&actual), number(expected)) {
            (Some(actual), Some(expected)) if expected.is_finite() => {
                assert!(
                    (actual - expected).abs() <= expected.abs() * 1e-13,
                    "{expression}: {actual}, not {expected}"
                );
            }
            _ => assert_eq!(actual, *expected, "{expression}"),
        }
    }
}

#[test]
fn constant_folding_changes_no_value() {
    // Variables instead of constants prevent constant folding.
    let defined = [("a", "7"), ("b", "-3"), ("c", "2.5"), ("n", "null"), ("t", "true")];
    let constants = [("7", ":a"), ("(-3)", ":b"), ("2.5", ":c"), ("null", ":n"), ("true", ":t")];
    let operators = [
        "+", "-", "*", "/", "%", "|", "&", "#", "<<", ">>", "<", "<=", ">", ">=", "=", "<>", "!=", "and",
        "or",
    ];
    for (constant, variable) in constants {
        for (right, right_variable) in constants {
            for operator in operators {
                assert_eq!(
                    value(&format!("{constant} {operator} {right}"), &[]),
                    value(&format!("{variable} {operator} {right_variable}"), &defined),
                    "{constant} {operator} {right}"
                );
            }
        }
    }
}

#[test]
fn first_client_draws_like_pgbench() {
    let script = "\\set a debug(random(10, 19))\n\\set a debug(random_exponential(100, 199, 10.0))\n\
                  \\set a debug(random_gaussian(1000, 1999, 10.0))\n\
                  \\set a debug(random_zipfian(1, 9, 1.3))\n";
    let (shown, ended) = run(script, &[], Mode::Simple);
    assert_eq!(ended, Ok(()));
    let values: Vec<_> = shown.iter().map(|line| line.split_once(": ").unwrap().1).collect();
    assert_eq!(values, ["int 17", "int 104", "int 1498", "int 3"]);
}

#[test]
fn right_side_of_greater_than_draws_first() {
    // `a > b` is `b < a` in pgbench, also in its order of evaluation.
    let draws = |script: &str| run(script, &[], Mode::Simple).0;
    let first = draws("\\set a random(1, 1000000)\n\\set b random(1, 1000000)\nSELECT :a, :b;");
    let (a, b) = first[0][7..first[0].len() - 1].split_once(", ").unwrap();
    let greater = draws("\\set x debug(debug(random(1, 1000000)) > debug(random(1, 1000000)))\n");
    assert_eq!(greater[0], format!("debug(script=0,command=1): int {a}"));
    assert_eq!(greater[1], format!("debug(script=0,command=1): int {b}"));
    let holds = b.parse::<i64>().unwrap() > a.parse::<i64>().unwrap();
    assert_eq!(greater[2], format!("debug(script=0,command=1): boolean {holds}"));
}

#[test]
fn conditionals_run_one_branch_and_nest() {
    for (script, expected) in [
        ("\\if 1 > 0\na;\n\\elif 0\nb;\n\\else\nc;\n\\endif\n", "a;"),
        ("\\if 1 < 0\na;\n\\elif 1 > 0\nb;\n\\else\nc;\n\\endif\n", "b;"),
        ("\\if 1 < 0\na;\n\\elif 1 < 0\nb;\n\\else\nc;\n\\endif\n", "c;"),
        ("\\if 1 = 1\na;\n\\elif 0\nb;\n\\endif\nd;", "a; d;"),
        ("\\if 1 = 0\na;\n\\elif 0\nb;\n\\endif\nd;", "d;"),
        ("\\if null\na;\n\\elif 0.0\nb;\n\\elif 0.1\nc;\n\\endif", "c;"),
        (
            "\\if 0\n\\if 1\na;\n\\else\nb;\n\\endif\n\\elif 1\n\\if \
                0\nc;\n\\else\nd;\n\\endif\n\\else\ne;\n\\endif\nf;",
            "d; f;",
        ),
        ("\\if true\n\\if true\na;\n\\endif\nb;\n\\elif 1/0 = 1\nc;\n\\else\nd;\n\\endif", "a; b;"),
        ("\\if 1 \\\n = 1\na;\n\\endif", "a;"),
    ] {
        let (events, ended) = run(script, &[], Mode::Simple);
        assert_eq!((events.join(" ").as_str(), ended), (expected, Ok(())), "{script}");
    }
}

#[test]
fn statements_sleeps_and_shell_commands_are_returned_in_order() {
    for (script, expected) in [
        ("SELECT 1 \\set x 5\nSELECT :x;", &["SELECT 1 ", "SELECT 5;"][..]),
        (
            "\\set v0 NULL\n\\set v1 TRUE\n\\set v2 5432\n\\set v3 -54.21E-2\nSELECT :v0, :v1, :v2, :v3;",
            &["SELECT NULL, true, 5432, -0.5421;"],
        ),
        (
            "\\set one 1.0\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep 2ms\n\\sleep 3\n\\sleep \
                -1ms\n\\sleep 1 MS",
            &[
                "sleep 1000",
                "sleep 100",
                "sleep 0",
                "sleep 2000",
                "sleep 3000000",
                "sleep -1000",
                "sleep 1000",
            ],
        ),
        (
            "\\setshell another_one\\\n  echo \\\n    :one\n\\shell echo :: ::x :foo x:foo",
            &["setshell echo 1", "shell echo : :x bla x:foo"],
        ),
        (
            "\\ set x debug(1)\n\\SET y debug(2)\n\\\n\\set z debug(:x + :y)\r\n",
            &[
                "debug(script=0,command=1): int 1",
                "debug(script=0,command=2): int 2",
                "debug(script=0,command=3): int 3",
            ],
        ),
        (
            "\\; \\; SELECT 0 AS i5 \\; SELECT 5 AS i5 \\; \\; \\gset\n",
            &["; ; SELECT 0 AS i5 ; SELECT 5 AS i5 ; ; "],
        ),
    ] {
        let (events, ended) = run(script, DEFINED, Mode::Simple);
        assert_eq!(
            (&events[..], ended),
            (&expected.iter().map(|e| e.to_string()).collect::<Vec<_>>()[..], Ok(())),
            "{script}"
        );
    }
}

fn statement<'p>(client: &mut Client, program: &'p Program) -> &'p Statement {
    match client.next(program) {
        Ok(Next::Sql { statement, .. }) => statement,
        other => panic!("a statement was expected, not {other:?}"),
    }
}

/// Set variables from a row: column names and texts in order; NULL becomes an empty text, as in pgbench.
fn store<'r>(
    client: &mut Client,
    program: &Program,
    store: &Store,
    row: impl IntoIterator<Item = (&'r [u8], Option<&'r [u8]>)>,
) -> RunResult<()> {
    for (column, value) in row {
        if let Some(slot) = client.column(program, store, column)? {
            client.variables.set_text(slot, value.unwrap_or_default());
        }
    }
    Ok(())
}

#[test]
fn gset_and_aset_store_a_row_under_a_prefix() {
    let program = program(
        "select 1 as a, null as b \\gset p_\nselect 2 as a \\aset\n\\set s :p_a + :a\nselect :s, ':p_b', :c;",
        &[],
        Mode::Simple,
    )
    .unwrap();
    let mut client = program.client(0);
    client.begin(0);

    let gset = statement(&mut client, &program).store.as_ref().unwrap();
    assert!(!gset.all);
    let row = [(&b"a"[..], Some(&b"1"[..])), (b"b", None), (b"unused", Some(b"x"))];
    store(&mut client, &program, gset, row).unwrap();
    for bad in ["?column?", "bad name!"] {
        let error = store(&mut client, &program, gset, [(bad.as_bytes(), None)]).unwrap_err();
        assert!(error.finding.contains(&format!("error storing into variable p_{bad}")), "{error}");
    }
    let error = client.row_count_failure(&program, gset, 2);
    assert!(error.to_string().starts_with("test.sql:1:26: expected one row, got 2\n"), "{error}");

    let aset = statement(&mut client, &program).store.as_ref().unwrap();
    assert!(aset.all && aset.prefix.is_empty());
    store(&mut client, &program, aset, [(&b"a"[..], Some(&b"2"[..]))]).unwrap();

    let mut out = Vec::new();
    statement(&mut client, &program).write(&client.variables, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "select 3, '', :c;");
}

#[test]
fn setshell_takes_an_integer() {
    let program = program("\\setshell x ls\n\\set y debug(:x)\n", &[], Mode::Simple).unwrap();
    let mut client = program.client(0);
    client.begin(0);
    let Ok(Next::SetShell { command, slot, .. }) = client.next(&program) else { panic!() };
    for bad in ["one", "", "1 2", "99999999999"] {
        let error = client.shell_result(&program, command, slot, bad.as_bytes()).unwrap_err();
        assert!(error.finding.contains("must return an integer"), "{error}");
    }
    client.shell_result(&program, command, slot, b" -12 \nmore\n").unwrap();
    assert_eq!(client.variables.value(slot).unwrap().integer(), Ok(-12));
    let refused = program.first_shell().unwrap().to_string();
    assert!(
        refused.starts_with("test.sql:1:1: \\setshell runs a command")
            && refused.contains("allow_shell: true")
    );
}

#[test]
fn pipelines_are_tracked() {
    let script = "\\startpipeline\nselect :a;\n\\syncpipeline\nselect 2;\n\\endpipeline\n\\if \
        1\n\\startpipeline\n\\endpipeline\n\\endif";
    let (events, ended) = run(script, &[], Mode::Extended);
    assert_eq!(ended, Ok(()));
    assert_eq!(
        events.join(" "),
        "startpipeline select $1; syncpipeline select 2; endpipeline startpipeline endpipeline"
    );
    // Errors that depend on conditions are detected at run time.
    for (script, finding) in [
        ("\\if 1\n\\startpipeline\n\\endif\nselect 1 \\gset", "gset is not allowed in pipeline mode"),
        ("\\if 1\n\\startpipeline\n\\endif\n\\startpipeline\n\\endpipeline", "already in pipeline mode"),
        ("\\if 0\n\\startpipeline\n\\endif\n\\endpipeline", "not in pipeline mode"),
        ("\\if 1\n\\startpipeline\n\\endif\nselect 1;", "end of script reached with pipeline open"),
    ] {
        let (_, ended) = run(script, &[], Mode::Extended);
        assert!(ended.as_ref().is_err_and(|error| error.contains(finding)), "{script}: {ended:?}");
    }
}

#[test]
fn retry_repeats_random_numbers_and_keeps_variables() {
    let program =
        program("\\set n :n + 1\n\\set r random(1, 1000000)\nselect :n, :r;", &[("n", "0")], Mode::Simple)
            .unwrap();
    let mut client = program.client(0);
    let sent = |client: &mut Client| {
        let mut out = Vec::new();
        statement(client, &program).write(&client.variables, &mut out);
        String::from_utf8(out).unwrap()
    };
    client.begin(0);
    let first = sent(&mut client);
    client.again();
    let second = sent(&mut client);
    client.begin(0);
    let third = sent(&mut client);
    assert_eq!(first.split_once(", ").unwrap().1, second.split_once(", ").unwrap().1);
    assert_ne!(second.split_once(", ").unwrap().1, third.split_once(", ").unwrap().1);
    assert!(
        first.starts_with("select 1,") && second.starts_with("select 2,") && third.starts_with("select 3,")
    );
}

#[test]
fn clients_share_all_but_number_and_random_state() {
    let mut builder = Builder::new(Mode::Simple);
    builder.define("scale", "7").unwrap();
    builder.define("a", "1").unwrap();
    builder.define("a", "2").unwrap();
    assert!(builder.define("a", "").unwrap_err().contains("invalid variable definition"));
    assert!(builder.define("1a", "3").unwrap_err().contains("invalid variable name"));
    builder
        .script("x", b"select :client_id, :scale, :a, :default_seed;\\set r debug(random(1, 1000000000))", 1)
        .unwrap();
    let program = builder.build(Run { seed: 5432, clients: 3, threads: 2, scale: 1 }).unwrap();
    let all: Vec<_> = (0..3).map(|number| events(&program, &mut program.client(number)).0).collect();
    for (number, (events, drawn)) in all.iter().zip([876805472, 519106182, 325869999]).enumerate() {
        assert_eq!(events[0], format!("select {number}, 7, 2, -1082569615652803502;"));
        assert_eq!(events[1], format!("debug(script=0,command=2): int {drawn}"));
    }
}

#[test]
fn scripts_are_chosen_by_weight() {
    let mut builder = Builder::new(Mode::Prepared);
    for (builtin, weight) in builtin::BUILTINS.iter().zip([1, 0, 3]) {
        builder.script(builtin.name, builtin.source.as_bytes(), weight).unwrap();
    }
    let program = builder.clone().build(Run { seed: 1, clients: 1, threads: 1, scale: 1 }).unwrap();
    let mut choose = program.seeds().threads[0].choose;
    let mut counts = [0; 3];
    for _ in 0..40_000 {
        counts[program.choose(&mut choose)] += 1;
    }
    assert_eq!(counts[1], 0);
    assert!((9_650..10_350).contains(&counts[0]), "four standard deviations round 10000: {counts:?}");
    assert_eq!(program.scripts()[0].commands.len(), 11);

    let run = Run { seed: 1, clients: 1, threads: 1, scale: 1 };
    let weightless = Builder::new(Mode::Simple);
    assert!(weightless.build(run).unwrap_err().contains("weight must not be zero"));
    for number in 0..126 {
        builder.script(&number.to_string(), b"select 1;", 1).unwrap();
    }
    assert!(builder.build(run).unwrap_err().contains("at most 128"));
}

#[test]
fn report_scripts_run_unchanged() {
    // A Gaussian hot set over a fraction of the scale.
    let script = "\\set range 100000 * :scale * 0.1\n\\set aid random_gaussian(1, :range, 2.5)\nBEGIN;\n\
                  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nEND;\n";
    let program = program(script, &[], Mode::Prepared).unwrap();
    let mut client = program.client(0);
    assert_eq!(events(&program, &mut client).0[1], "SELECT abalance FROM pgbench_accounts WHERE aid = $1;");
    let aid = program.names().find(b"aid").unwrap();
    assert!((1..=10_000).contains(&client.variables.value(aid).unwrap().integer().unwrap()));
}
