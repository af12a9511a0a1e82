# SPDX-License-Identifier: MIT OR Apache-2.0
"""A threshold for `dctcp-red` that follows the round trips of hosts: K = lambda * C * RTT (ECN# paper, Eq. 1).

What hosts measure contains the time in queues, which the threshold itself decides. So the mean time in the fullest
queue is subtracted, as the controller has sampled it since its last decision. Flows with short round trips acknowledge
more often, and count more.
"""

from marklab.controllers import Controller, Network


class FollowRtt(Controller):
    """Sets `k` of all switches every `decide_every` calls; each decision counts `gain` in it."""

    period = "50us"
    delay = "20us"
    decide_every = 100
    percentile = 90.0
    gain = 0.1
    lambda_ = 1.0
    packet_bytes = 1500

    def start(self, _network: Network) -> None:
        """Nothing has been sampled yet."""
        self.samples: list[float] = []
        self.base_ns: float | None = None

    def step(self, network: Network) -> None:
        """Sample the queues; now and then, decide."""
        ports = [port for switch in network.switches for port in switch.ports]
        self.samples.append(max(port.bytes * 8e9 / port.rate_bps for port in ports))
        if len(self.samples) < self.decide_every:
            return
        queueing_ns, self.samples = sum(self.samples) / len(self.samples), []
        rtt_ns = network.round_trips().percentile_ns(self.percentile)
        if rtt_ns is None:
            return
        seen_ns = max(0.0, rtt_ns - queueing_ns)
        self.base_ns = seen_ns if self.base_ns is None else (1 - self.gain) * self.base_ns + self.gain * seen_ns
        rate_bps = max(port.rate_bps for port in ports)
        k = max(1, round(self.lambda_ * rate_bps * self.base_ns / 8e9 / self.packet_bytes))
        for switch in network.switches:
            switch.write("marking.params", "set_params", k_pkts=k)
