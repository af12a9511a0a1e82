// SPDX-License-Identifier: MIT OR Apache-2.0
//! The search for findings, which it writes to files.

use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::edit;
use crate::home;
use crate::targets::Target;

/// Longest time that one input may take. Debug builds on a busy machine stay far below it.
const LIMIT: Duration = Duration::from_secs(10);

/// Longest time for making a finding smaller.
const SHRINKING: Duration = Duration::from_secs(20);

/// Result of a search.
pub(crate) struct Report {
    inputs: u64,
    /// Inputs that showed a new feature, including seeds.
    kept: usize,
    took: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { inputs, kept, took } = self;
        write!(f, "{inputs} inputs in {:.1} s, {kept} kinds of answers, no finding", took.as_secs_f64())
    }
}

/// Runs the inputs of the corpus, then edits of these until the time is over.
///
/// # Errors
///
/// The first finding, with the file that it was written to.
pub(crate) fn search(target: &Target, time: Duration, seed: u64) -> Result<Report, String> {
    let start = Instant::now();
    let watchdog = Watchdog::start(target);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut inputs = 0;
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut seen = HashSet::new();
    let mut seeds = seeds(target)?.into_iter();
    loop {
        let input = match seeds.next() {
            Some(input) => input,
            None if start.elapsed() >= time || kept.is_empty() => break,
            None => {
                let [input, other] = [(); 2].map(|()| random.random_range(0..kept.len()));
                edit::edit(&mut random, &kept[input], &kept[other], target.pieces)
            }
        };
        inputs += 1;
        match watchdog.run(target, &input) {
            Ok(feature) if seen.insert(feature) => kept.push(input),
            Ok(_) => {}
            Err(problem) => return Err(keep(target, &watchdog, input, problem)),
        }
    }
    Ok(Report { inputs, kept: kept.len(), took: start.elapsed() })
}

/// Runs inputs from files.
///
/// # Errors
///
/// The first finding, or the file that cannot be read.
pub(crate) fn replay(target: &Target, files: &[PathBuf]) -> Result<Report, String> {
    let start = Instant::now();
    let watchdog = Watchdog::start(target);
    for file in files {
        let input = read(file)?;
        watchdog.run(target, &input).map_err(|problem| format!("{}: {problem}", file.display()))?;
    }
    Ok(Report { inputs: files.len() as u64, kept: files.len(), took: start.elapsed() })
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The corpus of a target, sorted by name, and the target's other seeds.
fn seeds(target: &Target) -> Result<Vec<Vec<u8>>, String> {
    let folder = home().join("corpus").join(target.name);
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let seeds = files.iter().map(|file| read(file)).chain((target.seeds)().into_iter().map(Ok));
    seeds.collect()
}

/// Makes a finding smaller and writes it to a file. Returns the message.
fn keep(target: &Target, watchdog: &Watchdog, input: Vec<u8>, problem: String) -> String {
    let input = smaller(target, watchdog, input);
    let folder = home().join("findings");
    let file = folder.join(format!("{}-{:08x}", target.name, fnv(&input)));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, &input));
    let shown = target.shown.map(|shown| shown(&input));
    let beside = shown.as_ref().map(|text| (file.with_extension("txt"), text));
    let written = written.and_then(|()| beside.as_ref().map_or(Ok(()), |(path, text)| std::fs::write(path, text)));
    let stands_for = beside.map_or(String::new(), |(path, _)| format!("\n  it stands for: {}", path.display()));
    let file = file.display();
    match written {
        Ok(()) => format!(
            "FINDING of {} bytes: {problem}\n  run it again with: --replay {} {file}{stands_for}",
            input.len(),
            target.name
        ),
        Err(error) => format!("FINDING: {problem}\n  it could not be written to {file}: {error}\n  {input:02x?}"),
    }
}

/// Removes pieces, and sets others to 0, as long as the rest is still a finding.
fn smaller(target: &Target, watchdog: &Watchdog, mut input: Vec<u8>) -> Vec<u8> {
    let start = Instant::now();
    let mut len = input.len().next_power_of_two() / 2;
    while len > 0 {
        let still_found = |shorter: &Vec<u8>| start.elapsed() < SHRINKING && watchdog.run(target, shorter).is_err();
        let simpler = edit::without_a_piece(&input, len).chain(edit::with_zeros(&input, len)).find(still_found);
        match simpler {
            Some(simpler) => input = simpler,
            None => len /= 2,
        }
    }
    input
}

fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Ends the process if an input takes far too long, and prints the input's file. A stack overflow also ends the
/// process; each input is on disk before it runs.
struct Watchdog {
    /// Milliseconds from `epoch` to the start of the running input; 0 if none is running.
    started: &'static AtomicU64,
    epoch: Instant,
    last_input: PathBuf,
}

/// Message of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

impl Watchdog {
    fn start(target: &Target) -> Watchdog {
        std::panic::set_hook(Box::new(|panic| {
            *PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = panic.to_string();
        }));
        let started: &AtomicU64 = Box::leak(Box::default());
        let epoch = Instant::now();
        let last_input = home().join("findings").join(format!("{}-running", target.name));
        let path = last_input.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let start = started.load(Ordering::Relaxed);
                let now = epoch.elapsed().as_millis() as u64;
                if start > 0 && now.saturating_sub(start) > 3 * LIMIT.as_millis() as u64 {
                    give_up(&path);
                }
            }
        });
        Watchdog { started, epoch, last_input }
    }

    /// Runs one input; an error is a finding.
    fn run(&self, target: &Target, input: &[u8]) -> Result<u64, String> {
        if let Some(folder) = self.last_input.parent() {
            // Without the file, a crash is harder to investigate, but the search works as well.
            let _ = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&self.last_input, input));
        }
        let start = Instant::now();
        self.started.store(self.epoch.elapsed().as_millis().max(1) as u64, Ordering::Relaxed);
        let answer = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        self.started.store(0, Ordering::Relaxed);
        let took = start.elapsed();
        match answer {
            Err(_) => Err(PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()),
            Ok(Ok(_)) if took > LIMIT => Err(format!("it took {took:?}")),
            Ok(answer) => answer,
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.last_input);
    }
}

#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn give_up(input: &Path) {
    eprintln!("FINDING: an input does not terminate: {}", input.display());
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Panics on `!`, refuses `?`.
    const TOUCHY: Target = Target { name: "test", run: touchy, seeds: Vec::new, pieces: &[], shown: None };

    fn touchy(input: &[u8]) -> Result<u64, String> {
        assert!(!input.contains(&b'!'), "an exclamation");
        if input.contains(&b'?') { Err("a question".into()) } else { Ok(input.len() as u64) }
    }

    #[test]
    fn refusals_and_panics_are_findings_and_made_smaller() {
        let watchdog = Watchdog::start(&TOUCHY);
        assert_eq!(watchdog.run(&TOUCHY, b"fine"), Ok(4));
        assert_eq!(watchdog.run(&TOUCHY, b"is it?"), Err("a question".into()));
        assert!(watchdog.run(&TOUCHY, b"oh!").is_err_and(|problem| problem.contains("an exclamation")));
        assert_eq!(smaller(&TOUCHY, &watchdog, b"what is that? it has an end!".to_vec()), b"!");
    }
}
