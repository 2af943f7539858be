//! Runs pgbench scripts without a server, to compare the language with pgbench itself.
//!
//!     pgbench_script [--mode simple|extended] [-D name=value]... [--seed N] [--clients N] [--scale N] [-t N]
//!                    [--time] [--quiet] SCRIPT...
//!
//! What a statement would send is printed as `client N sending TEXT`, `debug()` as pgbench prints it, to
//! standard error. With `--time` it prints how many transactions a second the scripts were evaluated.

use std::process::ExitCode;
use std::time::Instant;

use loadcell_workloads::pgbench::{Builder, Mode, Next, Program, Run, builtin};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            eprintln!("{message}");
            ExitCode::from(status)
        }
    }
}

type Failure = (u8, String);

fn run() -> Result<(), Failure> {
    let bad = |message: String| (1, message);
    let mut mode = Mode::Simple;
    let mut run = Run { seed: 0, clients: 1, threads: 1, scale: 1 };
    let (mut transactions, mut time, mut quiet) = (1u64, false, false);
    let mut definitions = Vec::new();
    let mut scripts = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| bad(format!("{argument} needs a value")));
        let number = |text: String| text.parse::<u64>().map_err(|_| bad(format!("not a number: {text}")));
        match argument.as_str() {
            "--mode" => mode = if value()? == "simple" { Mode::Simple } else { Mode::Extended },
            "-D" => definitions.push(value()?),
            "--seed" => run.seed = number(value()?)?,
            "--clients" => run.clients = number(value()?)? as u32,
            "--scale" => run.scale = number(value()?)? as i64,
            "-t" => transactions = number(value()?)?,
            "--time" => time = true,
            "--quiet" => quiet = true,
            _ => scripts.push(argument),
        }
    }
    let mut builder = Builder::new(mode);
    for definition in definitions {
        let Some((name, value)) = definition.split_once('=') else {
            return Err(bad(format!("invalid variable definition: {definition:?}")));
        };
        builder.define(name, value).map_err(bad)?;
    }
    for name in scripts {
        let source = match name.strip_prefix("builtin:") {
            Some(name) => builtin::find(name).map_err(bad)?.source.into(),
            None => {
                std::fs::read(&name).map_err(|error| bad(format!("could not open file {name:?}: {error}")))?
            }
        };
        builder
            .script(&name, &source, 1)
            .map_err(|errors| bad(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))?;
    }
    let program = builder.build(run).map_err(bad)?;
    let started = Instant::now();
    for number in 0..run.clients {
        drive(&program, number, transactions, quiet)?;
    }
    if time {
        let done = transactions * u64::from(run.clients);
        println!("{:.0}", done as f64 / started.elapsed().as_secs_f64());
    }
    Ok(())
}

fn drive(program: &Program, number: u32, transactions: u64, quiet: bool) -> Result<(), Failure> {
    let mut client = program.client(number);
    if !quiet {
        client.set_debug(Box::new(|debugged| eprintln!("{debugged}")));
    }
    let mut choose = program.seeds().threads[0].choose;
    let mut out = Vec::new();
    for _ in 0..transactions {
        client.begin(program.choose(&mut choose));
        loop {
            match client.next(program).map_err(|error| (2, error.to_string()))? {
                Next::End => break,
                Next::Sql { statement, .. } if !quiet => {
                    out.clear();
                    statement.write(&client.variables, &mut out);
                    eprintln!("client {number} sending {}", String::from_utf8_lossy(&out));
                }
                Next::Sleep { microseconds, .. } if !quiet => eprintln!("sleep {microseconds}"),
                Next::Shell { line, .. } | Next::SetShell { line, .. } if !quiet => {
                    eprintln!("shell {}", String::from_utf8_lossy(&line));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
