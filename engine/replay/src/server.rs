// SPDX-License-Identifier: MIT OR Apache-2.0
//! The server: the end that listens.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::clock::now_ns;
use crate::connection::{Connection, Filler};
use crate::flow::Watch;
use crate::message::{Header, Kind};
use crate::poller::{Interest, Poller};
use crate::tcp_info::SenderCounts;

/// Connections that may wait to be accepted. An incast opens hundreds at once; each one beyond the backlog loses 1 s.
const BACKLOG: i32 = 4096;

/// Token of the listener; connections have the tokens after it.
const LISTENER: usize = 0;

/// A flow that was sent to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The flow's number.
    pub flow: u32,
    /// When its last byte arrived, in ns of CLOCK_MONOTONIC; `None` if it has not arrived.
    pub end_ns: Option<u64>,
    /// Bytes that have arrived.
    pub bytes: u64,
}

/// A flow that the server was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The flow's number.
    pub flow: u32,
    /// Counts of its segments.
    pub sender: SenderCounts,
}

/// Flows of a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Served {
    /// All flows that were sent to it, finished or not, in the order in which they ended.
    pub arrivals: Vec<Arrival>,
    /// All flows that it was asked for, in the order in which their connections were closed or used again.
    pub departures: Vec<Departure>,
}

/// A connection, the flow that it was last asked for, and the counts before that flow.
struct Accepted {
    connection: Connection,
    asked: Option<(u32, SenderCounts)>,
}

/// Receives flows, and sends the flows that it is asked for.
pub struct Server {
    listener: OwnedFd,
    poller: Poller,
    /// By token. Tokens are not reused, so an event cannot reach the wrong connection.
    connections: Vec<Option<Accepted>>,
    served: Served,
    filler: Filler,
}

impl Server {
    /// Listens on an address; with port 0, on a free port.
    ///
    /// # Errors
    /// Errors of the kernel: address in use, not an address of this host, ...
    pub fn bind(address: SocketAddrV4) -> io::Result<Server> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // Connections of the previous run may still be in TIME_WAIT.
        sockopt::set_socket_reuseaddr(&listener, true)?;
        net::bind(&listener, &address)?;
        net::listen(&listener, BACKLOG)?;
        let poller = Poller::new()?;
        poller.add(&listener, LISTENER, Interest::Read)?;
        Ok(Server { listener, poller, connections: vec![None], served: Served::default(), filler: Filler::new() })
    }

    /// The address on which it listens.
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn address(&self) -> io::Result<SocketAddrV4> {
        match SocketAddr::try_from(net::getsockname(&self.listener)?) {
            Ok(SocketAddr::V4(address)) => Ok(address),
            _ => unreachable!("the socket is of IPv4"),
        }
    }

    /// Serves until it is cancelled.
    ///
    /// # Errors
    /// If no more connections can be accepted, for lack of descriptors or memory. An error on a connection ends that
    /// connection, and the client reports it as the status of a flow.
    pub fn serve(mut self, watch: Watch<'_>) -> io::Result<Served> {
        let mut ready = Vec::new();
        while !watch.cancelled() {
            self.poller.wait(u64::MAX, &mut ready)?;
            for &token in &ready {
                if token == LISTENER {
                    self.accept()?;
                } else {
                    self.go_on(token, watch);
                }
            }
        }
        for token in 1..self.connections.len() {
            self.close(token);
        }
        Ok(self.served)
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => {
                    let connection = Connection::new(socket, &self.poller, self.connections.len(), Interest::Read)?;
                    self.connections.push(Some(Accepted { connection, asked: None }));
                }
                Err(Errno::AGAIN) => return Ok(()),
                // The client has given up, so it needs no report.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn go_on(&mut self, token: usize, watch: Watch<'_>) {
        let Some(accepted) = &mut self.connections[token] else { return };
        let stepped = match accepted.connection.interest() {
            Interest::Read => accepted.step(&mut self.filler, &mut self.served, watch),
            Interest::Write => accepted.connection.write(&mut self.filler).map(|_| ()),
        };
        if stepped.and_then(|()| accepted.connection.follow(&self.poller)).is_err() {
            self.close(token);
        }
    }

    /// Ends a connection and the flow on it.
    fn close(&mut self, token: usize) {
        let Some(mut accepted) = self.connections[token].take() else { return };
        accepted.count(&mut self.served);
        if let Some((Header { kind: Kind::Data, flow, .. }, bytes)) = accepted.connection.incoming() {
            self.served.arrivals.push(Arrival { flow, end_ns: None, bytes });
        }
    }
}

impl Accepted {
    /// Reads, and answers a complete message.
    fn step(&mut self, filler: &mut Filler, served: &mut Served, watch: Watch<'_>) -> Result<(), Errno> {
        let Some(message) = self.connection.read(filler)? else { return Ok(()) };
        let answer = match message.kind {
            Kind::Data => {
                let end_ns = now_ns();
                let bytes = message.message_bytes();
                served.arrivals.push(Arrival { flow: message.flow, end_ns: Some(end_ns), bytes });
                watch.count();
                Header { kind: Kind::Receipt, value: end_ns, ..message }
            }
            Kind::Request => {
                self.count(served);
                self.asked = Some((message.flow, self.connection.sender_counts()));
                Header { kind: Kind::Data, ..message }
            }
            Kind::Receipt => return Err(Errno::PROTO),
        };
        self.connection.begin(answer);
        self.connection.write(filler)?;
        Ok(())
    }

    /// Records the counts of the flow that was last asked for. Its last segments are acknowledged by the time that
    /// another flow is asked for, or the connection is closed.
    fn count(&mut self, served: &mut Served) {
        if let Some((flow, before)) = self.asked.take() {
            served.departures.push(Departure { flow, sender: self.connection.sender_counts() - before });
        }
    }
}
