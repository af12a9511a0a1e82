//! The end that listens.

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

/// Takes flows that are sent to it, and sends those that it is asked for.
pub struct Server {
    listener: OwnedFd,
    poller: Poller,
    /// By token; numbers are not used again, so that no event can reach another connection than its own.
    connections: Vec<Option<Connection>>,
    arrivals: Vec<Arrival>,
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
        Ok(Server { listener, poller, connections: vec![None], arrivals: Vec::new(), filler: Filler::new() })
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

    /// Serves until it is cancelled. Gives all flows that were sent to it, in the order in which they ended, and those
    /// that did not.
    ///
    /// # Errors
    /// If no more connections can be accepted, for want of descriptors or memory. What goes wrong on a connection ends
    /// that connection: the client has it as the status of a flow.
    pub fn serve(mut self, watch: Watch<'_>) -> io::Result<Vec<Arrival>> {
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
        Ok(self.arrivals)
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => {
                    let connection = Connection::new(socket, &self.poller, self.connections.len(), Interest::Read)?;
                    self.connections.push(Some(connection));
                }
                Err(Errno::AGAIN) => return Ok(()),
                // The client has given up; it knows.
                Err(Errno::CONNABORTED | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn go_on(&mut self, token: usize, watch: Watch<'_>) {
        let Some(connection) = &mut self.connections[token] else { return };
        let stepped = match connection.interest() {
            Interest::Read => step(connection, &mut self.filler, &mut self.arrivals, watch),
            Interest::Write => connection.write(&mut self.filler).map(|_| ()),
        };
        if stepped.and_then(|()| connection.follow(&self.poller)).is_err() {
            self.close(token);
        }
    }

    /// A connection ends, and with it the flow on it.
    fn close(&mut self, token: usize) {
        let Some(connection) = self.connections[token].take() else { return };
        if let Some((Header { kind: Kind::Data, flow, .. }, bytes)) = connection.incoming() {
            self.arrivals.push(Arrival { flow, end_ns: None, bytes });
        }
    }
}

/// Reads, and answers a message that is complete.
fn step(
    connection: &mut Connection,
    filler: &mut Filler,
    arrivals: &mut Vec<Arrival>,
    watch: Watch<'_>,
) -> Result<(), Errno> {
    let Some(message) = connection.read(filler)? else { return Ok(()) };
    let answer = match message.kind {
        Kind::Data => {
            let end_ns = now_ns();
            arrivals.push(Arrival { flow: message.flow, end_ns: Some(end_ns), bytes: message.message_bytes() });
            watch.count();
            Header { kind: Kind::Receipt, value: end_ns, ..message }
        }
        Kind::Request => Header { kind: Kind::Data, ..message },
        Kind::Receipt => return Err(Errno::PROTO),
    };
    connection.begin(answer);
    connection.write(filler)?;
    Ok(())
}
