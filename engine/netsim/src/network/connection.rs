// SPDX-License-Identifier: MIT OR Apache-2.0
//! What both ends of a connection have in common: addresses, first sequence numbers, and fields of headers.

use super::env::Shared;
use crate::tcp::{MAX_ADVERTISED, WINDOW_SCALE};
use crate::wire::{Ecn, EndPoint, Header};

/// Client ports begin above the well-known ports. Each connection has its own pair of client and server port.
const FIRST_CLIENT_PORT: u32 = 1_024;
const CLIENT_PORTS: u32 = 64_000;
const FIRST_SERVER_PORT: u32 = 5_001;

/// End points of a connection: client and server.
pub(super) fn end_points(shared: &Shared, connection: u32, src: usize, dst: usize) -> [EndPoint; 2] {
    let ports = [FIRST_CLIENT_PORT + connection % CLIENT_PORTS, FIRST_SERVER_PORT + connection / CLIENT_PORTS];
    let end = |node: usize, port: u32| {
        let (mac, ip) = shared.addresses[node];
        EndPoint { mac, ip, port: port as u16 }
    };
    [end(src, ports[0]), end(dst, ports[1])]
}

/// Initial sequence numbers of client and server. Any value would do; values that differ between connections make captures
/// easier to read.
pub(super) fn initial_sequences(ends: &[EndPoint; 2]) -> [u32; 2] {
    let [client, server] = ends.map(|end| u32::from(end.port));
    [client << 16 | server, server << 16 | client]
}

/// A header of an empty segment, without sequence number, acknowledgement and flags.
pub(super) fn blank_header(shared: &Shared) -> Header<'static> {
    Header {
        sequence: 0,
        ack: 0,
        flags: 0,
        window: advertised(shared.transport.receive_window_bytes),
        ecn: Ecn::NotEct,
        options: &[],
        payload: 0,
    }
}

/// A window as a header has it, scaled and limited to 16 bits.
pub(super) fn advertised(window_bytes: u64) -> u16 {
    (window_bytes.min(MAX_ADVERTISED) >> WINDOW_SCALE) as u16
}
