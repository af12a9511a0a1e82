// SPDX-License-Identifier: MIT OR Apache-2.0
//! The client: the end that starts flows.

use std::io;
use std::num::NonZeroU64;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

use crate::clock::now_ns;
use crate::connection::{Connection, Filler};
use crate::flow::{Connections, Direction, Flow, FlowRecord, Status, Watch};
use crate::message::{Header, Kind};
use crate::poller::{Interest, Poller};
use crate::pool::{Pool, Route};
use crate::tcp_info::SenderCounts;

/// The flows that a client replays, and their times. Instants are in ns of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Flows, in any order.
    pub flows: &'a [Flow],
    /// Life of their connections.
    pub connections: Connections,
    /// The common start of all clients. It should be some round trips ahead, because connections of a pool are opened
    /// before it.
    pub start_at_ns: u64,
    /// When unfinished flows are abandoned.
    pub stop_at_ns: u64,
}

impl Plan<'_> {
    fn due_ns(&self, flow: usize) -> u64 {
        self.start_at_ns.saturating_add(self.flows[flow].start_ns)
    }
}

/// Replays flows until all have ended, the plan's stop has come, or the run is cancelled. Returns a record for each
/// flow, in the order of the plan.
///
/// # Errors
/// If a flow's DSCP is above 63, or if the kernel has no epoll instance left. Errors of a flow are its status.
pub fn replay(plan: &Plan<'_>, watch: Watch<'_>) -> io::Result<Vec<FlowRecord>> {
    if let Some(flow) = plan.flows.iter().find(|flow| flow.dscp > 63) {
        let message = format!("flow {}: DSCP {} is above 63", flow.id, flow.dscp);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let mut client = Client::new(plan, watch)?;
    client.open_pools();
    // By default, Linux wakes a thread up to 50 us late to save power.
    let slack_ns = NonZeroU64::new(current_timer_slack()?);
    set_current_timer_slack(NonZeroU64::new(1))?;
    let ran = client.run();
    set_current_timer_slack(slack_ns)?;
    ran?;
    Ok(client.records())
}

/// A connection and its use.
struct Carrier {
    connection: Connection,
    route: Route,
    /// Whether the handshake is over.
    open: bool,
    flow: Option<usize>,
    /// Counts at the start of its flow.
    counts: SenderCounts,
}

struct Client<'a> {
    plan: &'a Plan<'a>,
    watch: Watch<'a>,
    poller: Poller,
    /// By token. Tokens are not reused, so an event cannot reach the wrong connection.
    carriers: Vec<Option<Carrier>>,
    pool: Pool,
    /// Indices of flows in order of their start. The first `started` of them have been started.
    order: Vec<usize>,
    started: usize,
    ended: usize,
    records: Vec<FlowRecord>,
    filler: Filler,
}

impl<'a> Client<'a> {
    fn new(plan: &'a Plan<'a>, watch: Watch<'a>) -> io::Result<Client<'a>> {
        let mut order: Vec<usize> = (0..plan.flows.len()).collect();
        order.sort_by_key(|&flow| plan.flows[flow].start_ns);
        let unknown = |flow: &Flow| FlowRecord {
            id: flow.id,
            start_ns: None,
            late_ns: 0,
            end_ns: None,
            status: Status::NotStarted,
            bytes: 0,
            sender: SenderCounts::default(),
        };
        Ok(Client {
            plan,
            watch,
            poller: Poller::new()?,
            carriers: Vec::new(),
            pool: Pool::default(),
            order,
            started: 0,
            ended: 0,
            records: plan.flows.iter().map(unknown).collect(),
            filler: Filler::new(),
        })
    }

    /// Opens the connections that are to be open before the start. Failures are not reported here: the flow that needs
    /// the connection will meet the same failure.
    fn open_pools(&mut self) {
        let Connections::Persistent { per_pair } = self.plan.connections else { return };
        let mut routes: Vec<Route> = self.plan.flows.iter().map(|flow| (flow.peer, flow.direction)).collect();
        routes.sort_unstable();
        routes.dedup();
        for route in routes {
            for _ in 0..per_pair {
                let _ = self.open(route, 0, 0);
            }
        }
    }

    fn run(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        while self.ended < self.plan.flows.len() && !self.watch.cancelled() && now_ns() < self.plan.stop_at_ns {
            self.start_due();
            let next_ns = self.order.get(self.started).map_or(u64::MAX, |&flow| self.plan.due_ns(flow));
            self.poller.wait(next_ns.min(self.plan.stop_at_ns), &mut ready)?;
            for &token in &ready {
                // Sockets may keep the loop busy past the next start.
                self.start_due();
                if let Err(error) = self.go_on(token) {
                    self.fail(token, error);
                }
            }
        }
        Ok(())
    }

    /// The records at the end, including those of unfinished flows.
    fn records(mut self) -> Vec<FlowRecord> {
        for token in 0..self.carriers.len() {
            self.drop_carrier(token, Status::Unfinished);
        }
        self.records
    }

    fn start_due(&mut self) {
        while let Some(&flow) = self.order.get(self.started) {
            let due_ns = self.plan.due_ns(flow);
            let now_ns = now_ns();
            if now_ns < due_ns || now_ns >= self.plan.stop_at_ns {
                return;
            }
            self.started += 1;
            self.records[flow].start_ns = Some(now_ns - self.plan.start_at_ns);
            self.records[flow].late_ns = now_ns - due_ns;
            self.start(flow);
        }
    }

    fn start(&mut self, number: usize) {
        let flow = &self.plan.flows[number];
        let route = (flow.peer, flow.direction);
        let token = match self.idle(route) {
            Some(token) => token,
            None => match self.open(route, flow.dscp, flow.ttl) {
                Ok(token) => token,
                Err(error) => return self.end(number, error.into()),
            },
        };
        let carrier = self.carriers[token].as_mut().expect("it is idle or new");
        carrier.flow = Some(number);
        carrier.counts = carrier.connection.sender_counts();
        let kind = match flow.direction {
            Direction::Push => Kind::Data,
            Direction::Pull => Kind::Request,
        };
        carrier.connection.begin(Header { kind, dscp: flow.dscp, flow: flow.id, value: flow.size_bytes });
        if carrier.open {
            let set = carrier.connection.set_dscp(flow.dscp).and_then(|()| carrier.connection.set_ttl(flow.ttl));
            if let Err(error) = set.and_then(|()| self.go_on(token)) {
                self.fail(token, error);
            }
        }
    }

    fn idle(&mut self, route: Route) -> Option<usize> {
        // Skip connections that the other end has closed in the meantime.
        std::iter::from_fn(|| self.pool.take(route)).find(|&token| self.carriers[token].is_some())
    }

    /// Begins a connection and returns its token.
    fn open(&mut self, route: Route, dscp: u8, ttl: u8) -> Result<usize, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        let token = self.carriers.len();
        let mut connection = Connection::new(socket, &self.poller, token, Interest::Write)?;
        connection.set_dscp(dscp)?;
        connection.set_ttl(ttl)?;
        match net::connect(&connection, &route.0) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        self.carriers.push(Some(Carrier {
            connection,
            route,
            open: false,
            flow: None,
            counts: SenderCounts::default(),
        }));
        Ok(token)
    }

    /// Reads or writes as far as a connection can now.
    fn go_on(&mut self, token: usize) -> Result<(), Errno> {
        let Some(carrier) = &mut self.carriers[token] else { return Ok(()) };
        if !carrier.open {
            carrier.connection.error()?;
            carrier.open = true;
            if carrier.flow.is_none() {
                self.pool.put(carrier.route, token);
            }
        }
        match carrier.connection.interest() {
            Interest::Write => {
                let sent = carrier.connection.write(&mut self.filler)?;
                if let Some(flow) = carrier.flow.filter(|&flow| self.plan.flows[flow].direction == Direction::Push) {
                    self.records[flow].bytes = sent;
                }
                carrier.connection.follow(&self.poller)
            }
            Interest::Read => {
                carrier.connection.follow(&self.poller)?;
                let message = carrier.connection.read(&mut self.filler)?;
                message.map_or(Ok(()), |message| self.receive(token, message))
            }
        }
    }

    /// Handles a complete message, which ends the connection's flow.
    ///
    /// # Errors
    /// `PROTO` if the message does not belong to the flow.
    fn receive(&mut self, token: usize, message: Header) -> Result<(), Errno> {
        let carrier = self.carriers[token].as_mut().ok_or(Errno::PROTO)?;
        let number = carrier.flow.ok_or(Errno::PROTO)?;
        let flow = &self.plan.flows[number];
        let end_ns = match (flow.direction, message.kind) {
            (Direction::Push, Kind::Receipt) => message.value,
            (Direction::Pull, Kind::Data) => now_ns(),
            _ => return Err(Errno::PROTO),
        };
        if message.flow != flow.id {
            return Err(Errno::PROTO);
        }
        if flow.direction == Direction::Pull {
            self.records[number].bytes = message.message_bytes();
        }
        carrier.flow = None;
        self.records[number].sender = carrier.connection.sender_counts() - carrier.counts;
        match self.plan.connections {
            Connections::New => self.carriers[token] = None,
            Connections::Persistent { .. } => self.pool.put(carrier.route, token),
        }
        self.records[number].end_ns = Some(end_ns.saturating_sub(self.plan.start_at_ns));
        self.end(number, Status::Done);
        Ok(())
    }

    fn fail(&mut self, token: usize, error: Errno) {
        self.drop_carrier(token, error.into());
    }

    /// Ends a connection and the flow on it.
    fn drop_carrier(&mut self, token: usize, status: Status) {
        let Some(carrier) = self.carriers[token].take() else { return };
        let Some(flow) = carrier.flow else { return };
        if let Some((_, bytes)) = carrier.connection.incoming() {
            self.records[flow].bytes = bytes;
        }
        self.records[flow].sender = carrier.connection.sender_counts() - carrier.counts;
        self.end(flow, status);
    }

    fn end(&mut self, flow: usize, status: Status) {
        self.records[flow].status = status;
        self.ended += 1;
        self.watch.count();
    }
}
