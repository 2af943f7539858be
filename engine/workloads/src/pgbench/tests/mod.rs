//! Tests of the complete language: behaviour, errors, hostile input.

mod distributions;
mod hostile;
mod mistakes;
mod scripts;

use super::{Builder, Client, Mode, Next, Program, Run};

/// Variables defined by pgbench's own tests.
const DEFINED: &[(&str, &str)] = &[
    ("foo", "bla"),
    ("null", "null"),
    ("true", "true"),
    ("one", "1"),
    ("zero", "0.0"),
    ("badtrue", "trueXXX"),
    ("maxint", "9223372036854775807"),
    ("minint", "-9223372036854775808"),
];

/// Compile a program of one script. Fails with the text of its mistakes.
fn program(script: &str, defined: &[(&str, &str)], mode: Mode) -> Result<Program, String> {
    let mut builder = Builder::new(mode);
    for (name, value) in defined {
        builder.define(name, value)?;
    }
    builder
        .script("test.sql", script.as_bytes(), 1)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    builder.build(Run { seed: 5432, clients: 1, threads: 1, scale: 1 })
}

/// Run a client to the end of its script. Returns statements, sleeps and shell commands in text form, with
/// the output of `debug()`.
fn events(program: &Program, client: &mut Client) -> (Vec<String>, Result<(), String>) {
    let (send, shown) = std::sync::mpsc::channel();
    client.set_debug(Box::new(move |debugged| send.send(debugged.to_string()).unwrap()));
    client.begin(0);
    let mut events = Vec::new();
    loop {
        let next = client.next(program);
        events.extend(shown.try_iter());
        events.push(match next {
            Err(error) => return (events, Err(error.to_string())),
            Ok(Next::End) => return (events, Ok(())),
            Ok(Next::Sql { statement, .. }) => {
                let mut out = Vec::new();
                statement.write(&client.variables, &mut out);
                String::from_utf8(out).unwrap()
            }
            Ok(Next::Sleep { microseconds, .. }) => format!("sleep {microseconds}"),
            Ok(Next::Shell { line, .. }) => format!("shell {}", String::from_utf8(line).unwrap()),
            Ok(Next::SetShell { line, .. }) => format!("setshell {}", String::from_utf8(line).unwrap()),
            Ok(Next::StartPipeline { .. }) => "startpipeline".into(),
            Ok(Next::SyncPipeline { .. }) => "syncpipeline".into(),
            Ok(Next::EndPipeline { .. }) => "endpipeline".into(),
        });
    }
}

/// Like [`events`], for a valid script.
fn run(script: &str, defined: &[(&str, &str)], mode: Mode) -> (Vec<String>, Result<(), String>) {
    let program = program(script, defined, mode).unwrap_or_else(|error| panic!("{script}\n{error}"));
    events(&program, &mut program.client(0))
}

/// Output of `debug()` for an expression; the finding if it has no value.
fn value(expression: &str, defined: &[(&str, &str)]) -> String {
    let script = format!("\\set x debug({expression})\n");
    match run(&script, defined, Mode::Simple) {
        (shown, Ok(())) => shown[0].split_once(": ").unwrap().1.into(),
        (_, Err(error)) => error.lines().next().unwrap().split_once(": ").unwrap().1.into(),
    }
}
