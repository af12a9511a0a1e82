// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows over the loopback interface.

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use marklab_replay::{
    Arrival, Connections, Direction, Flow, FlowRecord, Plan, Served, Server, Status, Watch, now_ns, replay,
};

const MS: u64 = 1_000_000;
const PERSISTENT: Connections = Connections::Persistent { per_pair: 2 };

fn flow(id: u32, peer: SocketAddrV4, size_bytes: u64) -> Flow {
    Flow { id, start_ns: 0, peer, size_bytes, dscp: 0, ttl: 0, direction: Direction::Push }
}

/// Runs a server while `client` runs with its address. Also returns the flows that were sent to it.
fn with_server<T>(client: impl FnOnce(SocketAddrV4) -> T) -> (T, Vec<Arrival>) {
    let (result, served) = serving(client);
    (result, served.arrivals)
}

fn serving<T>(client: impl FnOnce(SocketAddrV4) -> T) -> (T, Served) {
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = server.address().unwrap();
    let (ended, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
    let watch = Watch { ended: &ended, cancel: &cancel };
    thread::scope(|scope| {
        let serving = scope.spawn(move || server.serve(watch).unwrap());
        let ends = Ends(&cancel);
        let result = client(address);
        drop(ends);
        (result, serving.join().unwrap())
    })
}

/// Ends the server, even if the client panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Replays with a start 20 ms ahead, and stops after `run_ms`.
fn run(flows: &[Flow], connections: Connections, run_ms: u64) -> Vec<FlowRecord> {
    let (ended, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
    let start_at_ns = now_ns() + 20 * MS;
    let plan = Plan { flows, connections, start_at_ns, stop_at_ns: start_at_ns + run_ms * MS };
    replay(&plan, Watch { ended: &ended, cancel: &cancel }).unwrap()
}

#[test]
fn a_flow_arrives_whole_and_both_ends_agree_on_when() {
    for connections in [Connections::New, PERSISTENT] {
        for size_bytes in [1, 15, 16, 17, 65_535, 65_536, 65_537, 3_000_000] {
            let before_ns = now_ns();
            let (records, arrivals) = with_server(|peer| run(&[flow(7, peer, size_bytes)], connections, 10_000));
            let [record] = records[..] else { panic!("{records:?}") };
            let [arrival] = arrivals[..] else { panic!("{arrivals:?}") };
            assert_eq!((record.id, record.status, arrival.flow), (7, Status::Done, 7));
            assert_eq!((record.bytes, arrival.bytes), (size_bytes.max(16), size_bytes.max(16)));
            let (start_ns, end_ns) = (record.start_ns.unwrap(), record.end_ns.unwrap());
            assert!(start_ns < end_ns, "{record:?}");
            assert_eq!(start_ns, record.late_ns, "it was planned for 0");
            // The common start is 20 ms after the client's. The receipt carries the time of the server.
            let common_start_ns = arrival.end_ns.unwrap() - end_ns;
            assert!((before_ns..before_ns + 120 * MS).contains(&(common_start_ns - 20 * MS)));
        }
    }
}

#[test]
fn a_query_has_its_parts_from_several_servers() {
    let ((records, first), second) = with_server(|a| {
        let (records, arrivals) = with_server(|b| {
            let part = |id, peer| Flow { direction: Direction::Pull, ..flow(id, peer, 100_000) };
            run(&[part(1, a), part(2, b), part(3, a)], Connections::New, 10_000)
        });
        (records, arrivals)
    });
    assert_eq!(records.len(), 3);
    for record in records {
        assert_eq!((record.status, record.bytes), (Status::Done, 100_000));
        assert!(record.start_ns.unwrap() < record.end_ns.unwrap());
    }
    assert!(first.is_empty() && second.is_empty(), "nothing was sent to them");
}

#[test]
fn a_server_counts_the_flows_that_it_is_asked_for() {
    for connections in [Connections::New, PERSISTENT] {
        let (records, served) = serving(|peer| {
            let part =
                |id| Flow { direction: Direction::Pull, start_ns: u64::from(id) * MS, ..flow(id, peer, 100_000) };
            run(&[part(3), part(4), part(5)], connections, 10_000)
        });
        assert!(records.iter().all(|record| record.status == Status::Done), "{records:?}");
        let mut asked: Vec<u32> = served.departures.iter().map(|departure| departure.flow).collect();
        asked.sort_unstable();
        assert_eq!(asked, [3, 4, 5]);
    }
}

#[test]
fn no_flow_is_lost_among_thousands_of_both_directions() {
    let (records, arrivals) = with_server(|peer| {
        let flows: Vec<Flow> = (0..4000)
            .map(|id| Flow {
                start_ns: u64::from(id / 100) * MS,
                direction: if id % 2 == 0 { Direction::Push } else { Direction::Pull },
                dscp: (id % 64) as u8,
                ..flow(id, peer, u64::from(id) * 7 % 60_000 + 1)
            })
            .collect();
        run(&flows, PERSISTENT, 30_000)
    });
    assert_eq!(records.len(), 4000);
    for (id, record) in (0..).zip(&records) {
        assert_eq!((record.id, record.status), (id, Status::Done));
        assert_eq!(record.bytes, (u64::from(id) * 7 % 60_000 + 1).max(16));
        assert_eq!(record.start_ns.unwrap() - record.late_ns, u64::from(id / 100) * MS);
    }
    let mut pushed: Vec<u32> = arrivals.iter().map(|arrival| arrival.flow).collect();
    pushed.sort_unstable();
    assert_eq!(pushed, (0..4000).step_by(2).collect::<Vec<u32>>());
}

#[test]
fn flows_start_when_they_are_due_and_not_before() {
    let (records, _) = with_server(|peer| {
        let flows: Vec<Flow> = [30, 10, 20].map(|ms| Flow { start_ns: ms * MS, ..flow(ms as u32, peer, 100) }).to_vec();
        run(&flows, PERSISTENT, 10_000)
    });
    for record in records {
        assert_eq!(record.start_ns, Some(u64::from(record.id) * MS + record.late_ns));
    }
}

#[test]
fn a_refused_connection_is_the_status_of_its_flow() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = SocketAddrV4::new("127.0.0.1".parse().unwrap(), free);
    for connections in [Connections::New, PERSISTENT] {
        let (records, _) = with_server(|peer| run(&[flow(0, nobody, 9), flow(1, peer, 9)], connections, 10_000));
        let statuses: Vec<Status> = records.iter().map(|record| record.status).collect();
        assert_eq!(statuses, [Status::Refused, Status::Done]);
        assert_eq!(records[0].end_ns, None);
    }
}

/// A listener that calls `then` with its first connection after it has read a header.
fn stranger(then: impl FnOnce(std::net::TcpStream) + Send + 'static) -> SocketAddrV4 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 16]).unwrap();
        then(stream);
    });
    SocketAddrV4::new("127.0.0.1".parse().unwrap(), port)
}

#[test]
fn a_connection_that_ends_early_resets_its_flow() {
    let peer = stranger(drop);
    let records = run(&[flow(0, peer, 1 << 30)], Connections::New, 10_000);
    assert_eq!(records[0].status, Status::Reset);
}

#[test]
fn an_answer_of_something_else_is_garbled() {
    let peer = stranger(|mut stream| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap());
    let records = run(&[flow(0, peer, 16)], Connections::New, 10_000);
    assert_eq!(records[0].status, Status::Garbled);
}

#[test]
fn what_has_not_ended_at_the_stop_is_unfinished() {
    let (records, arrivals) = with_server(|peer| {
        let late = Flow { start_ns: 10_000 * MS, ..flow(1, peer, 100) };
        run(&[flow(0, peer, 1 << 50), late], PERSISTENT, 100)
    });
    assert_eq!((records[0].status, records[1].status), (Status::Unfinished, Status::NotStarted));
    assert_eq!((records[0].end_ns, records[1].start_ns), (None, None));
    let [arrival] = arrivals[..] else { panic!("{arrivals:?}") };
    assert_eq!((arrival.flow, arrival.end_ns), (0, None));
    assert!((1..=records[0].bytes).contains(&arrival.bytes), "{arrival:?} of {records:?}");
}

#[test]
fn a_code_point_of_seven_bits_is_refused() {
    let (ended, cancel) = (AtomicU64::new(0), AtomicBool::new(false));
    let flows = [Flow { dscp: 64, ..flow(5, "127.0.0.1:1".parse().unwrap(), 1) }];
    let plan = Plan { flows: &flows, connections: PERSISTENT, start_at_ns: 0, stop_at_ns: u64::MAX };
    let error = replay(&plan, Watch { ended: &ended, cancel: &cancel }).unwrap_err();
    assert_eq!(error.to_string(), "flow 5: DSCP 64 is above 63");
}
