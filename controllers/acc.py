# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tunes the thresholds of the scheme `acc` at each port: ACC (Yan et al., SIGCOMM 2021), simplified to a rule.

ACC's agents see the queue, the output rate, the rate of marked packets and the thresholds of a queue, and choose the
next thresholds from E(n) = 20 KB * 2^n, up to the 10 MB of a buffer, by a neural network, which deep reinforcement
learning has trained for the reward w1 T + w2 D. T is the utilisation of the line, and D falls by a tenth with each E(n)
that the queue exceeds. Here is no learning, but one rule: the threshold rises by what the idle line costs of that
reward, and falls by what the queue costs. A line that is used less than `busy` is idle for want of load.
"""

from marklab.controllers import Controller, Network, Port, Switch


class Acc(Controller):
    """Writes k_min, k_max and p_max of a port after each period in which it has marked packets."""

    period = "200us"
    delay = "20us"
    # E(0), and how many E(n) there are: the last is 1 MB, since a queue has 900 KB unless the run says otherwise.
    smallest_bytes = 2_000
    levels = 10
    # Where all ports begin: k_max is E(first).
    first = 6.0
    busy = 0.4
    # w1 and w2.
    throughput_weight = 0.875
    queue_weight = 0.125
    # Levels by which the threshold changes for a whole reward of a millisecond, and the most at a time.
    gain = 4.0
    most = 1.0
    # Of k_max. DCTCP needs no probabilities.
    k_min = 1.0
    p_max = 1.0
    packet_bytes = 1500

    def start(self, network: Network) -> None:
        """All ports begin with the same thresholds."""
        self.last_ns = 0
        self.seen: dict[tuple[str, int], Port] = {}
        self.level: dict[tuple[str, int], float] = {}
        self.balance: dict[tuple[str, int], float] = {}
        for switch in network.switches:
            for port in switch.ports:
                self.seen[switch.name, port.number] = port
                self.write(switch, port.number, self.first)

    def step(self, network: Network) -> None:
        """Count what the threshold of each port costs. It takes effect once the port marks or loses a packet."""
        elapsed_ns, self.last_ns = network.now_ns - self.last_ns, network.now_ns
        for switch in network.switches:
            for port in switch.ports:
                place = (switch.name, port.number)
                before, self.seen[place] = self.seen[place], port
                sent_ns = (port.sent_bytes - before.sent_bytes) * 8e9 / port.rate_bps
                self.balance[place] += self.costs(sent_ns / max(elapsed_ns, 1), port.bytes) * elapsed_ns / 1e6
                if port.marked + port.lost > before.marked + before.lost:
                    self.write(switch, port.number, self.next_level(self.level[place], self.balance[place]))

    def costs(self, utilisation: float, queue_bytes: int) -> float:
        """The reward that the idle line costs, less what the queue costs."""
        idle = self.throughput_weight * (1 - utilisation) if self.busy <= utilisation < 1 else 0
        exceeded = sum(queue_bytes > self.smallest_bytes << n for n in range(self.levels))
        return idle - self.queue_weight * exceeded / self.levels

    def next_level(self, level: float, costs_ms: float) -> float:
        """The n of the next threshold E(n), which need not be whole."""
        change = min(max(self.gain * costs_ms, -self.most), self.most)
        return min(max(level + change, 0), self.levels - 1)

    def write(self, switch: Switch, port: int, level: float) -> None:
        """Set the thresholds of a port."""
        self.level[switch.name, port] = level
        self.balance[switch.name, port] = 0.0
        k_max = round(self.smallest_bytes * 2**level / self.packet_bytes)
        k_min = round(self.k_min * k_max)
        slope_q32 = min(round(2**32 * self.p_max / max(k_max - k_min, 1)), 2**32 - 1)
        thresholds = {"k_min_pkts": k_min, "k_max_pkts": k_max, "slope_q32": slope_q32}
        switch.write("marking.params", "set_params", {"port": port}, **thresholds)
