// SPDX-License-Identifier: MIT OR Apache-2.0
//! Autotuning of the receive window, as in Linux 6.18 (net/ipv4/tcp_input.c): the buffer has room for what arrives in a
//! few round trips, and the advertised window follows while segments arrive. The application reads at once, so only what
//! arrived out of order takes room. There are no timestamps: a round trip is the time that a window takes to arrive.

use marklab_units::{Duration, Time};

use super::sender::TRUESIZE_PERCENT;

/// `net.ipv4.tcp_rmem[1]` of Linux: memory of a new connection's buffer.
const BUFFER_BYTES: u64 = 131_072;
/// Linux's `TCP_INIT_CWND`.
const INITIAL_SEGMENTS: u64 = 10;
/// Headers of a frame without options.
const HEADERS: u64 = 54;
/// A smaller segment does not let the window grow (`tcp_event_data_recv`).
const SMALL_BYTES: u32 = 128;
/// Windows are multiples of the unit that the scale of the header has.
const UNIT: u64 = 1 << super::WINDOW_SCALE;

/// What bounds a window that is tuned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AutotuningConfig {
    /// Largest segment in bytes.
    pub mss: u32,
    /// Largest window: what `net.ipv4.tcp_rmem[2]` has room for.
    pub limit: u64,
}

/// What the receiver holds after a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The next byte that is expected.
    pub(super) rcv_nxt: u64,
    /// Bytes that arrived out of order, and how far they reach beyond `rcv_nxt`.
    pub(super) waiting: u64,
    pub(super) span: u64,
}

/// A window that is tuned, with Linux's names.
#[derive(Clone, Debug)]
pub(super) struct Autotuning {
    mss: u64,
    limit: u64,
    /// Largest window that the buffer has room for.
    window_clamp: u64,
    /// What the window grows to.
    rcv_ssthresh: u64,
    /// The advertised window, and the byte at which it ends.
    rcv_wnd: u64,
    edge: u64,
    /// When the present window began to arrive, and its last byte (`rcv_rtt_est`).
    measured: Option<(Time, u64)>,
    /// The shortest round trip measured.
    rtt: Option<Duration>,
    /// Most bytes that arrived in a round trip, and where the present one began (`rcvq_space`).
    space: u64,
    begin: (Time, u64),
}

impl Autotuning {
    /// Of a connection without data (`tcp_select_initial_window` and `tcp_init_buffer_space`).
    pub(super) fn new(AutotuningConfig { mss, limit }: AutotuningConfig) -> Autotuning {
        let mss = u64::from(mss);
        // Half of the memory is for data, until a segment tells.
        let room = (BUFFER_BYTES / 2).min(limit);
        let rcv_wnd = if room > mss { room / mss * mss } else { room };
        let window_clamp = room.saturating_sub(mss).max(2 * mss);
        let rcv_ssthresh = rcv_wnd.min(window_clamp);
        Autotuning {
            mss,
            limit,
            window_clamp,
            rcv_ssthresh,
            rcv_wnd,
            edge: rcv_wnd,
            measured: None,
            rtt: None,
            space: rcv_ssthresh.min(INITIAL_SEGMENTS * mss),
            begin: (Time::ZERO, 0),
        }
    }

    /// The window that the last packet had.
    pub(super) fn advertised(&self) -> u64 {
        self.rcv_wnd
    }

    /// Notes new data of `len` bytes, and of `end` as their last byte if they came in order. Returns whether the window
    /// grows.
    pub(super) fn on_data(&mut self, now: Time, len: u32, in_order: Option<u64>, held: &Held) -> bool {
        let Some(end) = in_order else {
            let grows = self.grow_window(len, held);
            self.grow_buffer(self.space, held.span);
            return grows;
        };
        if self.measured.is_none() {
            self.note_memory();
        }
        self.measure(now, end);
        let grows = len >= SMALL_BYTES && self.grow_window(len, held);
        self.adjust_space(now, held);
        grows
    }

    /// The window to advertise: `__tcp_select_window`. It never takes back what was advertised before.
    pub(super) fn select_window(&mut self, held: &Held) -> u64 {
        let room = self.window_clamp.saturating_sub(held.waiting);
        let open = self.edge.saturating_sub(held.rcv_nxt);
        self.rcv_wnd = room.min(self.rcv_ssthresh).max(open).next_multiple_of(UNIT);
        self.edge = held.rcv_nxt + self.rcv_wnd;
        self.rcv_wnd
    }

    /// The first segment tells which part of the memory data take (`tcp_measure_rcv_mss`), in 256ths.
    fn note_memory(&mut self) {
        let memory = (self.mss + HEADERS) * TRUESIZE_PERCENT / 100;
        let scaling_ratio = (self.mss * 256 / memory).max(1);
        self.window_clamp = (BUFFER_BYTES * scaling_ratio / 256).min(self.limit);
        self.space = self.space.min(self.window_clamp);
    }

    /// `tcp_rcv_rtt_measure`.
    fn measure(&mut self, now: Time, end: u64) {
        if let Some((since, until)) = self.measured {
            if end < until {
                return;
            }
            let sample = now.since(since);
            self.rtt = Some(self.rtt.map_or(sample, |rtt| rtt.min(sample)));
        }
        self.measured = Some((now, end + self.rcv_wnd));
    }

    /// `tcp_grow_window`. In Linux, segments grow a window near its limit less if much of their memory is unused.
    fn grow_window(&mut self, len: u32, held: &Held) -> bool {
        let room = self.window_clamp.saturating_sub(held.waiting).saturating_sub(self.rcv_ssthresh);
        self.rcv_ssthresh += room.min(2 * self.mss.max(len.into()));
        room > 0
    }

    /// `tcp_rcv_space_adjust`: once in a round trip, the buffer follows what has arrived in it.
    fn adjust_space(&mut self, now: Time, held: &Held) {
        let Some(rtt) = self.rtt else { return };
        let (since, from) = self.begin;
        if now.since(since) < rtt {
            return;
        }
        let copied = held.rcv_nxt - from;
        if copied > self.space {
            self.grow_buffer(copied, held.span);
        }
        self.begin = (now, held.rcv_nxt);
    }

    /// `tcp_rcvbuf_grow`. The measure is a round trip late, and the sender may double its rate in the next one.
    fn grow_buffer(&mut self, space: u64, span: u64) {
        let before = std::mem::replace(&mut self.space, space);
        let twice = 2 * space;
        let window = twice + (2 * twice).saturating_mul(space - before) / before + span;
        self.window_clamp = self.window_clamp.max(window.min(self.limit));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MSS: u32 = 1460;

    fn tuned(limit: u64) -> Autotuning {
        Autotuning::new(AutotuningConfig { mss: MSS, limit })
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn held(segments: u64) -> Held {
        Held { rcv_nxt: segments * u64::from(MSS), waiting: 0, span: 0 }
    }

    /// The segments `from..to` arrive in order.
    fn receive(window: &mut Autotuning, now: Time, from: u64, to: u64) {
        for segment in from + 1..=to {
            let held = held(segment);
            window.on_data(now, MSS, Some(held.rcv_nxt), &held);
        }
    }

    #[test]
    fn a_window_begins_at_64_kib_in_whole_segments() {
        // (131,072 / 2) / 1,460 * 1,460, and a segment less than 65,536.
        let window = tuned(3 << 20);
        assert_eq!((window.advertised(), window.rcv_ssthresh, window.space), (64_240, 64_076, 14_600));
        for (limit, first) in [(64_239, 62_780), (64_240, 64_240), (64_241, 64_240), (1_460, 1_460)] {
            assert_eq!(tuned(limit).advertised(), first);
        }
    }

    #[test]
    fn each_segment_adds_two_until_the_buffer_has_no_more_room() {
        let mut window = tuned(3 << 20);
        receive(&mut window, ms(0), 0, 1);
        // 162 / 256 of the memory are for data: 1,460 of 2,304 bytes.
        assert_eq!((window.window_clamp, window.rcv_ssthresh), (82_944, 66_996));
        assert_eq!(window.select_window(&held(1)), 67_072); // in units of 256 bytes
        receive(&mut window, ms(0), 1, 6);
        assert_eq!(window.rcv_ssthresh, 64_076 + 6 * 2 * 1_460);
        receive(&mut window, ms(0), 6, 7);
        assert_eq!(window.rcv_ssthresh, 82_944);
    }

    #[test]
    fn small_segments_grow_no_window_and_merged_ones_by_twice_their_length() {
        for (len, grown) in [(127, 0), (128, 2_920), (1_460, 2_920), (1_461, 2_922), (5_840, 11_680)] {
            let mut window = tuned(3 << 20);
            let held = Held { rcv_nxt: len.into(), waiting: 0, span: 0 };
            assert_eq!(window.on_data(ms(0), len, Some(len.into()), &held), grown > 0);
            assert_eq!(window.rcv_ssthresh, 64_076 + grown, "{len} bytes");
        }
    }

    #[test]
    fn the_buffer_follows_what_arrives_in_a_round_trip() {
        // The first window, behind the first segment, has arrived with the 45th segment, after 2 ms. In them came 65,700
        // bytes, instead of 14,600: 2 * 65,700 * (1 + 2 * 3.5) bytes are the next window.
        for (limit, clamp) in [(1_051_199, 1_051_199), (1_051_200, 1_051_200), (1_051_201, 1_051_200)] {
            let mut window = tuned(limit);
            receive(&mut window, ms(0), 0, 10);
            receive(&mut window, ms(1), 10, 30);
            receive(&mut window, ms(2), 30, 44);
            assert_eq!((window.rtt, window.window_clamp), (None, 82_944));
            receive(&mut window, ms(2), 44, 45);
            assert_eq!((window.rtt, window.window_clamp), (Some(Duration::from_micros(2_000)), clamp));
        }
    }

    #[test]
    fn a_round_trip_with_no_more_bytes_than_before_changes_nothing() {
        let mut window = tuned(3 << 20);
        receive(&mut window, ms(0), 0, 1);
        receive(&mut window, ms(1), 1, 45);
        let clamp = window.window_clamp;
        // A round trip ends with the first segment of a millisecond: 45 segments again, and then 46.
        receive(&mut window, ms(2), 45, 90);
        receive(&mut window, ms(3), 90, 92);
        assert_eq!((window.window_clamp, window.space), (clamp, 65_700));
        receive(&mut window, ms(3), 92, 136);
        receive(&mut window, ms(4), 136, 137);
        assert_eq!((window.window_clamp > clamp, window.space), (false, 67_160)); // more, but the buffer had room
    }

    #[test]
    fn a_buffer_has_room_for_what_waits_for_a_gap() {
        let mut window = tuned(3 << 20);
        receive(&mut window, ms(0), 0, 1);
        let gap = Held { waiting: 80_000, span: 100_000, ..held(1) };
        assert!(!window.on_data(ms(0), MSS, None, &gap));
        assert_eq!(window.window_clamp, 2 * 14_600 + 100_000);
        assert!(window.on_data(ms(0), MSS, None, &Held { waiting: 60_000, ..gap }));
    }

    proptest! {
        /// Whatever arrives, the end of the window never moves back, and the window is no larger than its limit.
        #[test]
        fn a_window_is_never_taken_back(
            limit in 1_460u64..4_000_000,
            steps in prop::collection::vec((0u64..3_000_000, 1u32..65_000, any::<bool>(), 0u64..200_000), 1..200),
        ) {
            let mut window = tuned(limit);
            let (mut now, mut rcv_nxt, mut edge) = (Time::ZERO, 0, window.edge);
            for (ns, len, in_order, waiting) in steps {
                now += Duration::from_nanos(ns);
                rcv_nxt += if in_order { u64::from(len) } else { 0 };
                let held = Held { rcv_nxt, waiting, span: 2 * waiting };
                window.on_data(now, len, in_order.then_some(rcv_nxt), &held);
                let most = limit.max(edge.saturating_sub(rcv_nxt)).next_multiple_of(UNIT);
                prop_assert!(window.select_window(&held) <= most);
                prop_assert!(window.edge >= edge);
                edge = window.edge;
            }
        }
    }
}
