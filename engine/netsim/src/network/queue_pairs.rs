// SPDX-License-Identifier: MIT OR Apache-2.0
//! RDMA hosts: a NIC takes packets from its queue pairs in turn, each at the rate of its queue pair.
//!
//! Data wait in memory: the NIC makes a packet when it sends it. Answers go before data. The extra delay of a flow's
//! sender lies between its application and its NIC, and between its NIC and the handling of an answer. So packets leave
//! the NIC as they are paced.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use marklab_tm::Chain;
use marklab_units::{Duration, Rate, Time, Transmitter};

use super::connection::{Message, Side};
use super::{Event, FlowRecord, Network};
use crate::config::{Connections, Dcqcn};
use crate::frame::NetFrame;
use crate::ledger::Reason;
use crate::rdma::{Heard, ReactionConfig, ReactionPoint, Requester, Responder, ResponderConfig, packet_number};
use crate::wire::roce::{Kind, Roce};
use crate::wire::{Ecn, EndPoint};

/// UDP ports of queue pairs, from the dynamic range. The choice among equal-cost paths depends on them.
const FIRST_PORT: usize = 49_152;
const PORTS: usize = 16_384;

/// An event of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PairEvent {
    /// Its application writes.
    Write,
    /// Its sender handles an answer that arrived earlier.
    Hear,
    /// Its timer may have expired.
    Timer,
}

/// All queue pairs. In frames, their numbers follow those of the connections, which only probes use.
#[derive(Debug)]
pub(super) struct Rdma {
    rates: Dcqcn,
    pairs: Vec<QueuePair>,
    /// By node.
    nics: Vec<RdmaNic>,
    /// Queue pairs that carry no flow, by pair of hosts; the one made first is used first.
    idle: BTreeMap<(usize, usize), BinaryHeap<Reverse<u32>>>,
}

/// A NIC with queue pairs.
#[derive(Debug, Default)]
struct RdmaNic {
    /// Acknowledgements and notifications.
    answers: Chain,
    /// Queue pairs with packets to send: by the time from which they may send, then in order of entry.
    due: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// Entries made in `due`.
    entered: u64,
    /// The earliest pending event at which a queue pair may send.
    wake: Option<Time>,
    /// Parts that the switch has asked to hold back, and the queue pairs of each whose turn has come in the meantime.
    held_back: BTreeMap<u32, Vec<u32>>,
}

/// A queue pair between two hosts. Data go from the client to the server.
#[derive(Debug)]
struct QueuePair {
    hosts: [usize; 2],
    ends: [EndPoint; 2],
    requester: Requester,
    responder: Responder,
    reaction: ReactionPoint,
    messages: VecDeque<Message>,
    latest_flow: Option<u32>,
    /// Bytes of all messages that have started so far.
    begun: u64,
    dscp: u8,
    identification: [u16; 2],
    extra_delay: Duration,
    /// Answers that have arrived, and that the sender has not handled yet.
    heard: Chain,
    /// When the next packet may be sent, and the fraction of a ns that the previous packet left over, at its rate.
    pacer: Transmitter,
    /// Whether it is in `due`.
    waiting: bool,
    /// Time of the earliest pending timer event.
    pending: Option<Time>,
}

impl Rdma {
    pub(super) fn new(rates: Dcqcn, nodes: usize) -> Rdma {
        let nics = (0..nodes).map(|_| RdmaNic::default()).collect();
        Rdma { rates, pairs: Vec::new(), nics, idle: BTreeMap::new() }
    }
}

impl Network {
    fn rdma(&mut self) -> &mut Rdma {
        self.rdma.as_mut().expect("a run with queue pairs")
    }

    fn pair(&mut self, pair: usize) -> &mut QueuePair {
        &mut self.rdma().pairs[pair]
    }

    /// Number of a queue pair in frames.
    fn frame_number(&self, pair: usize) -> u32 {
        (self.connections.len() + pair) as u32
    }

    /// The flow that started last on the connection or queue pair of a frame.
    pub(super) fn latest_flow(&self, connection: u32) -> Option<u32> {
        let pair = (connection as usize).checked_sub(self.connections.len());
        match (pair, &self.rdma) {
            (Some(pair), Some(rdma)) => rdma.pairs[pair].latest_flow,
            _ => self.connections[connection as usize].latest_flow,
        }
    }

    // Flows

    /// Starts a flow on a queue pair.
    #[inline(never)]
    pub(super) fn start_message(&mut self, number: usize) {
        let flow = self.flows[number];
        let pair = match self.rdma().idle.get_mut(&(flow.src, flow.dst)).and_then(BinaryHeap::pop) {
            Some(Reverse(pair)) => pair as usize,
            None => self.make_pair((flow.src, flow.dst)),
        };
        let state = self.pair(pair);
        state.extra_delay = Duration::from_nanos(flow.extra_delay_ns);
        state.dscp = flow.dscp;
        state.latest_flow = Some(number as u32);
        state.begun += flow.size_bytes;
        state.messages.push_back(Message {
            flow: number as u32,
            end: state.begun,
            unwritten: flow.size_bytes,
            rate: Rate::from_bps(flow.rate_bps),
            carry: 0,
            before: state.requester.stats,
            marked: 0,
        });
        state.requester.begin();
        match flow.extra_delay_ns {
            0 => self.write_message(pair),
            extra_ns => {
                let time = self.now + Duration::from_nanos(extra_ns);
                self.events.push(time, Event::Pair(PairEvent::Write, pair as u32));
            }
        }
    }

    /// Makes a queue pair without packets: applications connect queue pairs in advance, by other means.
    fn make_pair(&mut self, (src, dst): (usize, usize)) -> usize {
        let (transport, ns) = (self.transport, Duration::from_nanos);
        let line = self.nodes[src].host().line.expect("a host has a line");
        let line = self.lines[line as usize].rate();
        let number = self.rdma().pairs.len();
        let port = (FIRST_PORT + number % PORTS) as u16;
        let ends = [src, dst].map(|node| {
            let host = self.nodes[node].host();
            EndPoint { mac: host.mac, ip: host.ip, port }
        });
        let rates = self.rdma().rates;
        self.rdma().pairs.push(QueuePair {
            hosts: [src, dst],
            ends,
            requester: Requester::new(transport.payload_bytes(), rates.window_bytes, ns(transport.min_rto_ns)),
            responder: Responder::new(ResponderConfig {
                ack_every: transport.ack_every_segments,
                notification_interval: ns(rates.cnp_interval_ns),
            }),
            reaction: ReactionPoint::new(ReactionConfig {
                line,
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
            latest_flow: None,
            begun: 0,
            dscp: 0,
            identification: [0; 2],
            extra_delay: Duration::ZERO,
            heard: Chain::default(),
            pacer: Transmitter::new(line),
            waiting: false,
            pending: None,
        });
        number
    }

    /// The application writes: all of a flow, or the next packet of a rate-limited flow.
    fn write_message(&mut self, pair: usize) {
        let mtu = u64::from(self.transport.payload_bytes());
        let state = self.pair(pair);
        let Some(message) = state.messages.back_mut() else { return };
        let (bytes, pause) = message.write(mtu);
        state.requester.write(bytes);
        if let Some(pause) = pause {
            self.events.push(self.now + pause, Event::Pair(PairEvent::Write, pair as u32));
        }
        self.offer(pair);
    }

    /// Finishes flows whose last byte has arrived.
    fn finish_messages(&mut self, pair: usize) {
        let reused = matches!(self.mode, Connections::Persistent { .. });
        let rdma = self.rdma.as_mut().expect("a run with queue pairs");
        let state = &mut rdma.pairs[pair];
        while let Some(message) = state.messages.front().copied() {
            if state.responder.delivered() < message.end {
                return;
            }
            state.messages.pop_front();
            let flow = self.flows[message.flow as usize];
            self.records[message.flow as usize] = FlowRecord {
                fct: Some(self.now.since(Time::from_nanos(flow.start_ns))),
                ..record(&message, &state.requester, flow.size_bytes)
            };
            self.finished += 1;
            if reused {
                rdma.idle.entry((flow.src, flow.dst)).or_default().push(Reverse(pair as u32));
            }
        }
    }

    /// Records the results of unfinished flows.
    pub(super) fn record_unfinished_messages(&mut self) {
        for state in self.rdma.iter().flat_map(|rdma| &rdma.pairs) {
            for message in &state.messages {
                let delivered = message.delivered(&self.flows[message.flow as usize], state.responder.delivered());
                self.records[message.flow as usize] = record(message, &state.requester, delivered);
            }
        }
    }

    // NIC

    /// Queues a queue pair for sending, if it has a packet to send and is not queued yet.
    fn offer(&mut self, pair: usize) {
        let now = self.now;
        let rdma = self.rdma();
        let state = &mut rdma.pairs[pair];
        if state.waiting || !state.requester.has_next() {
            return;
        }
        let node = state.hosts[Side::Client as usize];
        let time = state.pacer.busy_until().max(now);
        rdma.enter(node, pair, time);
        if time > now {
            self.wake(node, time);
        } else {
            self.start_nic(node);
        }
    }

    fn start_nic(&mut self, node: usize) {
        if let Some(line) = self.nodes[node].host().line {
            self.start(line as usize);
        }
    }

    /// Makes a NIC look for packets at a time.
    fn wake(&mut self, node: usize, time: Time) {
        let wake = &mut self.rdma().nics[node].wake;
        if wake.is_none_or(|pending| pending > time) {
            *wake = Some(time);
            self.events.push(time, Event::Pace(node as u32));
        }
    }

    /// A queue pair of a host may send.
    #[inline(never)]
    pub(super) fn pace(&mut self, node: usize) {
        let now = self.now;
        let wake = &mut self.rdma().nics[node].wake;
        if *wake == Some(now) {
            *wake = None;
        }
        self.start_nic(node);
    }

    /// The next frame of a host's queue pairs, and whether more are waiting. Echoes of probes go first.
    // Not inlined, because it would slow down TCP's frames.
    #[inline(never)]
    pub(super) fn queue_pair_next(&mut self, node: usize) -> Option<(Box<NetFrame>, bool)> {
        let rdma = self.rdma.as_mut().expect("a run with queue pairs");
        let answer = self.queued.pop_front(&mut rdma.nics[node].answers);
        let frame = answer.or_else(|| self.next_data(node))?;
        let capture = self.nodes[node].host().capture;
        self.capture(capture, &frame);
        Some((frame, self.has_more(node)))
    }

    /// Whether a packet can be sent now. Otherwise the NIC is woken when the next one is due.
    fn has_more(&mut self, node: usize) -> bool {
        let now = self.now;
        let nic = &self.rdma().nics[node];
        let answers = !nic.answers.is_empty();
        match nic.due.peek() {
            Some(&Reverse((time, ..))) if time > now => {
                self.wake(node, time);
                answers
            }
            due => answers || due.is_some(),
        }
    }

    /// The next packet of the queue pair whose turn it is.
    fn next_data(&mut self, node: usize) -> Option<Box<NetFrame>> {
        let now = self.now;
        loop {
            let nic = &mut self.rdma().nics[node];
            let &Reverse((time, _, pair)) = nic.due.peek()?;
            if time > now {
                self.wake(node, time);
                return None;
            }
            nic.due.pop();
            let holds_back = !nic.held_back.is_empty();
            let pair = pair as usize;
            if holds_back && self.set_aside(node, pair) {
                continue;
            }
            self.pair(pair).waiting = false;
            // There may be none, if the packet to retransmit was acknowledged in the meantime.
            let Some(outgoing) = self.pair(pair).requester.next_packet(now) else { continue };
            let kind = Kind::Send { first: outgoing.first, last: outgoing.last, payload: outgoing.len };
            let frame = self.make_frame(pair, Side::Client, Ecn::Ect0, outgoing.number, kind);
            let wire_bytes = self.framing.wire_bytes(frame.packet.len());
            let rdma = self.rdma();
            rdma.pairs[pair].pace(now, wire_bytes);
            if rdma.pairs[pair].requester.has_next() {
                rdma.enter(node, pair, rdma.pairs[pair].pacer.busy_until());
            }
            self.arm_pair_timer(pair);
            return Some(frame);
        }
    }

    // Pauses of a part of the line

    /// The host that receives the data of a queue pair.
    pub(super) fn destination(&self, pair: usize) -> usize {
        self.rdma.as_ref().expect("a run with queue pairs").pairs[pair].hosts[Side::Server as usize]
    }

    /// The queue pair that sent a frame with data.
    pub(super) fn sending_pair(&self, frame: &NetFrame) -> Option<usize> {
        frame.notes.by_client().then_some(frame.connection as usize)?.checked_sub(self.connections.len())
    }

    /// Sets a queue pair aside if it is held back. Returns whether it is.
    #[cold]
    fn set_aside(&mut self, node: usize, pair: usize) -> bool {
        let part = self.part_of(pair);
        let aside = self.rdma().nics[node].held_back.get_mut(&part);
        aside.map(|aside| aside.push(pair as u32)).is_some()
    }

    /// Makes a NIC hold back a part of its traffic.
    pub(super) fn hold_back(&mut self, node: usize, part: u32) {
        self.rdma().nics[node].held_back.entry(part).or_default();
    }

    /// Lets a NIC send a part of its traffic again.
    pub(super) fn release_part(&mut self, node: usize, part: u32) {
        for pair in self.rdma().nics[node].held_back.remove(&part).into_iter().flatten() {
            self.pair(pair as usize).waiting = false;
            self.offer(pair as usize);
        }
    }

    fn make_frame(&mut self, pair: usize, from: Side, ecn: Ecn, number: u64, kind: Kind) -> Box<NetFrame> {
        let mut frame = self.frames.take(self.frame_number(pair), from == Side::Client, ecn);
        let state = self.pair(pair);
        let identification = &mut state.identification[from as usize];
        *identification = identification.wrapping_add(1);
        let [client, server] = state.ends;
        let (src, dst) = if from == Side::Client { (client, server) } else { (server, client) };
        let roce = Roce {
            src: src.ip,
            dst: dst.ip,
            dscp: state.dscp,
            ecn,
            identification: *identification,
            queue_pair: pair as u32,
            psn: number as u32,
            kind,
        };
        roce.write(&mut frame.packet, &src, &dst);
        frame
    }

    // Receiving

    /// A host receives a packet of a queue pair. It relies only on the bytes of the packet.
    #[inline(never)]
    pub(super) fn queue_pair_receives(&mut self, node: usize, frame: Box<NetFrame>, roce: &Roce) {
        let pair = (frame.connection as usize).checked_sub(self.connections.len());
        let to = if matches!(roce.kind, Kind::Send { .. }) { Side::Server } else { Side::Client };
        let from = if to == Side::Server { Side::Client } else { Side::Server };
        let pair = pair.filter(|&pair| {
            let state = self.pair(pair);
            let ip = |side: Side| state.ends[side as usize].ip;
            state.hosts[to as usize] == node
                && (roce.src, roce.dst, roce.queue_pair) == (ip(from), ip(to), pair as u32 & 0xff_ffff)
        });
        let Some(pair) = pair else { return self.lose(node, None, Reason::NoConnection, frame) };
        self.ecn.compare(frame.notes.due_as(), roce.ecn);
        if let Kind::Send { last, payload, .. } = roce.kind {
            self.frames.give(frame);
            return self.responder_receives(pair, roce, last, payload);
        }
        let (now, delayed) = (self.now, &mut self.delayed);
        let state = &mut self.rdma.as_mut().expect("a run with queue pairs").pairs[pair];
        if state.extra_delay == Duration::ZERO && state.heard.is_empty() {
            self.frames.give(frame);
            return self.requester_hears(pair, roce);
        }
        // Even if the delay is shorter than the previous flow's, answers must not overtake.
        let earliest = delayed.back(&state.heard).map_or(Time::ZERO, |&(time, _)| time);
        let time = (now + state.extra_delay).max(earliest);
        delayed.push_back(&mut state.heard, (time, frame));
        if state.heard.len() == 1 {
            self.events.push(time, Event::Pair(PairEvent::Hear, pair as u32));
        }
    }

    /// Handles the answers whose extra delay in the sending host is over.
    fn hear(&mut self, pair: usize) {
        loop {
            let state = &mut self.rdma.as_mut().expect("a run with queue pairs").pairs[pair];
            let Some(&(time, _)) = self.delayed.front(&state.heard) else { return };
            if time > self.now {
                return self.events.push(time, Event::Pair(PairEvent::Hear, pair as u32));
            }
            if let Some((_, frame)) = self.delayed.pop_front(&mut state.heard)
                && let Some(roce) = Roce::parse(&frame.packet)
            {
                self.frames.give(frame);
                self.requester_hears(pair, &roce);
            }
        }
    }

    fn responder_receives(&mut self, pair: usize, roce: &Roce, last: bool, payload: u32) {
        let now = self.now;
        let state = self.pair(pair);
        let Some(number) = packet_number(roce.psn, state.responder.expected()) else { return };
        let ce = roce.ecn == Ecn::Ce;
        if let (true, Some(message)) = (ce, state.messages.front_mut()) {
            message.marked += 1;
        }
        let answer = state.responder.on_packet(now, Heard { number, len: payload, ack_request: last, ce });
        let expected = state.responder.expected();
        if self.flow_trace.is_some() {
            self.trace_message(pair);
        }
        self.finish_messages(pair);
        if answer.notification {
            self.answer(pair, expected, Kind::Notification);
        }
        if answer.missing {
            self.answer(pair, expected, Kind::Nack);
        } else if answer.acknowledge {
            self.answer(pair, expected - 1, Kind::Ack);
        }
    }

    /// Records the bytes that a queue pair's flow has delivered so far.
    #[cold]
    fn trace_message(&mut self, pair: usize) {
        let state = &self.rdma.as_ref().expect("a run with queue pairs").pairs[pair];
        if let (Some(trace), Some(message)) = (&mut self.flow_trace, state.messages.front()) {
            let delivered = message.delivered(&self.flows[message.flow as usize], state.responder.delivered());
            trace.delivered(self.now, message.flow, delivered);
        }
    }

    /// Sends an answer. Answers are not ECN capable: a mark on them would signal congestion on the return path.
    fn answer(&mut self, pair: usize, number: u64, kind: Kind) {
        let frame = self.make_frame(pair, Side::Server, Ecn::NotEct, number, kind);
        let rdma = self.rdma.as_mut().expect("a run with queue pairs");
        let node = rdma.pairs[pair].hosts[Side::Server as usize];
        self.queued.push_back(&mut rdma.nics[node].answers, frame);
        self.start_nic(node);
    }

    fn requester_hears(&mut self, pair: usize, roce: &Roce) {
        let now = self.now;
        let state = self.pair(pair);
        if roce.kind == Kind::Notification {
            state.reaction.on_notification(now);
            state.requester.stats.ecn_reductions += 1;
            return;
        }
        let Some(number) = packet_number(roce.psn, state.requester.oldest()) else { return };
        let rtt = match roce.kind {
            Kind::Nack => state.requester.on_nack(now, number),
            _ => state.requester.on_ack(now, number + 1),
        };
        if let Some(rtt) = rtt {
            self.rtts.saturating_record(rtt.nanos());
        }
        self.arm_pair_timer(pair);
        self.offer(pair);
    }

    // Timers: if the deadline was postponed in the meantime, an event comes early, and is scheduled again.

    #[inline(never)]
    pub(super) fn pair_event(&mut self, event: PairEvent, pair: usize) {
        match event {
            PairEvent::Write => self.write_message(pair),
            PairEvent::Hear => self.hear(pair),
            PairEvent::Timer => self.pair_timer(pair),
        }
    }

    fn arm_pair_timer(&mut self, pair: usize) {
        let state = self.pair(pair);
        if let Some(deadline) = state.requester.deadline()
            && state.pending.is_none_or(|time| time > deadline)
        {
            state.pending = Some(deadline);
            self.events.push(deadline, Event::Pair(PairEvent::Timer, pair as u32));
        }
    }

    fn pair_timer(&mut self, pair: usize) {
        let now = self.now;
        let state = self.pair(pair);
        if state.pending != Some(now) {
            return;
        }
        state.pending = None;
        if state.requester.deadline().is_some_and(|deadline| deadline <= now) {
            state.requester.on_timeout(now);
        }
        self.arm_pair_timer(pair);
        self.offer(pair);
    }
}

impl Rdma {
    /// Queues a queue pair at its NIC.
    fn enter(&mut self, node: usize, pair: usize, time: Time) {
        let nic = &mut self.nics[node];
        nic.due.push(Reverse((time, nic.entered, pair as u32)));
        nic.entered += 1;
        self.pairs[pair].waiting = true;
    }
}

impl QueuePair {
    /// Paces after a packet: the next packet may follow when this one has been sent at the present rate.
    fn pace(&mut self, now: Time, wire_bytes: u64) {
        self.pacer.set_rate(self.reaction.rate(now));
        self.pacer.send(now, wire_bytes);
        self.reaction.on_sent(now, wire_bytes);
    }
}

fn record(message: &Message, requester: &Requester, delivered_bytes: u64) -> FlowRecord {
    let sender = requester.stats.since(message.before);
    FlowRecord { fct: None, sender, marked: message.marked, delivered_bytes, base_delay: None }
}
