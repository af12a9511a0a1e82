// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch that runs `probe.p4` or another program, and packets for the probe.

use marklab_p4::Options;
use marklab_pipeline::Packet;
use marklab_switch::{Fate, Loss, Switch};
use marklab_tm::{Limit, PortConfig};

pub(crate) use crate::common::at;
use crate::common::{compiled, either_way, numbers};

/// Leave `egress_spec` as it is.
pub(crate) const FORWARD_DEFAULT: u16 = 0xffff;
/// Call `mark_to_drop` in ingress.
pub(crate) const MARK_TO_DROP: u16 = 0xfffe;
const REQUEST: usize = 8;
const REPORT: usize = 64;
const EXTRA: usize = 4;

/// The probe with ports of these limits, once interpreted and once as machine code.
pub(crate) fn switches(limits: &[Limit]) -> Vec<Switch<Packet>> {
    switches_with("probe.p4", limits)
}

/// Another program of this folder with such ports, once interpreted and once as machine code.
pub(crate) fn switches_with<P: Clone + Into<PortConfig>>(program: &str, ports: &[P]) -> Vec<Switch<Packet>> {
    either_way(compiled(program, &Options::default()), ports)
}

/// Requests of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) egress_spec: u16,
    pub(crate) priority: u8,
    pub(crate) egress_drop: u8,
    pub(crate) change: u8,
    pub(crate) has_extra: bool,
    pub(crate) note: u16,
    pub(crate) payload: usize,
}

impl Request {
    pub(crate) fn to(port: u16) -> Request {
        Request { egress_spec: port, priority: 0, egress_drop: 0, change: 0, has_extra: false, note: 0, payload: 100 }
    }

    pub(crate) fn packet(self) -> Packet {
        let mut bytes = Vec::from(self.egress_spec.to_be_bytes());
        bytes.extend([self.priority, self.egress_drop, self.change, self.has_extra.into()]);
        bytes.extend(self.note.to_be_bytes());
        bytes.resize(REQUEST + REPORT, 0);
        if self.has_extra {
            bytes.extend([0xee; EXTRA]);
        }
        Packet::new(&bytes, self.payload)
    }

    pub(crate) fn len(self) -> u64 {
        (REQUEST + REPORT + if self.has_extra { EXTRA } else { 0 } + self.payload) as u64
    }
}

/// What the controls reported into a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Report {
    pub(crate) ingress_port: u64,
    pub(crate) egress_port: u64,
    pub(crate) egress_spec: u64,
    pub(crate) note: u64,
    pub(crate) instance_type: u64,
    pub(crate) ingress_length: u64,
    pub(crate) egress_length: u64,
    pub(crate) ingress_time: u64,
    pub(crate) egress_time: u64,
    pub(crate) enq_timestamp: u64,
    pub(crate) enq_qdepth: u64,
    pub(crate) deq_timedelta: u64,
    pub(crate) deq_qdepth: u64,
    pub(crate) ingress_number: u64,
    pub(crate) egress_number: u64,
    pub(crate) label: u64,
}

impl Report {
    pub(crate) fn of(packet: &Packet) -> Report {
        let bytes = packet.to_vec();
        let mut next = numbers(&bytes, REQUEST);
        Report {
            ingress_port: next(2),
            egress_port: next(2),
            egress_spec: next(2),
            note: next(2),
            instance_type: next(4),
            ingress_length: next(4),
            egress_length: next(4),
            ingress_time: next(8),
            egress_time: next(8),
            enq_timestamp: next(4),
            enq_qdepth: next(4),
            deq_timedelta: next(4),
            deq_qdepth: next(4),
            ingress_number: next(4),
            egress_number: next(4),
            label: next(4),
        }
    }
}

/// Takes a packet in; returns the port for which it waits.
pub(crate) fn offer(
    switch: &mut Switch<Packet>,
    ns: u64,
    port: usize,
    packet: Packet,
) -> Result<usize, (Loss, Option<usize>)> {
    match switch.receive(at(ns), port, packet) {
        Fate::Queued { port, .. } => Ok(port),
        Fate::Lost(loss, port, _) => Err((loss, port)),
    }
}

/// Takes the next packet of a port, which egress lets pass.
#[track_caller]
pub(crate) fn take(switch: &mut Switch<Packet>, ns: u64, port: usize) -> Packet {
    switch.transmit(at(ns), port).expect("a packet waits").outcome.expect("egress lets it pass")
}
