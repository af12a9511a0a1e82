// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue pairs of a host: their sending and receiving ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use marklab_tm::Chain;
use marklab_units::{Duration, Time, Transmitter};

use super::client::Message;
use super::env::{Env, Shared};
use super::server::Expected;
use crate::frame::NetFrame;
use crate::rdma::{ReactionConfig, ReactionPoint, Requester, Responder, ResponderConfig};
use crate::traffic::Flow;
use crate::wire::roce::{Kind, Roce};
use crate::wire::{Ecn, EndPoint};

/// UDP ports of queue pairs, from the dynamic range. The choice among equal-cost paths depends on them.
const FIRST_PORT: u32 = 49_152;
const PORTS: u32 = 16_384;

/// Queue pairs of a host.
#[derive(Debug)]
pub(super) struct QueuePairs {
    /// Sending ends, by the place of the flow that made them.
    pub(super) requesters: Vec<Option<Box<Sending>>>,
    /// Receiving ends.
    pub(super) responders: Vec<Option<Box<Receiving>>>,
    /// Acknowledgements and notifications.
    pub(super) answers: Chain,
    /// Sending ends with packets to send: by the time from which they may send, then in order of entry.
    pub(super) due: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Entries made in `due`.
    entered: u64,
    /// The earliest pending event at which one may send.
    pub(super) wake: Option<Time>,
    /// Parts that the switch has asked to hold back, and the sending ends of each whose turn has come in the meantime.
    pub(super) held_back: BTreeMap<u32, Vec<u32>>,
}

/// The end of a queue pair that sends data.
#[derive(Debug)]
pub(super) struct Sending {
    /// The flow that made the queue pair, which is the pair's number.
    pub(super) pair: u32,
    pub(super) ends: [EndPoint; 2],
    pub(super) requester: Requester,
    pub(super) reaction: ReactionPoint,
    pub(super) messages: VecDeque<Message>,
    /// Bytes of all messages that have started so far.
    pub(super) begun: u64,
    pub(super) dscp: u8,
    identification: u16,
    pub(super) extra_delay: Duration,
    /// Answers that have arrived, and that it has not handled yet.
    pub(super) heard: Chain,
    /// When the next packet may be sent, and the fraction of a ns that the previous packet left over, at its rate.
    pub(super) pacer: Transmitter,
    /// Whether it is in `due`.
    pub(super) waiting: bool,
    /// Time of the earliest pending timer event.
    pub(super) pending: Option<Time>,
}

/// The end of a queue pair that receives data.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) pair: u32,
    pub(super) ends: [EndPoint; 2],
    pub(super) responder: Responder,
    pub(super) messages: VecDeque<Expected>,
    /// Bytes of all messages so far.
    pub(super) begun: u64,
    pub(super) dscp: u8,
    identification: u16,
}

impl QueuePairs {
    /// Places for the queue pairs of so many flows, sent and received.
    pub(super) fn new([sent, received]: [u32; 2]) -> QueuePairs {
        QueuePairs {
            requesters: std::iter::repeat_with(|| None).take(sent as usize).collect(),
            responders: std::iter::repeat_with(|| None).take(received as usize).collect(),
            answers: Chain::default(),
            due: BinaryHeap::new(),
            entered: 0,
            wake: None,
            held_back: BTreeMap::new(),
        }
    }

    pub(super) fn requester(&mut self, number: u32) -> &mut Sending {
        self.requesters[number as usize].as_deref_mut().expect("a queue pair that exists")
    }

    pub(super) fn responder(&mut self, number: u32) -> &mut Receiving {
        self.responders[number as usize].as_deref_mut().expect("a queue pair that exists")
    }

    /// Queues a queue pair for sending.
    pub(super) fn enter(&mut self, number: u32, time: Time) {
        self.due.push(Reverse((time, self.entered, number)));
        self.entered += 1;
        self.requester(number).waiting = true;
    }

    pub(super) fn record_unfinished(&self, env: &mut Env) {
        for end in self.requesters.iter().flatten() {
            env.tally.sent.extend(end.messages.iter().map(|message| message.sent(end.requester.stats, None)));
        }
        for end in self.responders.iter().flatten() {
            let received = end.messages.iter().map(|message| message.received(end.responder.delivered(), None, 0));
            env.tally.received.extend(received);
        }
    }
}

impl Sending {
    /// The sending end of a queue pair without packets: applications connect queue pairs in advance, by other means.
    pub(super) fn new(shared: &Shared, pair: u32, flow: &Flow, pacer: Transmitter) -> Sending {
        let ns = Duration::from_nanos;
        let rates = shared.rates.expect("a run with queue pairs");
        Sending {
            pair,
            ends: end_points(shared, pair, flow),
            requester: Requester::new(
                shared.transport.payload_bytes(),
                rates.window_bytes,
                ns(shared.transport.min_rto_ns),
            ),
            reaction: ReactionPoint::new(ReactionConfig {
                line: pacer.rate(),
                min_bps: rates.min_rate_bps,
                gain_shift: rates.gain_shift,
                alpha_timer: ns(rates.alpha_timer_ns),
                rate_timer: ns(rates.rate_timer_ns),
                byte_counter: rates.byte_counter_bytes,
                fast_recovery_rounds: rates.fast_recovery_rounds,
                additive_bps: rates.additive_bps,
                hyper_bps: rates.hyper_bps,
            }),
            messages: VecDeque::new(),
            begun: 0,
            dscp: 0,
            identification: 0,
            extra_delay: Duration::ZERO,
            heard: Chain::default(),
            pacer,
            waiting: false,
            pending: None,
        }
    }

    /// Paces after a packet: the next packet may follow when this one has been sent at the present rate.
    pub(super) fn pace(&mut self, now: Time, wire_bytes: u64) {
        self.pacer.set_rate(self.reaction.rate(now));
        self.pacer.send(now, wire_bytes);
        self.reaction.on_sent(now, wire_bytes);
    }

    pub(super) fn frame(&mut self, env: &mut Env, psn: u64, kind: Kind) -> Box<NetFrame> {
        self.identification = self.identification.wrapping_add(1);
        let [client, server] = &self.ends;
        let mut frame = env.frames.take(env.shared.connection_of(self.pair), true, Ecn::Ect0);
        header(self.pair, self.dscp, Ecn::Ect0, self.identification, psn, kind, [client, server]).write(
            &mut frame.packet,
            client,
            server,
        );
        frame
    }
}

impl Receiving {
    pub(super) fn new(shared: &Shared, pair: u32, flow: &Flow) -> Receiving {
        let rates = shared.rates.expect("a run with queue pairs");
        Receiving {
            pair,
            ends: end_points(shared, pair, flow),
            responder: Responder::new(ResponderConfig {
                ack_every: shared.transport.ack_every_segments,
                notification_interval: Duration::from_nanos(rates.cnp_interval_ns),
            }),
            messages: VecDeque::new(),
            begun: 0,
            dscp: 0,
            identification: 0,
        }
    }

    pub(super) fn frame(&mut self, env: &mut Env, psn: u64, kind: Kind) -> Box<NetFrame> {
        self.identification = self.identification.wrapping_add(1);
        let [client, server] = &self.ends;
        let mut frame = env.frames.take(env.shared.connection_of(self.pair), false, Ecn::NotEct);
        header(self.pair, self.dscp, Ecn::NotEct, self.identification, psn, kind, [server, client]).write(
            &mut frame.packet,
            server,
            client,
        );
        frame
    }
}

fn header(
    pair: u32,
    dscp: u8,
    ecn: Ecn,
    identification: u16,
    psn: u64,
    kind: Kind,
    [src, dst]: [&EndPoint; 2],
) -> Roce {
    Roce { src: src.ip, dst: dst.ip, dscp, ecn, identification, queue_pair: pair, psn: psn as u32, kind }
}

/// End points of a queue pair.
fn end_points(shared: &Shared, pair: u32, flow: &Flow) -> [EndPoint; 2] {
    let port = (FIRST_PORT + pair % PORTS) as u16;
    [flow.src, flow.dst].map(|node| {
        let (mac, ip) = shared.addresses[node];
        EndPoint { mac, ip, port }
    })
}
