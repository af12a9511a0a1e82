// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets through one switch as fast as it takes them, for the packet benchmark.

use marklab_pipeline::{Packet, State};
use marklab_switch::{Fate, Switch, Transmitted};
use marklab_tm::Limit;
use marklab_units::{Duration, Time};
use pyo3::prelude::*;

use crate::harness::described;
use crate::program::Program;
use crate::{entries, refuse};

/// Sends frames through a switch, round after round, and counts the frames that come out.
///
/// Each frame comes in on port 0 and waits behind `backlog` others for the port that the program chooses, in one queue
/// unless `queueing` (JSON, as for `simulate`) describes several. Frames come `interval_ns` apart. The bytes of a frame
/// are in memory once; before each round only its first 64, which a switch may have changed, are restored.
#[pyfunction]
#[pyo3(signature = (program, frames, rounds, entries = "[]", backlog = 0, interval_ns = 1000, queueing = None))]
pub(crate) fn forward_rounds(
    program: &Program,
    frames: Vec<Vec<u8>>,
    rounds: u64,
    entries: &str,
    backlog: usize,
    interval_ns: u64,
    queueing: Option<&str>,
) -> PyResult<u64> {
    let mut state = State::new(&program.program, &program.layout, 0).map_err(refuse)?;
    entries::install(&mut state, &entries::parse(entries)?)?;
    let room = || Ok(Limit::Packets(backlog as u64 + 1).into());
    let port = queueing.map_or_else(room, described)?;
    let mut switch = Switch::new(program.engine.clone(), state, vec![port; PORTS]);
    let mut spare: Vec<Packet> = Vec::new();
    let mut now = Time::ZERO;
    let mut out = 0;
    for _ in 0..rounds {
        for frame in &frames {
            let mut packet = spare.pop().unwrap_or_default();
            restore(&mut packet, frame);
            now += Duration::from_nanos(interval_ns);
            let mut lost = None;
            match switch.receive(now, 0, packet) {
                Fate::Queued { port, .. } if switch.depth(port).packets > backlog as u64 => {
                    match switch.transmit(now, port) {
                        Some(Transmitted { outcome: Ok(packet), .. }) => {
                            out += 1;
                            spare.push(packet);
                        }
                        Some(Transmitted { outcome: Err(fate), .. }) => lost = Some(fate),
                        None => {}
                    }
                }
                fate => lost = Some(fate),
            }
            if let Some(Fate::Lost(_, _, packet)) = lost {
                spare.push(packet);
            }
        }
    }
    Ok(out)
}

/// Ports of the switch.
const PORTS: usize = 64;
/// Bytes at the front of a frame that a program may change.
const HEADERS: usize = 64;

fn restore(packet: &mut Packet, frame: &[u8]) {
    if packet.stored().len() != frame.len() {
        return packet.set(frame, 0);
    }
    let headers = HEADERS.min(frame.len());
    packet.stored_mut()[..headers].copy_from_slice(&frame[..headers]);
}
