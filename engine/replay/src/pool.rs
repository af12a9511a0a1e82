// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pool of connections that carry no flow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddrV4;

use crate::flow::Direction;

/// Server and direction of a connection. Directions do not share connections: flows of the other direction would shape
/// the window.
pub(crate) type Route = (SocketAddrV4, Direction);

/// Idle connections per route, by their numbers. The connection opened first is used first, as in `netsim`.
#[derive(Default)]
pub(crate) struct Pool(BTreeMap<Route, BinaryHeap<Reverse<usize>>>);

impl Pool {
    pub(crate) fn put(&mut self, route: Route, connection: usize) {
        self.0.entry(route).or_default().push(Reverse(connection));
    }

    pub(crate) fn take(&mut self, route: Route) -> Option<usize> {
        self.0.get_mut(&route)?.pop().map(|Reverse(connection)| connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_opened_first_is_used_first() {
        let peer = "10.0.0.1:1".parse().unwrap();
        let mut pool = Pool::default();
        for connection in [3, 1, 2] {
            pool.put((peer, Direction::Push), connection);
        }
        pool.put((peer, Direction::Pull), 0);
        let taken = [0; 4].map(|_| pool.take((peer, Direction::Push)));
        assert_eq!(taken, [Some(1), Some(2), Some(3), None]);
    }
}
