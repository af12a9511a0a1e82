# SPDX-License-Identifier: MIT OR Apache-2.0
"""What TCP stacks do differently, and the profiles that name sets of it (docs/stacks.md).

A profile gives the settings that a description leaves out. Its `sources` say where each choice is from, and `held`
against what it was compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from marklab.errors import BadInput, unknown
from marklab.model import Model, Time, short_form


@dataclass(frozen=True)
class Profile:
    """A stack by name."""

    title: str
    settings: Mapping[str, Any]
    sources: Mapping[str, str]
    held: str


_RFC: Mapping[str, Any] = {
    "recovery": "rfc6675",
    "loss_detection": "dupthresh",
    "tail_loss_probe": False,
    "undo": False,
    "validation": "full",
    "window_unit": "bytes",
    "pipe": "rfc6675",
    "loss_base": "flight",
    "timeouts_halve_again": False,
    "min_window": 2,
    "max_burst": None,
    "idle": "rfc5681",
    "rto_estimator": "rfc6298",
    "initial_alpha": 1.0,
    "linux_alpha": False,
    "late_alpha": False,
    "loss_cut": "half",
    "growth": "rfc3465",
    "marks_first": False,
    "rising_marks": False,
    "quick_acks": 0,
    "dsack": False,
    "tso_defer": False,
    "small_queues": False,
    "pacing": False,
    "gro_segments": 0,
    "gro_timeout": "0s",
    "window_autotuning": False,
    "clock_dilation": 1,
    "repeated_echo": False,
    "syn_timeouts": "exponential",
}

_LINUX: Mapping[str, Any] = {
    "recovery": "prr",
    "loss_detection": "rack",
    "tail_loss_probe": True,
    "undo": True,
    "validation": "linux",
    "window_unit": "segments",
    "pipe": "rfc6675",
    "loss_base": "cwnd",
    "timeouts_halve_again": False,
    "min_window": 2,
    "max_burst": None,
    "idle": "rfc2861",
    "rto_estimator": "linux",
    "initial_alpha": 1.0,
    "linux_alpha": True,
    "late_alpha": False,
    "loss_cut": "half",
    "growth": "rfc3465",
    "marks_first": False,
    "rising_marks": False,
    "quick_acks": 300,
    "dsack": True,
    "tso_defer": True,
    "small_queues": True,
    "pacing": False,
    "gro_segments": 0,
    "gro_timeout": "0s",
    "window_autotuning": False,
    "clock_dilation": 1,
    "repeated_echo": True,
    "syn_timeouts": "linear",
}

_RFC_SOURCES: Mapping[str, str] = {
    "recovery": "RFC 6675 section 5",
    "loss_detection": "RFC 6675 section 4, counted in segments; lost retransmissions by RFC 8985 section 6.2",
    "tail_loss_probe": "optional in RFC 8985 section 7",
    "undo": "optional in RFC 5682 and RFC 3708",
    "validation": "RFC 7661 in spirit",
    "window_unit": "RFC 5681 section 2; RFC 3465",
    "pipe": "RFC 6675 section 4",
    "loss_base": "RFC 5681 equation 4",
    "timeouts_halve_again": "RFC 5681 section 3.1",
    "min_window": "RFC 5681 equation 4",
    "max_burst": "no RFC",
    "idle": "RFC 5681 section 4.1",
    "rto_estimator": "RFC 6298 section 2",
    "initial_alpha": "RFC 8257 section 4.2",
    "linux_alpha": "RFC 8257 section 3.3",
    "late_alpha": "RFC 8257 section 3.3",
    "loss_cut": "RFC 8257 section 3.5",
    "growth": "RFC 3465 section 2.1",
    "marks_first": "RFC 3168 section 6.1.2: one reduction per window of data",
    "rising_marks": "RFC 8257 section 3.2",
    "quick_acks": "RFC 5681 section 4.2 delays all acknowledgements",
    "dsack": "optional in RFC 2883",
    "tso_defer": "no RFC",
    "small_queues": "no RFC",
    "pacing": "no RFC",
    "gro_segments": "no RFC",
    "gro_timeout": "no RFC",
    "window_autotuning": "RFC 9293 leaves it to a receiver",
    "clock_dilation": "no RFC has constants in ms that matter here",
    "repeated_echo": "RFC 3168 section 6.1.2",
    "syn_timeouts": "RFC 6298 section 5.5",
}

_LINUX_SOURCES: Mapping[str, str] = {
    "recovery": "net/ipv4/tcp_input.c, tcp_cwnd_reduction; RFC 9937",
    "loss_detection": "net/ipv4/tcp_recovery.c, tcp_rack_detect_loss",
    "tail_loss_probe": "net/ipv4/tcp_output.c, tcp_schedule_loss_probe",
    "validation": "net/ipv4/tcp_output.c, tcp_cwnd_validate; include/net/tcp.h, tcp_is_cwnd_limited",
    "undo": "net/ipv4/tcp_input.c, tcp_process_loss and tcp_try_undo_dsack, without timestamps",
    "window_unit": "include/net/tcp.h, tcp_snd_cwnd: packets",
    "pipe": "include/net/tcp.h, tcp_packets_in_flight",
    "loss_base": "net/ipv4/tcp_cong.c, tcp_reno_ssthresh",
    "timeouts_halve_again": "net/ipv4/tcp_input.c, tcp_enter_loss",
    "min_window": "net/ipv4/tcp_cong.c, tcp_reno_ssthresh",
    "max_burst": "none",
    "idle": "net/ipv4/tcp_output.c, tcp_cwnd_restart; tcp_cwnd_application_limited; RFC 2861 section 3",
    "rto_estimator": "net/ipv4/tcp_input.c, tcp_rtt_estimator",
    "initial_alpha": "net/ipv4/tcp_dctcp.c, dctcp_alpha_on_init",
    "linux_alpha": "net/ipv4/tcp_dctcp.h, dctcp_update_alpha",
    "late_alpha": "net/ipv4/tcp_input.c, tcp_in_ack_event comes before tcp_fastretrans_alert",
    "loss_cut": "net/ipv4/tcp_dctcp.c, dctcp_react_to_loss",
    "growth": "net/ipv4/tcp_cong.c, tcp_cong_avoid_ai; tcp_init_cwnd_reduction sets snd_cwnd_cnt to 0",
    "marks_first": "net/ipv4/tcp_input.c, tcp_fastretrans_alert",
    "rising_marks": "net/ipv4/tcp_dctcp.h, dctcp_ece_ack_update",
    "quick_acks": "net/ipv4/tcp_input.c, tcp_grow_window, while the receive window grows: measured at 3 MiB",
    "dsack": "net.ipv4.tcp_dsack = 1",
    "tso_defer": "net/ipv4/tcp_output.c, tcp_tso_should_defer",
    "small_queues": "net/ipv4/tcp_output.c, tcp_small_queue_check",
    "pacing": "net/core/sock.c, sk_pacing_status: on request only, of sch_fq, BBR, or SO_MAX_PACING_RATE",
    "gro_segments": "net/core/gro.c: a setting of the NIC, off in the lab",
    "gro_timeout": "net/core/dev.c, gro_flush_timeout = 0",
    "window_autotuning": "net/ipv4/tcp_input.c, tcp_rcv_space_adjust: off, the recorded scripts have fixed windows",
    "clock_dilation": "the network is as fast as it is",
    "repeated_echo": "net/ipv4/tcp_input.c, tcp_try_to_open",
    "syn_timeouts": "net.ipv4.tcp_syn_linear_timeouts = 4",
}

# Where Linux 4.9 does something else that has no setting, docs/stacks.md says so.
_LINUX_4_9: Mapping[str, Any] = {**_LINUX, "loss_cut": "alpha", "syn_timeouts": "exponential"}

_LINUX_4_9_SOURCES: Mapping[str, str] = {
    "recovery": "net/ipv4/tcp_input.c, tcp_cwnd_reduction",
    "loss_detection": "net/ipv4/tcp_recovery.c, tcp_rack_mark_lost; net/ipv4/tcp_input.c, tcp_update_scoreboard",
    "tail_loss_probe": "net/ipv4/tcp_output.c, tcp_schedule_loss_probe",
    "undo": "net/ipv4/tcp_input.c, tcp_process_loss and tcp_try_undo_dsack",
    "validation": "include/net/tcp.h, tcp_is_cwnd_limited: max_packets_out",
    "window_unit": "include/linux/tcp.h, snd_cwnd: packets",
    "growth": "net/ipv4/tcp_cong.c, tcp_slow_start and tcp_cong_avoid_ai",
    "pipe": "include/net/tcp.h, tcp_packets_in_flight",
    "loss_base": "net/ipv4/tcp_cong.c, tcp_reno_ssthresh",
    "timeouts_halve_again": "net/ipv4/tcp_input.c, tcp_enter_loss",
    "min_window": "net/ipv4/tcp_cong.c, tcp_reno_ssthresh",
    "max_burst": "none",
    "idle": "net/ipv4/tcp_output.c, tcp_cwnd_restart and tcp_cwnd_application_limited",
    "rto_estimator": "net/ipv4/tcp_input.c, tcp_rtt_estimator",
    "initial_alpha": "net/ipv4/tcp_dctcp.c, dctcp_alpha_on_init",
    "linux_alpha": "net/ipv4/tcp_dctcp.c, dctcp_update_alpha, which counts bytes",
    "late_alpha": "net/ipv4/tcp_input.c, tcp_in_ack_event comes before tcp_fastretrans_alert",
    "loss_cut": "net/ipv4/tcp_dctcp.c, dctcp_ssthresh",
    "marks_first": "net/ipv4/tcp_input.c, tcp_fastretrans_alert",
    "rising_marks": "net/ipv4/tcp_dctcp.c, dctcp_ce_state_0_to_1",
    "quick_acks": "net/ipv4/tcp_input.c, tcp_grow_window; the number is that of Linux 6.18",
    "dsack": "net.ipv4.tcp_dsack = 1",
    "tso_defer": "net/ipv4/tcp_output.c, tcp_tso_should_defer",
    "small_queues": "net/ipv4/tcp_output.c, tcp_small_queue_check",
    "pacing": "net/ipv4/tcp_output.c has none; net/sched/sch_fq.c paces where it is the qdisc",
    "gro_segments": "net/core/dev.c, dev_gro_receive: a setting of the NIC",
    "gro_timeout": "net/core/dev.c, gro_flush_timeout = 0",
    "window_autotuning": "net/ipv4/tcp_input.c, tcp_rcv_space_adjust: off, as for Linux 6.18",
    "clock_dilation": "the network is as fast as it is",
    "repeated_echo": "net/ipv4/tcp_input.c, tcp_try_to_open",
    "syn_timeouts": "net/ipv4/tcp_timer.c, retransmits_timed_out and tcp_retransmit_timer",
}

_NS_2: Mapping[str, Any] = {
    **_RFC,
    "loss_detection": "holes",
    "growth": "acks",
    "pipe": "acks",
    "loss_base": "cwnd",
    "timeouts_halve_again": True,
    "min_window": 0,
}

_NS_2_SOURCES: Mapping[str, str] = {
    "recovery": "tcp/tcp-full.cc, SackFullTcpAgent::dupack_action; tcp/tcp.cc, slowdown",
    "loss_detection": "tcp/tcp-full.cc, SackFullTcpAgent::nxt_tseq",
    "tail_loss_probe": "not there",
    "undo": "not there in FullTcp; tcp/tcp.cc, frto_enabled_ = 0",
    "validation": "not there: tcp/tcp.cc, opencwnd, up to window_",
    "window_unit": "tcp/tcp.cc, windowd: segments and fractions of them",
    "growth": "tcp/tcp.cc, opencwnd; tcp/tcp-full.cc, recv: not with an echo",
    "pipe": "tcp/tcp-full.cc, SackFullTcpAgent::send_allowed, pack_action and FullTcpAgent::recv",
    "loss_base": "tcp/tcp.cc, slowdown: windowd",
    "timeouts_halve_again": "tcp/tcp-full.cc, FullTcpAgent::timeout_action",
    "min_window": "tcp/tcp.cc, TcpAgent::ecn and slowdown: no bound of cwnd_; of ssthresh_ 2",
    "max_burst": "tcl/lib/ns-default.tcl: maxburst_ 0",
    "idle": "tcp/tcp-full.cc, FullTcpAgent::foutput: idle_restart, CLOSE_CWND_INIT",
    "rto_estimator": "tcp/tcp.cc, rtt_update and rtt_timeout, in ticks of tcpTick_",
    "initial_alpha": "no DCTCP; RFC 8257 section 4.2",
    "linux_alpha": "no DCTCP; RFC 8257 section 3.3",
    "late_alpha": "no DCTCP; RFC 8257 section 3.3",
    "loss_cut": "no DCTCP; RFC 8257 section 3.5",
    "marks_first": "tcp/tcp.cc, TcpAgent::ecn: recover_",
    "rising_marks": "tcp/tcp-full.cc, FullTcpAgent::recv: recent_ce_",
    "quick_acks": "tcl/lib/ns-default.tcl, spa_thresh_ = 0",
    "dsack": "not there: tcp/tcp-full.cc, SackFullTcpAgent::build_options",
    "tso_defer": "not there",
    "small_queues": "not there",
    "pacing": "not there: tcp/tcp-full.cc, FullTcpAgent::send_much",
    "gro_segments": "not there",
    "gro_timeout": "not there",
    "window_autotuning": "not there: tcp/tcp-full.cc, window_",
    "clock_dilation": "no constants in ms that matter here",
    "repeated_echo": "tcp/tcp.cc, TcpAgent::ecn: recover_",
    "syn_timeouts": "tcp/tcp.cc, rtt_backoff",
}

_NS3: Mapping[str, Any] = {
    "recovery": "prr-ns3",
    "loss_detection": "dupthresh-once",
    "tail_loss_probe": False,
    "undo": False,
    "validation": "full",
    "window_unit": "bytes",
    "pipe": "rfc6675",
    "loss_base": "cwnd",
    "timeouts_halve_again": False,
    "min_window": 1,
    "max_burst": None,
    "idle": "rfc5681",
    "rto_estimator": "rfc6298",
    "initial_alpha": 1.0,
    "linux_alpha": False,
    "late_alpha": True,
    "loss_cut": "alpha",
    "growth": "ns3",
    "marks_first": True,
    "rising_marks": True,
    "quick_acks": 0,
    "dsack": False,
    "tso_defer": False,
    "small_queues": False,
    "pacing": False,
    "gro_segments": 0,
    "gro_timeout": "0s",
    "window_autotuning": False,
    "clock_dilation": 1,
    "repeated_echo": False,
    "syn_timeouts": "exponential",
}

_NS3_SOURCES: Mapping[str, str] = {
    "recovery": "tcp-prr-recovery.cc, DoRecovery; tcp-socket-base.cc, EnterCwr",
    "loss_detection": "tcp-tx-buffer.cc, UpdateLostCount and NextSeg",
    "tail_loss_probe": "none",
    "undo": "none",
    "validation": "none: transport.cwnd_validation is off in comparisons",
    "window_unit": "tcp-socket-state.h, m_cWnd",
    "pipe": "tcp-tx-buffer.cc, BytesInFlight",
    "loss_base": "tcp-dctcp.cc and tcp-linux-reno.cc, GetSsThresh",
    "timeouts_halve_again": "tcp-socket-base.cc, ReTxTimeout: not in CA_LOSS",
    "min_window": "tcp-dctcp.cc, GetSsThresh has none; tcp-prr-recovery.cc, DoRecovery sends one segment",
    "max_burst": "none",
    "idle": "none: transport.idle_restart is off",
    "rto_estimator": "rtt-estimator.cc; tcp-socket-base.cc, EstimateRtt",
    "initial_alpha": "tcp-dctcp.cc, DctcpAlphaOnInit",
    "linux_alpha": "tcp-dctcp.cc, PktsAcked",
    "late_alpha": "tcp-socket-base.cc, ReceivedAck calls EnterCwr before PktsAcked; tcp-dctcp.cc, m_nextSeqFlag",
    "loss_cut": "tcp-dctcp.cc, GetSsThresh",
    "growth": "tcp-linux-reno.cc, CongestionAvoidance",
    "marks_first": "tcp-socket-base.cc, ReceivedAck and DupAck",
    "rising_marks": "tcp-socket-base.cc, ForwardUp: m_ecnCESeq",
    "quick_acks": "none",
    "dsack": "none",
    "tso_defer": "none",
    "small_queues": "none",
    "pacing": "tcp-socket-state.cc, EnablePacing = false",
    "gro_segments": "none",
    "gro_timeout": "none",
    "window_autotuning": "none: tcp-rx-buffer.cc, MaxBufferSize",
    "clock_dilation": "none",
    "repeated_echo": "tcp-socket-base.cc, ReceivedAck: m_recover",
    "syn_timeouts": "tcp-socket-base.cc, SendEmptyPacket",
}

PROFILES: Mapping[str, Profile] = {
    "linux": Profile("Linux 6.18", _LINUX, _LINUX_SOURCES, "the kernel at hand, by scripts"),
    "linux-4.9": Profile("Linux 4.9", _LINUX_4_9, _LINUX_4_9_SOURCES, "nothing: from its source, not run"),
    "ns-2": Profile("ns-2.35, Agent/TCP/FullTcp/Sack", _NS_2, _NS_2_SOURCES, "Debian's ns2 2.35, by scripts"),
    "ns-3.37": Profile("ns-3.37, files of src/internet/model", _NS3, _NS3_SOURCES, "ns-3.37, flow by flow"),
    "rfc": Profile(
        "the RFCs, without what they leave optional", _RFC, _RFC_SOURCES, "a second implementation in tests/"
    ),
}
DEFAULT_PROFILE = "linux"

# 44 segments of 1,460 bytes are what Linux merges in 64 KiB. The engine has the same bound.
MAX_GRO_SEGMENTS = 44


class Stack(Model):
    """Choices of a TCP stack. Those that are not set are the profile's."""

    model_config = ConfigDict(json_schema_extra=short_form({"enum": [*PROFILES]}))

    profile: str = DEFAULT_PROFILE
    recovery: Literal["rfc6675", "prr", "prr-ns3"] = Field(description="how the window comes down to ssthresh")
    loss_detection: Literal["dupthresh", "dupthresh-once", "rack", "holes", "newreno"] = Field(
        description="how losses are found before a timeout"
    )
    tail_loss_probe: bool = Field(description="the tail of the data is probed before a timeout")
    undo: bool = Field(description="reductions that were spurious are taken back (F-RTO, D-SACK)")
    validation: Literal["full", "linux"] = Field(description="when transport.cwnd_validation lets a window grow")
    window_unit: Literal["bytes", "segments"] = Field(description="what windows count")
    pipe: Literal["rfc6675", "acks"] = Field(description="what counts as in the network")
    loss_base: Literal["flight", "cwnd"] = Field(description="what a loss halves")
    timeouts_halve_again: bool = Field(description="a timeout halves again what is being repaired")
    min_window: int = Field(
        ge=0, le=1000, description="segments, after a reduction; 0: no bound of marks, and a wait below a segment"
    )
    max_burst: int | None = Field(
        default=None, ge=1, le=10**6, description="segments that an acknowledgement lets leave at most; null: no bound"
    )
    idle: Literal["rfc5681", "rfc2861"] = Field(description="how transport.idle_restart restarts a window")
    rto_estimator: Literal["rfc6298", "linux"] = Field(description="how samples become a timeout")
    initial_alpha: float = Field(ge=0, le=1, description="DCTCP's alpha of a new connection")
    linux_alpha: bool = Field(description="DCTCP's alpha has Linux's precision")
    late_alpha: bool = Field(description="DCTCP's reductions use the alpha from before their acknowledgement")
    loss_cut: Literal["half", "alpha"] = Field(description="what a loss takes from DCTCP's window")
    growth: Literal["rfc3465", "ns3", "acks"] = Field(description="how windows grow")
    marks_first: bool = Field(description="an echo also reduces a window that is being reduced for losses")
    rising_marks: bool = Field(description="receivers hear marks only above the last marked segment")
    quick_acks: int = Field(ge=0, le=10**6, description="segments acknowledged at once at the start")
    dsack: bool = Field(description="segments that arrive twice are reported")
    tso_defer: bool = Field(description="small room is left until more has come")
    small_queues: bool = Field(description="a NIC has at most 1 ms of a connection's rate")
    pacing: bool = Field(description="segments leave at Linux's pacing rate")
    gro_segments: int = Field(
        ge=0, le=MAX_GRO_SEGMENTS, description="segments that a receiver's NIC merges at most (GRO); 0 or 1: none"
    )
    gro_timeout_ns: Time = Field(alias="gro_timeout", le=10**9, description="longest wait of merged segments")
    window_autotuning: bool = Field(
        description="the receive window begins at 64 KiB and grows to transport.receive_window"
    )
    clock_dilation: int = Field(ge=1, le=10**6, description="Linux's constants of 1 ms are so many times shorter")
    repeated_echo: bool = Field(description="an echo that was under way when a recovery began counts after it")
    syn_timeouts: Literal["exponential", "linear"] = Field(description="timeouts of SYNs")

    @model_validator(mode="before")
    @classmethod
    def _from_profile(cls, value: Any) -> Any:
        settings = {"profile": value} if isinstance(value, str) else value
        if not isinstance(settings, dict):
            return settings
        name = settings.get("profile", DEFAULT_PROFILE)
        if name not in PROFILES:
            raise unknown("stack", str(name), PROFILES)
        return {"profile": name, **PROFILES[name].settings, **settings}

    @model_validator(mode="after")
    def _consistent(self) -> Stack:
        if self.undo and not self.dsack:
            raise BadInput("undo needs D-SACK, by which the receiver reports what arrived twice", "dsack: true")
        if self.tail_loss_probe and self.loss_detection != "rack":
            raise BadInput("a tail loss probe needs RACK, which finds losses by its answer", "loss_detection: rack")
        if self.min_window == 0 and self.recovery != "rfc6675":
            raise BadInput(f"a window has a bound where it comes down by {self.recovery}", "min_window: 1")
        if self.gro_segments > 1 and self.gro_timeout_ns == 0:
            raise BadInput("merged segments need a time that they wait at most", "gro_timeout: 50us")
        if self.gro_timeout_ns > 0 and self.gro_segments <= 1:
            raise BadInput("gro_timeout is a wait of merged segments, and none are merged", "gro_segments: 44")
        return self


def transport_title(transport: Mapping[str, Any]) -> str:
    """The transport of a recorded description with its stack.

    RDMA has none, and results from before stacks could be chosen do not tell theirs.
    """
    if "stack" not in transport or transport["control"] == "dcqcn":
        return str(transport["control"])
    stack = dict(transport["stack"])
    profile = stack.pop("profile")
    settings = PROFILES[profile].settings if profile in PROFILES else {}
    others = [f"{name}={value}" for name, value in stack.items() if settings.get(name) != value]
    return f"{transport['control']} on {', '.join((profile, *others))}"
