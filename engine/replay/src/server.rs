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

/// Connections that may wait to be accepted: an incast opens hundreds at once, and one that overflows loses 1 s.
const BACKLOG: i32 = 4096;

/// Connections have the tokens after it.
const LISTENER: usize = 0;

/// A flow that was sent to the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The flow's number.
    pub flow: u32,
    /// When its last byte was there, in ns of CLOCK_MONOTONIC; `None` if it has not come.
    pub end_ns: Option<u64>,
    /// Bytes that have come.
    pub bytes: u64,
}

/// A flow that the server was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The flow's number.
    pub flow: u32,
    /// What became of its segments.
    pub sender: SenderCounts,
}

/// What a server has done.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Served {
    /// All flows that were sent to it, in the order in which they ended, and those that did not.
    pub arrivals: Vec<Arrival>,
    /// Those that it was asked for, in the order in which their connections were closed or used again.
    pub departures: Vec<Departure>,
}

/// A connection, and what it was asked for last with the counts of before.
struct Accepted {
    connection: Connection,
    asked: Option<(u32, SenderCounts)>,
}

/// Takes flows that are sent to it, and sends those that it is asked for.
pub struct Server {
    listener: OwnedFd,
    poller: Poller,
    /// By token; numbers are not used again, so that no event can reach another connection than its own.
    connections: Vec<Option<Accepted>>,
    served: Served,
    filler: Filler,
}

impl Server {
    /// Listens on an address; port 0 is a free one.
    ///
    /// # Errors
    /// What the kernel says: address in use, not of this host, ...
    pub fn bind(address: SocketAddrV4) -> io::Result<Server> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        // The connections of the run before may still be in TIME_WAIT.
        sockopt::set_socket_reuseaddr(&listener, true)?;
        net::bind(&listener, &address)?;
        net::listen(&listener, BACKLOG)?;
        let poller = Poller::new()?;
        poller.add(&listener, LISTENER, Interest::Read)?;
        Ok(Server { listener, poller, connections: vec![None], served: Served::default(), filler: Filler::new() })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn address(&self) -> io::Result<SocketAddrV4> {
        match SocketAddr::try_from(net::getsockname(&self.listener)?) {
            Ok(SocketAddr::V4(address)) => Ok(address),
            _ => unreachable!("the socket is of IPv4"),
        }
    }

    /// Serves until it is cancelled.
    ///
    /// # Errors
    /// If no more connections can be accepted, for want of descriptors or memory. What goes wrong on a connection ends
    /// that connection: the client has it as the status of a flow.
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
                // The client has given up; it knows.
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

    /// A connection ends, and with it the flow on it.
    fn close(&mut self, token: usize) {
        let Some(mut accepted) = self.connections[token].take() else { return };
        accepted.count(&mut self.served);
        if let Some((Header { kind: Kind::Data, flow, .. }, bytes)) = accepted.connection.incoming() {
            self.served.arrivals.push(Arrival { flow, end_ns: None, bytes });
        }
    }
}

impl Accepted {
    /// Reads, and answers a message that is complete.
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

    /// What became of the segments of the flow that was asked for last. Its last ones are acknowledged by the time that
    /// another is asked for, or the connection closed.
    fn count(&mut self, served: &mut Served) {
        if let Some((flow, before)) = self.asked.take() {
            served.departures.push(Departure { flow, sender: self.connection.sender_counts() - before });
        }
    }
}
