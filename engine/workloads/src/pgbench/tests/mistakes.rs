//! Errors of scripts and their messages. The cases are those of pgbench's own tests, and further ones.

use super::*;

/// Compile-time errors: script, position (line:column), message.
const BEFORE: &[(&str, &str, &str)] = &[
    ("\\if 1", "1:1", "\\if without matching \\endif"),
    ("\\elif 1", "1:1", "\\elif without matching \\if"),
    ("\\else", "1:1", "\\else without matching \\if"),
    ("\\endif", "1:1", "\\endif without matching \\if"),
    ("\\if 1\n\\else\n\\elif 0\n\\endif", "3:1", "\\elif after \\else"),
    ("\\if 1\n\\else\n\\else\n\\endif", "3:1", "\\else after \\else"),
    ("\\if\n\\endif\n", "1:4", "syntax error"),
    ("\\if\n\\endif\n", "1:4", "in command \"if\""),
    ("\\if 0\n\\elif +\n\\endif\n", "2:8", "in command \"elif\""),
    ("\\if 0\n\\else BAD\n\\endif\n", "2:7", "unexpected argument in command \"else\""),
    ("\\if 0\n\\endif BAD\n", "2:8", "unexpected argument in command \"endif\""),
    ("\\set i least()\n", "1:8", "at least one argument expected (least)"),
    ("\\set i greatest())", "1:8", "at least one argument expected (greatest)"),
    ("\\set i hash()\n", "1:8", "unexpected number of arguments (hash)"),
    ("\\set i hash(1,2,3)\n", "1:8", "unexpected number of arguments (hash)"),
    ("\\set i permute(1)\n", "1:8", "unexpected number of arguments (permute)"),
    ("\\set i permute(1, 2, 3, 4)\n", "1:8", "unexpected number of arguments (permute)"),
    ("\\set d ln(1.0, 2.0))", "1:8", "unexpected number of arguments (ln)"),
    ("\\set i 100000000000000000000\n", "1:8", "bigint constant overflow"),
    ("\\set d 1.0E309\n", "1:8", "double constant overflow"),
    ("\\set d .1E310\n", "1:8", "double constant overflow"),
    ("\\set i 1 +\n", "1:11", "syntax error"),
    ("\\set i 1 +\n", "1:11", "in command \"set\""),
    ("\\set i 1 + * 3\n", "1:12", "found * behind +"),
    ("\\set i 1 2\n", "1:10", "found 2 behind 1"),
    ("\\set i (1\n", "1:10", "expected ) or an operator"),
    ("\\set i 1)\n", "1:9", "found )"),
    ("\\set x 1 < 2 = true\n", "1:14", "comparisons do not chain"),
    ("\\set i noSuchFunction()", "1:8", "unexpected function name (noSuchFunction)"),
    ("\\set i randon(1,2)", "1:8", "did you mean random?"),
    ("\\set i abs", "1:11", "expected ( behind the function's name"),
    ("\\set . 1", "1:6", "invalid variable name"),
    ("\\set 1a 1", "1:6", "invalid variable name"),
    ("\\set i :1a", "1:9", "invalid variable name"),
    ("\\set i ;", "1:8", "unexpected character (;)"),
    ("\\set i 'a'", "1:8", "expressions know no strings"),
    ("\\set i", "1:7", "syntax error"),
    ("\\set", "1:1", "missing argument"),
    ("\\set i CASE TRUE THEN 1 ELSE 0 END", "1:13", "in command \"set\""),
    ("\\set i CASE WHEN TRUE THEN 1 ELSE 0", "1:36", "expected WHEN, ELSE, END"),
    ("\\set i 1 IS 2", "1:13", "expected NULL, TRUE or FALSE"),
    ("\\set x 9223372036854775808", "1:8", "needs a minus right before it"),
    ("\\set x 3 - 9223372036854775808", "1:12", "needs a minus right before it"),
    ("\\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)", "1:8", "too many function arguments"),
    ("select 1;\n  \\set i abs(1, \\\n   2)\n", "2:10", "unexpected number of arguments (abs)"),
    ("select 1;\n  \\set i abs(1) + \\\n   *\n", "3:4", "syntax error"),
    ("\\shell", "1:1", "missing command"),
    ("\\setshell var", "1:1", "missing argument"),
    ("\\sleep too many args", "1:17", "too many arguments"),
    ("\\sleep", "1:1", "missing argument in command \"sleep\""),
    ("\\sleep 1 week", "1:10", "unrecognized time unit"),
    ("\\sleep 1x", "1:9", "unrecognized time unit"),
    ("\\sleep abc", "1:8", "invalid sleep time, must be an integer (abc)"),
    ("\\sleep abc ms", "1:8", "invalid sleep time"),
    ("\\sleep 1a ms", "1:8", "invalid sleep time"),
    ("\\nosuchcommand", "1:1", "invalid command \"nosuchcommand\""),
    ("\\slep 1", "1:1", "did you mean \\sleep?"),
    ("select 1 as a \\gset\\set x 1", "1:15", "invalid command \"gset\\set\""),
    ("", "1:1", "empty command list for script"),
    ("-- nothing\n\n", "1:1", "empty command list for script"),
    ("\\gset", "1:1", "\\gset must follow an SQL command"),
    ("\\set i +1\n\\gset", "2:1", "\\gset must follow an SQL command"),
    ("SELECT 1 \\gset a b", "1:18", "too many arguments"),
    ("SELECT 1 \\gset 1a", "1:16", "invalid variable name"),
    ("SELECT 1 AS i \\gset\n\\gset", "2:1", "\\gset must follow an SQL command"),
    ("\\startpipeline\n\\startpipeline\n", "2:1", "already in pipeline mode"),
    ("-- not begun\n\\endpipeline\n", "2:1", "not in pipeline mode"),
    ("\\syncpipeline\n", "1:1", "not in pipeline mode"),
    ("\\startpipeline\nselect 1 \\gset f\n\\endpipeline\n", "2:10", "gset is not allowed in pipeline mode"),
    ("\\startpipeline\nselect 1;\n", "1:1", "end of script reached with pipeline open"),
    ("select 'a\0b';", "1:10", "NUL byte"),
];

#[test]
fn compile_errors_have_positions() {
    for (script, position, finding) in BEFORE {
        match program(script, DEFINED, Mode::Prepared) {
            Ok(_) => panic!("nothing was found wrong with {script:?}"),
            Err(message) => {
                assert!(
                    message.starts_with(&format!("test.sql:{position}: ")),
                    "{script:?} at {position}:\n{message}"
                );
                assert!(message.contains(finding), "{script:?}: {finding}\n{message}");
                assert!(
                    message.lines().nth(2).is_some_and(|mark| mark.trim_start().starts_with('^')),
                    "{message}"
                );
            }
        }
    }
}

/// Run-time errors.
const DURING: &[(&str, &str, &str)] = &[
    ("\\set i 1/0", "1:9", "division by zero"),
    ("\\set i 1%0", "1:9", "division by zero"),
    ("\\set i :nosuchvariable", "1:8", "undefined variable \"nosuchvariable\""),
    ("\\set i random(5,3)", "1:8", "empty range given to random"),
    ("\\set i random(:minint, :maxint)", "1:8", "random range is too large"),
    ("\\set i random_gaussian(0, 10, 1.0)", "1:8", "gaussian parameter must be at least 2"),
    ("\\set i random_exponential(0, 10, 0.0)", "1:8", "exponential parameter must be greater than zero"),
    ("\\set i random_zipfian(0, 10, 1)", "1:8", "zipfian parameter must be in range [1.001, 1000]"),
    ("\\set i random_zipfian(0, 10, 1000000)", "1:8", "zipfian parameter must be in range [1.001, 1000]"),
    ("\\set i random_zipfian(0, 10, 0.0/0)", "1:8", "zipfian parameter must be in range [1.001, 1000]"),
    ("\\set i :foo + 1", "1:8", "malformed variable \"foo\" value: \"bla\""),
    ("\\set b NOT 0.0", "1:8", "cannot coerce double to boolean"),
    ("\\set i TRUE + 2", "1:13", "cannot coerce boolean to int"),
    ("\\set d ln(TRUE)", "1:8", "cannot coerce boolean to double"),
    ("\\set b random(FALSE, TRUE)", "1:8", "cannot coerce boolean to int"),
    ("\\set b true and 1", "1:13", "cannot coerce int to boolean"),
    ("\\set i int(1E32)", "1:8", "double to int overflow for 100000"),
    ("\\set i (1<<62) + (1<<62)", "1:16", "bigint add out of range"),
    ("\\set i 0 - (1<<62) - (1<<62) - (1<<62)", "1:30", "bigint sub out of range"),
    ("\\set i 2 * (1<<62)", "1:10", "bigint mul out of range"),
    ("\\set i :minint / -1", "1:16", "bigint div out of range"),
    ("\\set i -:minint", "1:8", "bigint sub out of range"),
    ("\\set b :badtrue or true", "1:8", "malformed variable \"badtrue\" value: \"trueXXX\""),
    ("\\set i permute(0, 0)", "1:8", "permute size parameter must be greater than zero"),
    ("\\if :nope is null\n\\endif", "1:5", "undefined variable \"nope\""),
    ("select 1;\n\\if 0\n\\elif 1/0\n\\endif", "3:8", "division by zero"),
    ("\\sleep :nosuchvariable", "1:1", "sleep: undefined variable \"nosuchvariable\""),
    ("\\sleep :foo", "1:1", "invalid sleep time \"bla\" for variable \"foo\""),
    ("\\shell echo ::foo :nosuchvariable", "1:1", "undefined variable \":nosuchvariable\""),
];

#[test]
fn runtime_errors_have_positions() {
    for (script, position, finding) in DURING {
        let (_, ended) = run(script, DEFINED, Mode::Prepared);
        let message = ended.expect_err(script);
        assert!(
            message.starts_with(&format!("test.sql:{position}: ")),
            "{script:?} at {position}:\n{message}"
        );
        assert!(message.contains(finding), "{script:?}: {finding}\n{message}");
    }
}

#[test]
fn unreached_commands_cause_no_error() {
    let (_, ended) = run(
        "\\if 0\n\\set x 1/0 + :nope\n\\endif\n\\set y case when true then 1 else 1/0 end",
        &[],
        Mode::Simple,
    );
    assert_eq!(ended, Ok(()));
}

#[test]
fn all_mistakes_of_a_script_are_reported_at_once() {
    let script = "\\set i 1 +\nselect 1;\n\\if foo(\n\\sleep 1 week\n\\endif\n\\nope\n";
    let message = program(script, &[], Mode::Simple).unwrap_err();
    let positions: Vec<_> =
        message.lines().filter_map(|line| line.strip_prefix("test.sql:")?.split(": ").next()).collect();
    assert_eq!(positions, ["1:11", "3:5", "4:10", "6:1"], "{message}");
    let many = program(&"\\nope\n".repeat(1000), &[], Mode::Simple).unwrap_err();
    assert_eq!(many.matches("test.sql:").count(), 20);
}

#[test]
fn limits_match_pgbench() {
    let arguments = |count: usize| format!("\\set i 0\nSELECT LEAST({})", vec![":i"; count].join(", "));
    assert!(program(&arguments(255), &[], Mode::Extended).is_ok());
    let error = program(&arguments(256), &[], Mode::Prepared).unwrap_err();
    assert!(error.starts_with("test.sql:2:1: statement has too many arguments (maximum is 255)"), "{error}");
    assert!(program(&arguments(256), &[], Mode::Simple).is_ok());

    let words = |count: usize| format!("\\shell echo {}", vec!["arg"; count].join(" "));
    assert!(program(&words(254), &[], Mode::Simple).is_ok());
    let error = program(&words(255), &[], Mode::Simple).unwrap_err();
    assert!(error.contains("too many arguments in command \"shell\""), "{error}");
    assert!(
        program("\\startpipeline\n\\endpipeline", &[], Mode::Simple)
            .unwrap_err()
            .contains("simple query protocol")
    );
}
