# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Checks ./peer against closed forms and against itself; run by `make check`."""

import csv
import json
import struct
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

PEER = Path(__file__).with_name("peer")
SEGMENT = 1460
# Bytes on the link: IP packet and PPP's 2. A SYN carries window scale and SACK-permitted.
DATA, ACK, SYN = 1502, 42, 50


def replay(flows: list[tuple], *options: str) -> tuple[list[dict], dict]:
    """Replay flows; return the rows of the result file and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        flow_file, result_file = Path(folder, "flows.csv"), Path(folder, "results.csv")
        lines = ["start_ns,src,dst,size_bytes,sport,dport"]
        lines += [",".join(map(str, flow)) for flow in flows]
        flow_file.write_text("\n".join(lines) + "\n")
        command = [PEER, f"--flows={flow_file}", f"--out={result_file}", *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        with result_file.open() as rows:
            return list(csv.DictReader(rows)), json.loads(done.stdout)


def crossing_flows(count: int) -> list[tuple]:
    """Flows of 4 hosts to 2 others: enough to cause marks, and to overflow a short queue."""
    return [(i * 10_000, i % 4, 6 + i // 3 % 2, 20_000 + i * 35_000, 10_000 + i, 80) for i in range(count)]


class SingleFlow(unittest.TestCase):
    """A flow alone, over one switch, at rates at which a byte takes a whole number of ns."""

    def expect(self, segments: int, rate_bps: int, delay_ns: int) -> None:
        def tx(size: int) -> int:
            return size * 8 * 10**9 // rate_bps

        round_trip = 2 * (tx(DATA) + tx(ACK)) + 4 * delay_ns
        handshake = 4 * (tx(SYN) + delay_ns)
        # The NIC first sends the ACK that ends the handshake. Then ten segments leave, and two
        # more for each of their ACKs, as fast as the NIC permits.
        free = handshake + tx(ACK)
        starts = []
        for i in range(segments):
            acked = starts[(i - 10) // 2] + round_trip if i >= 10 else 0
            starts.append(max(free, acked))
            free = starts[-1] + tx(DATA)
        fct = starts[-1] + 2 * (tx(DATA) + delay_ns)

        rows, summary = replay(
            [(5_000, 0, 1, segments * SEGMENT, 10_000, 80)],
            "--senders=1", f"--rate_bps={rate_bps}", f"--delays_ns={delay_ns}",
        )  # fmt: skip
        self.assertEqual(int(rows[0]["handshake_ns"]), handshake)
        self.assertEqual(int(rows[0]["fct_ns"]), fct)
        self.assertEqual((summary["drops"], summary["marks"]), (0, 0))
        # Data and ACKs over two links; SYN, SYN-ACK, ACK; ACK of the FIN, FIN, last ACK.
        self.assertEqual(summary["link_transmissions"], 2 * (2 * segments + 6))

    def test_one_segment(self) -> None:
        self.expect(1, 1_000_000_000, 10_000)

    def test_initial_window(self) -> None:
        self.expect(10, 8_000_000_000, 10_000)

    def test_slow_start_leaves_gaps_on_a_long_path(self) -> None:
        self.expect(70, 8_000_000_000, 50_000)

    def test_slow_start_fills_a_short_path(self) -> None:
        self.expect(70, 1_000_000_000, 1_000)


class Marking(unittest.TestCase):
    INCAST = ("--senders=7", "--k_packets=20")

    def test_red_is_a_step_for_ect_packets(self) -> None:
        for queue_packets in (60, 600):
            options = (*self.INCAST, f"--queue_packets={queue_packets}")
            red = replay(crossing_flows(40), "--aqm=red", *options)
            step = replay(crossing_flows(40), "--aqm=step", *options)
            self.assertEqual(red[0], step[0])
            self.assertEqual(red[1]["marks"], step[1]["marks"])
            self.assertGreater(red[1]["marks"], 0)

    def test_transports_react(self) -> None:
        flows = [(0, 0, 2, 10_000_000, 10_000, 80), (0, 1, 2, 10_000_000, 10_001, 80)]
        for transport in ("dctcp", "newreno-ecn"):
            _, summary = replay(flows, "--senders=2", "--k_packets=65", f"--transport={transport}")
            self.assertGreater(summary["marks"], 0)
            self.assertEqual((summary["finished"], summary["drops"]), (2, 0))


class QueueDiscs(unittest.TestCase):
    OPTIONS = ("--senders=7", "--aqm_ports=receiver", "--transport=newreno", "--stop_s=0.1")

    def test_a_queue_disc_of_ns3_by_its_name(self) -> None:
        flows = crossing_flows(40)
        fifo = replay(flows, "--aqm=ns3::FifoQueueDisc", *self.OPTIONS)
        step = replay(flows, "--aqm=step", *self.OPTIONS)
        self.assertEqual(fifo[0], step[0])

    def test_the_queue_is_measured_from_a_time_on(self) -> None:
        # Two NICs at 1 Gbit/s bring 50 packets each: the queue grows by one every second packet time.
        flows = [(0, 0, 2, 50 * SEGMENT, 10_000, 80), (0, 1, 2, 50 * SEGMENT, 10_001, 80)]
        options = ("--senders=2", "--rate_bps=1000000000", "--initial_cwnd=50", "--aqm=step", "--stop_s=0.01")
        _, all_of_it = replay(flows, *options, "--measure_from_s=0")
        # The i-th of 100 packets arrives i/2 packet times after the first, and begins to leave after i.
        waited = sum(i - i // 2 for i in range(100)) * DATA * 8e-9
        self.assertAlmostEqual(all_of_it["queue_mean_packets"] * 0.01 / waited, 1, places=1)
        _, nothing = replay(flows, *options, "--measure_from_s=0.009")
        self.assertEqual((nothing["queue_mean_packets"], nothing["queue_departures"]), (0, 0))
        self.assertEqual(all_of_it["queue_departed_bytes"], 100 * DATA + 2 * SYN + 2 * 2 * ACK)


class Counting(unittest.TestCase):
    def test_derived_transmissions_are_exact(self) -> None:
        counts = [
            replay(crossing_flows(20), "--senders=7", f"--count={count}", "--queue_packets=30")[1]
            for count in ("derived", "exact")
        ]
        self.assertEqual(counts[0]["link_transmissions"], counts[1]["link_transmissions"])
        self.assertGreater(counts[0]["drops"], 0)

    def test_cut_off_flow_is_left_empty(self) -> None:
        rows, summary = replay([(0, 0, 1, 10**8, 10_000, 80)], "--senders=1", "--stop_s=0.001")
        self.assertEqual(rows[0]["fct_ns"], "")
        self.assertEqual((summary["finished"], summary["mean_fct_us"]), (0, None))


class Ecmp(unittest.TestCase):
    def test_flows_share_a_spine_exactly_if_their_hashes_do(self) -> None:
        def spine(src: int, dst: int, sport: int, dport: int) -> int:
            first = 0x0A000001
            tuple_ = struct.pack(">IIBHH", first + src, first + dst, 6, sport, dport)
            return zlib.crc32(tuple_) % 3

        seen = set()
        for sport in range(10_000, 10_012):
            pair = [(0, 4, sport, 80), (1, 5, 20_000, 80)]
            flows = [(0, src, dst, 1_000_000, sport, dport) for src, dst, sport, dport in pair]
            rows, _ = replay(flows, "--topology=leaf-spine", "--leaves=2", "--spines=3", "--hosts_per_leaf=4")
            shared = spine(*pair[0]) == spine(*pair[1])
            # 1 MB takes 0.8 ms at 10 Gbit/s, and twice that at half of it.
            self.assertEqual(max(int(row["fct_ns"]) for row in rows) > 1_400_000, shared)
            seen.add(shared)
        self.assertEqual(seen, {False, True})


class BadInput(unittest.TestCase):
    def refuse(self, message: str, *options: str) -> None:
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            replay([(0, 0, 9, 1000, 10_000, 80)], *options)
        self.assertIn(message, caught.exception.stderr)

    def test_messages(self) -> None:
        self.refuse('flows.csv:2: dst is "9", not a number in 0..3', "--senders=3")
        self.refuse("--topology=ring is not one of: incast leaf-spine", "--topology=ring")
        self.refuse("makes IP packets of 1512 bytes", "--senders=9", "--timestamps=true")
        self.refuse("--aqm=ns3::Node is no queue disc", "--senders=9", "--aqm=ns3::Node")
        self.refuse("needs one value per host", "--senders=9", "--delays_ns=1,2")


if __name__ == "__main__":
    unittest.main()
