// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of a port over time, as rows. Each row is an interval in which something happened; between rows a queue does
//! not change.

use marklab_p4::ir::RegisterId;
use marklab_pipeline::State;
use marklab_tm::{Depth, PortConfig};
use marklab_units::{Duration, Time};

/// A queue, or all queues of a port together, during one interval in which something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// Start of the interval.
    pub time: Time,
    /// Depth at the end of the interval.
    pub last: Depth,
    /// Largest number of packets during the interval.
    pub max_packets: u64,
    /// Packets that left in the interval.
    pub departed: u64,
    /// Bytes of those frames that the port sent: a program may drop a packet after its queue.
    pub sent_bytes: u64,
    /// Packets that left in the interval and were marked.
    pub marked: u64,
    /// Longest sojourn time of packets that left in the interval.
    pub max_sojourn: Duration,
    /// Sum of the sojourn times of these packets.
    pub sum_sojourn: Duration,
    /// Rounds of the scheduler that ended in the interval, counted for each queue.
    pub rounds: u64,
    /// Sum of the durations of these rounds.
    pub sum_round: Duration,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Its sojourn time.
    pub sojourn: Duration,
    /// Bytes of its frame; 0 if the port does not send it.
    pub sent_bytes: u64,
    /// Whether it was marked here.
    pub marked: bool,
    /// Whether its queue's turn ends with it.
    pub ends_turn: bool,
}

/// The rows of a queue, oldest first.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    interval: Duration,
    rows: Vec<TraceRow>,
}

impl QueueTrace {
    fn new(interval: Duration) -> QueueTrace {
        QueueTrace { interval, rows: Vec::new() }
    }

    /// The rows.
    pub fn rows(&self) -> &[TraceRow] {
        &self.rows
    }

    fn row(&mut self, now: Time, depth: Depth) -> &mut TraceRow {
        let time = now.start_of(self.interval);
        if self.rows.last().is_none_or(|row| row.time != time) {
            let before = self.rows.last().map_or(0, |row| row.last.packets);
            self.rows.push(TraceRow {
                time,
                last: depth,
                max_packets: before,
                departed: 0,
                sent_bytes: 0,
                marked: 0,
                max_sojourn: Duration::ZERO,
                sum_sojourn: Duration::ZERO,
                rounds: 0,
                sum_round: Duration::ZERO,
            });
        }
        let at = self.rows.len() - 1;
        let row = &mut self.rows[at];
        row.last = depth;
        row.max_packets = row.max_packets.max(depth.packets);
        row
    }

    fn departed(&mut self, now: Time, depth: Depth, departure: &Departure, round: Option<Duration>) {
        let row = self.row(now, depth);
        row.departed += 1;
        row.sent_bytes += departure.sent_bytes;
        row.marked += u64::from(departure.marked);
        row.max_sojourn = row.max_sojourn.max(departure.sojourn);
        row.sum_sojourn += departure.sojourn;
        if let Some(round) = round {
            row.rounds += 1;
            row.sum_round += round;
        }
    }
}

/// A packet that went through a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Time of its arrival at the queue.
    pub arrived: Time,
    /// Time of its departure.
    pub departed: Time,
    /// Number of the 5-tuple: twice the number of the connection, plus 1 for packets from the host that receives data.
    pub five_tuple: u32,
    /// Latest flow of the connection; `None` if it has none, like connections of probes.
    pub flow: Option<u32>,
    /// Bytes of its frame.
    pub bytes: u32,
    /// Whether it was marked here.
    pub marked: bool,
}

/// A port: all of its queues together and, if there are several, each queue.
#[derive(Clone, Debug)]
pub struct PortTrace {
    port: QueueTrace,
    queues: Vec<TracedQueue>,
    registers: Vec<(RegisterId, u64)>,
    /// For each row of the port, a value for each register.
    samples: Vec<u64>,
    packets: Option<Vec<Passage>>,
}

/// A queue among several.
#[derive(Clone, Debug)]
struct TracedQueue {
    trace: QueueTrace,
    /// Whether it shares its level with other queues: only then are there rounds.
    takes_turns: bool,
    /// Start of its present round: the time when its last turn ended, or when it became busy, if that was later (MQ-ECN
    /// paper, section 3.3.1).
    round_began: Time,
}

impl PortTrace {
    /// A record of a port with these queues, with at most one row per interval. `registers` are cells of the switch's
    /// program. If `packets` is true, each packet is recorded.
    pub fn new(interval: Duration, config: &PortConfig, registers: Vec<(RegisterId, u64)>, packets: bool) -> PortTrace {
        let interval = interval.max(Duration::from_nanos(1));
        let on_level = |level: u8| config.queues().iter().filter(|queue| queue.level == level).count();
        let queue = |level: u8| TracedQueue {
            trace: QueueTrace::new(interval),
            takes_turns: on_level(level) > 1,
            round_began: Time::ZERO,
        };
        let several = config.queues().len() > 1;
        let queues = config.queues().iter().filter(|_| several).map(|spec| queue(spec.level)).collect();
        PortTrace {
            port: QueueTrace::new(interval),
            queues,
            registers,
            samples: Vec::new(),
            packets: packets.then(Vec::new),
        }
    }

    /// All queues together.
    pub fn port(&self) -> &QueueTrace {
        &self.port
    }

    /// Each queue; none if the port has only one.
    pub fn queues(&self) -> impl ExactSizeIterator<Item = &QueueTrace> {
        self.queues.iter().map(|queue| &queue.trace)
    }

    /// Number of registers that are recorded.
    pub fn registers(&self) -> usize {
        self.registers.len()
    }

    /// Low 64 bits of a register's cell at the end of each row of the port. `register` is its index in the list of
    /// recorded cells.
    pub fn samples(&self, register: usize) -> impl Iterator<Item = u64> {
        self.samples.iter().copied().skip(register).step_by(self.registers.len().max(1))
    }

    /// Packets in the order in which they left, if they are recorded.
    pub fn packets(&self) -> Option<&[Passage]> {
        self.packets.as_deref()
    }

    /// Names the flows of the recorded packets.
    pub fn name_flows(&mut self, flow: impl Fn(&Passage) -> Option<u32>) {
        for packet in self.packets.iter_mut().flatten() {
            packet.flow = flow(packet);
        }
    }

    /// Records a packet that left, if packets are recorded.
    pub fn passed(&mut self, passage: impl FnOnce() -> Passage) {
        if let Some(packets) = &mut self.packets {
            packets.push(passage());
        }
    }

    /// Records the values of the registers, after an arrival or a departure.
    pub fn sample(&mut self, state: &State) {
        if self.registers.is_empty() {
            return;
        }
        self.samples.truncate((self.port.rows.len() - 1) * self.registers.len());
        let value = |&(register, index): &(RegisterId, u64)| {
            let cell = state.register(register, index).expect("looked up by `Cell::find`");
            cell.iter_u64_digits().next().unwrap_or(0)
        };
        self.samples.extend(self.registers.iter().map(value));
    }

    /// Records a packet that arrived at a queue. Port and queue now hold `depth`.
    pub fn arrived(&mut self, now: Time, queue: usize, depth: PortDepth) {
        self.port.row(now, depth.port);
        if let Some(queue) = self.queues.get_mut(queue) {
            queue.trace.row(now, depth.queue);
            if depth.queue.packets == 1 {
                queue.round_began = now;
            }
        }
    }

    /// Records a packet that left a queue. Port and queue now hold `depth`.
    pub fn departed(&mut self, now: Time, queue: usize, depth: PortDepth, departure: &Departure) {
        let mut round = None;
        if let Some(queue) = self.queues.get_mut(queue) {
            if departure.ends_turn {
                let began = std::mem::replace(&mut queue.round_began, now);
                round = queue.takes_turns.then(|| now.since(began));
            }
            queue.trace.departed(now, depth.queue, departure, round);
        }
        self.port.departed(now, depth.port, departure, round);
    }
}

/// Depth of a port, and of one of its queues.
#[derive(Clone, Copy, Debug)]
pub struct PortDepth {
    /// Depth of all of its queues together.
    pub port: Depth,
    /// Depth of the queue.
    pub queue: Depth,
}

#[cfg(test)]
mod tests {
    use marklab_tm::{Limit, QueueConfig, Round};

    use super::*;

    const DEPARTURE: Departure = Departure { sojourn: Duration::ZERO, sent_bytes: 10, marked: false, ends_turn: false };

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    fn depth(packets: u64) -> Depth {
        Depth { packets, bytes: packets * 10 }
    }

    /// `port` packets in the port, `queue` of them in the queue.
    fn depths(port: u64, queue: u64) -> PortDepth {
        PortDepth { port: depth(port), queue: depth(queue) }
    }

    fn port(levels: &[u8]) -> PortTrace {
        let queue = |&level: &u8| QueueConfig { limit: Limit::Packets(10), level, quantum_bytes: 10 };
        let config = PortConfig::new(levels.iter().map(queue).collect(), Round::Deficit, None).unwrap();
        PortTrace::new(Duration::from_nanos(100), &config, vec![], false)
    }

    #[test]
    fn a_row_sums_up_its_interval() {
        let mut trace = port(&[0]);
        let waited = |ns| Departure { sojourn: Duration::from_nanos(ns), ..DEPARTURE };
        trace.arrived(at(10), 0, depths(1, 1));
        trace.arrived(at(20), 0, depths(2, 2));
        trace.departed(at(30), 0, depths(1, 1), &Departure { marked: true, ..waited(20) });
        trace.departed(at(250), 0, depths(0, 0), &waited(230));
        let rows = trace.port().rows();
        let counts: Vec<_> =
            rows.iter().map(|row| (row.time.nanos(), row.last.packets, row.max_packets, row.marked)).collect();
        assert_eq!(counts, [(0, 1, 2, 1), (200, 0, 1, 0)]);
        assert_eq!(rows[1].max_sojourn.nanos(), 230);
        assert_eq!(rows.iter().map(|row| row.sent_bytes).sum::<u64>(), 20);
        assert_eq!(trace.queues().len(), 0, "the only queue is the port");
    }

    /// Rounds are measured from the end of the turn before, or from when the queue became busy.
    #[test]
    fn a_round_ends_with_a_turn() {
        let mut trace = port(&[0, 0]);
        let last = Departure { ends_turn: true, ..DEPARTURE };
        trace.arrived(at(10), 1, depths(1, 1));
        trace.arrived(at(20), 1, depths(2, 2));
        trace.departed(at(30), 1, depths(1, 1), &DEPARTURE);
        trace.departed(at(35), 1, depths(1, 1), &last);
        trace.departed(at(75), 1, depths(0, 0), &last);
        trace.arrived(at(90), 1, depths(1, 1));
        trace.departed(at(97), 1, depths(0, 0), &last);
        let of =
            |trace: &QueueTrace| trace.rows().iter().map(|row| (row.rounds, row.sum_round.nanos())).collect::<Vec<_>>();
        assert_eq!(of(trace.port()), [(3, 25 + 40 + 7)]);
        assert_eq!(trace.queues().map(of).collect::<Vec<_>>(), [vec![], vec![(3, 25 + 40 + 7)]]);
    }

    #[test]
    fn a_queue_with_a_level_of_its_own_makes_no_rounds() {
        let mut trace = port(&[0, 0, 1]);
        trace.arrived(at(10), 2, depths(1, 1));
        trace.departed(at(30), 2, depths(0, 0), &Departure { ends_turn: true, ..DEPARTURE });
        assert_eq!(trace.port().rows()[0].rounds, 0);
        assert_eq!(trace.queues().nth(2).expect("there are three").rows()[0].departed, 1);
    }
}
