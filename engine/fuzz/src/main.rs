// SPDX-License-Identifier: MIT OR Apache-2.0
//! Searches for inputs on which the front end or the engines break their promises.
//!
//! ```text
//! marklab-fuzz [--seconds N] [--seed N] [TARGET...]    searches, the time divided among the targets
//! marklab-fuzz --replay TARGET FILE...                 runs these inputs only
//! ```
//!
//! A *target* turns bytes into a case and judges the answer. It returns the kind of the answer, as a *feature*. The
//! *search* starts from `corpus/TARGET` and from inputs that the target finds in the repository. It edits inputs at
//! random and keeps those that show a new feature. So it gets deeper than blind edits, without instrumented code, and
//! runs on the stable toolchain. It makes its findings smaller and writes them to `findings/`. Add the fixed case to
//! the corpus.

mod bytes;
mod edit;
mod grammar;
mod programs;
mod search;
mod targets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use targets::{TARGETS, Target};

const USAGE: &str = "usage: marklab-fuzz [--seconds N] [--seed N] [TARGET...] | --replay TARGET FILE...";

/// Folder of this crate.
fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The options of the command line.
struct Order {
    targets: Vec<&'static Target>,
    seconds: u64,
    seed: u64,
    /// Inputs to run instead of a search.
    replay: Option<Vec<PathBuf>>,
}

fn order(mut args: impl Iterator<Item = String>) -> Result<Order, String> {
    let mut order = Order { targets: Vec::new(), seconds: 60, seed: 1, replay: None };
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|value| value.parse().ok()).ok_or(format!("{arg} needs a number"));
        match &*arg {
            "--seconds" => order.seconds = number()?,
            "--seed" => order.seed = number()?,
            "--replay" => order.replay = Some(Vec::new()),
            _ => match (&mut order.replay, TARGETS.iter().find(|target| target.name == arg)) {
                (Some(files), _) if !order.targets.is_empty() => files.push(arg.into()),
                (_, Some(target)) => order.targets.push(target),
                (_, None) => {
                    let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
                    return Err(format!("no such target: `{arg}`; the targets are {}", known.join(", ")));
                }
            },
        }
    }
    if order.targets.is_empty() {
        order.targets = TARGETS.iter().collect();
    }
    Ok(order)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]
fn main() -> ExitCode {
    let order = match order(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(problem) => {
            eprintln!("error: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut failed = false;
    for target in &order.targets {
        let result = match &order.replay {
            Some(files) => search::replay(target, files),
            None => {
                let share = Duration::from_secs(order.seconds) / order.targets.len() as u32;
                search::search(target, share, order.seed)
            }
        };
        match result {
            Ok(report) => println!("{}: {report}", target.name),
            Err(finding) => {
                failed = true;
                eprintln!("{}: {finding}", target.name);
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
