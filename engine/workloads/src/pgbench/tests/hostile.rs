//! Arbitrary input: the compiler terminates quickly, with a program or an error.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::statement::first_word;
use super::*;

/// Compile, and run one transaction if that succeeds; both must terminate without a panic.
fn survives(script: &[u8]) {
    for mode in [Mode::Simple, Mode::Extended] {
        let mut builder = Builder::new(mode);
        match builder.script("any.sql", script, 1) {
            Err(errors) => errors.iter().for_each(|error| assert!(error.to_string().len() < 4000)),
            Ok(()) => {
                let program = builder.build(Run { seed: 1, clients: 1, threads: 1, scale: 1 }).unwrap();
                let mut client = program.client(0);
                client.begin(0);
                let mut out = Vec::new();
                // Scripts have no loops: they end after as many steps as they have commands.
                for _ in 0..=program.scripts()[0].commands.len() {
                    match client.next(&program) {
                        Ok(Next::Sql { statement, .. }) => {
                            statement.write(&client.variables, &mut out);
                            first_word(statement.text());
                        }
                        Ok(Next::End) | Err(_) => return,
                        Ok(_) => {}
                    }
                }
                panic!("the script did not end");
            }
        }
    }
}

/// Fragments of the language, so that random sequences of them get far.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "\\set x ",
        "\\if ",
        "\\elif ",
        "\\else",
        "\\endif",
        "\\sleep ",
        "\\gset ",
        "\\aset",
        "\\shell ",
        "\\setshell x ",
        "\\startpipeline",
        "\\syncpipeline",
        "\\endpipeline",
        "\n",
        "\\\n",
        "\\\r\n",
        "\\",
        "\\;",
        ";",
        ":",
        "::",
        ":x",
        ":1",
        "'",
        "\"",
        "$$",
        "$a$",
        "E'",
        "/*",
        "*/",
        "--",
        "(",
        ")",
        ",",
        " ",
        "1",
        "2.5",
        "1e3",
        "9223372036854775808",
        "0",
        "null",
        "true",
        "case ",
        "when ",
        "then ",
        "else ",
        "end ",
        "and ",
        "or ",
        "not ",
        "is ",
        "isnull ",
        "+",
        "-",
        "*",
        "/",
        "%",
        "<",
        ">",
        "=",
        "<>",
        "<<",
        "~",
        "|",
        "random(",
        "random_zipfian(1,9,1.5)",
        "random_gaussian(1,9,2)",
        "permute(3,7)",
        "hash(1)",
        "least(",
        "debug(",
        "select ",
        "create function begin ",
        "us",
        "\u{e9}",
        "\0",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60)
        .prop_map(|row| row.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn arbitrary_bytes_compile_or_fail(script in prop::collection::vec(any::<u8>(), 0..300)) {
        survives(&script);
    }

    #[test]
    fn arbitrary_words_compile_or_fail(script in pieces()) {
        survives(&script);
    }

    #[test]
    fn arbitrary_expressions_compile_or_fail(expression in pieces()) {
        survives(&[b"\\set x ", &expression[..]].concat());
    }

    #[test]
    fn arbitrary_variable_texts_are_handled(text in "[ -~]{1,12}") {
        value(":v + 1", &[("v", &text)]);
    }
}

/// Large input is compiled in proportional time, or rejected.
#[test]
fn megabyte_script_compiles_in_linear_time() {
    let megabyte = |piece: &str| piece.repeat((1 << 20) / piece.len());
    let expression = |piece: &str| format!("\\set x {}1", megabyte(piece));
    for (name, script) in [
        ("statements", megabyte("select :a, 'b' from c where d = :e;\n")),
        ("one statement", format!("select {}", megabyte(":a, "))),
        ("meta commands", megabyte("\\set x random(1, 100) + :x\n")),
        ("wrong meta commands", megabyte("\\set x +\n")),
        ("nested ifs", megabyte("\\if 1\n")),
        ("elifs", format!("\\if 0\n{}\\endif", megabyte("\\elif 0\n"))),
        ("parentheses", expression("(")),
        ("signs", expression("- ")),
        ("nots", expression("not ")),
        ("tildes", expression("~")),
        ("cases", expression("case when ")),
        ("calls", expression("abs(")),
        ("mixed nesting", expression("1 or 1 and 1 = 1 | 1 + 1 * -(")),
        ("sums", expression("1 + ")),
        ("sums of variables", expression(":a + ")),
        ("comparisons", expression("random(1,2) > 1 is null and ")),
        ("chained comparisons", format!("\\set x 1{}", megabyte(" > random(1,2) is null"))),
        ("arguments", expression("least(1,")),
        ("one call's arguments", format!("\\set x least({}1)", megabyte("1,"))),
        ("comments", megabyte("/*")),
        ("dollars", megabyte("$a$ $b$ ")),
        ("quotes", megabyte("E'\\'")),
        ("continuations", megabyte("\\\n")),
        ("one word", megabyte("\\a")),
        ("digits", format!("\\set x {}", megabyte("1"))),
        ("a name", format!("\\set {} 1", megabyte("a"))),
        ("an unknown function", format!("\\set x {}()", megabyte("a"))),
        ("sleep", format!("\\sleep {}", megabyte("1"))),
        ("an unknown command", format!("\\{}", megabyte("a"))),
        ("white space", megabyte(" ")),
        ("shell words", format!("\\shell {}", megabyte("a "))),
        ("colons", megabyte(":")),
    ] {
        let started = Instant::now();
        survives(script.as_bytes());
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{name} took {took:?}");
    }
}

#[test]
fn nesting_limit_fits_a_small_stack() {
    let nested = |depth: usize| {
        format!("\\set x {}1{}", "1 or 1 and 1 = 1 | 1 + 1 * -(".repeat(depth), ")".repeat(depth))
    };
    let handle = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        assert!(program(&nested(30), &[], Mode::Simple).is_ok());
        let error = program(&nested(100_000), &[], Mode::Simple).unwrap_err();
        assert!(error.contains("nested more than 250 levels deep"), "{error}");
    });
    handle.unwrap().join().unwrap();
}
