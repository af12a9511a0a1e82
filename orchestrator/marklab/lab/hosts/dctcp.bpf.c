// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* DCTCP (RFC 8257) as a congestion control of Linux in BPF, for kernels that lack tcp_dctcp, and its law for what else
 * tells of congestion than marks (EAR: Zeng et al., "Combining ECN and RTT for Datacenter Transport", APNet 2017).
 *
 * It decides as Linux' own tcp_dctcp.c does (alpha in units of 1/1024, the same reductions), with two differences. Alpha
 * is the share of *bytes* that were marked, as in section 3.3, where Linux counts segments. And it moves the window
 * itself (see cong_control), in the way of TCP: to which it leaves when to do so, once per window of data at most (state
 * CWR). For controls that do, Linux leaves out the restart after idle time.
 *
 * CC_NAME is the congestion control's, and that of its BPF map: at most 15 letters, digits or `_`. With CC_ECN an
 * acknowledgement tells of congestion if it echoes a mark (else it is 0, and ECN is not asked for); if CC_DELAY_NS is
 * defined, also if it is later than the path's base RTT by more than that. If CC_RECORDS is defined, the last so many
 * observation windows of all connections are kept. The kernel lends its functions to GPL code only, hence the licence.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Macros of the kernel, which its type information does not have. */
#define TCP_CONG_NON_RESTRICTED 0x1 /* every network namespace may use it */
#define TCP_CONG_NEEDS_ECN 0x2
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4 /* acknowledgements carry ECE */
#define SOL_TCP 6
#define TCP_CONGESTION 13

#define INFINITE_SSTHRESH 0x7fffffff
/* Of what an acknowledgement does. */
#define FLAG_DATA_ACKED 0x04
#define FLAG_ECE 0x40

#define ALPHA_ONE 1024u
#define USEC_PER_SEC 1000000ULL
#define NSEC_PER_USEC 1000ULL
#define GAIN_SHIFT 4 /* g = 1/16: section 4.2 */
#define MIN_CWND_SEGMENTS 2u

#define QUOTED_(name) #name
#define QUOTED(name) QUOTED_(name)

char _license[] SEC("license") = "Dual MIT/GPL";

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

/* A connection's state, of the 104 bytes that the kernel has for it. */
struct dctcp {
	__u32 alpha;         /* moving average of the marked share; of ALPHA_ONE */
	__u32 window_end;    /* the observation window is over when this has been acknowledged */
	__u32 last_una;
	__u32 acked_bytes;   /* in this window */
	__u32 marked_bytes;  /* of those, acknowledged by what told of congestion */
	__u32 loss_cwnd;     /* before the last reduction */
	__u32 prior_rcv_nxt; /* before the packet that is being received */
	__u32 ce;            /* DCTCP.CE: whether the last packet came with CE */
	__u32 ssthresh;
	__u32 reducing;      /* the state in which the window is being brought down to it, or 0 */
	__u32 reduced_until; /* sent before that: what TCP calls high_seq */
	__u32 prr_cwnd;      /* before that */
	__u32 prr_delivered; /* segments since then */
#ifdef CC_DELAY_NS
	__u32 segments_out; /* sent before that, of the connection */
	__u32 base_rtt_us;
	__s32 path_ttl; /* by which packets took the path that has this base */
#endif
#ifdef CC_RECORDS
	__u32 reductions;
#endif
};

#ifdef CC_RECORDS
struct observation_window {
	__u64 time_ns;
	__u32 port; /* of the sender */
	__u32 acked_bytes;
	__u32 marked_bytes;
	__u32 alpha_before;
	__u32 alpha;
	__u32 cwnd_segments;
	__u32 reductions; /* so far; the last one: */
	__u32 reduced_from_segments;
	__u32 reduced_to_segments;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CC_RECORDS);
	__type(key, __u32);
	__type(value, struct observation_window);
} windows SEC(".maps");

__u32 recorded;
#endif

static __always_inline struct dctcp *state_of(struct sock *sk)
{
	return (struct dctcp *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

/* Sequence numbers wrap. */
static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline void start_window(const struct tcp_sock *tp, struct dctcp *dctcp)
{
	dctcp->window_end = tp->snd_nxt;
	dctcp->acked_bytes = 0;
	dctcp->marked_bytes = 0;
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = state_of(sk);

	/* Section 3.5: without ECN it is a conventional TCP. */
	if (CC_ECN && !(tp->ecn_flags & TCP_ECN_OK)) {
		char reno[] = "reno";
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	dctcp->alpha = ALPHA_ONE; /* section 4.2 */
	dctcp->last_una = tp->snd_una;
	dctcp->loss_cwnd = 0;
	dctcp->prior_rcv_nxt = tp->rcv_nxt;
	dctcp->ce = 0;
	dctcp->ssthresh = INFINITE_SSTHRESH;
	dctcp->reducing = 0;
#ifdef CC_DELAY_NS
	dctcp->base_rtt_us = tp->rtt_min.s[0].v; /* the handshake's, or ~0 */
	dctcp->path_ttl = ((struct inet_sock *)sk)->uc_ttl;
#endif
	start_window(tp, dctcp);
}

/* Section 3.3, item 5: alpha = (1 - g) * alpha + g * M. An alpha below 1/g units would never decay. */
static __always_inline __u32 next_alpha(__u32 alpha, __u32 acked_bytes, __u32 marked_bytes)
{
	__u32 decay = alpha >> GAIN_SHIFT;
	__u64 marked;

	alpha -= decay ? decay : alpha;
	if (!marked_bytes)
		return alpha;
	marked = ((__u64)marked_bytes * (ALPHA_ONE >> GAIN_SHIFT)) / acked_bytes;
	return alpha + marked < ALPHA_ONE ? alpha + marked : ALPHA_ONE;
}

#ifdef CC_RECORDS
static __always_inline void record(struct sock *sk, const struct dctcp *dctcp, __u32 alpha)
{
	__u32 slot = __sync_fetch_and_add(&recorded, 1) % CC_RECORDS;
	struct observation_window *row = bpf_map_lookup_elem(&windows, &slot);

	if (!row)
		return;
	row->time_ns = bpf_ktime_get_ns();
	row->port = sk->__sk_common.skc_num;
	row->acked_bytes = dctcp->acked_bytes;
	row->marked_bytes = dctcp->marked_bytes;
	row->alpha_before = dctcp->alpha;
	row->alpha = alpha;
	row->cwnd_segments = ((struct tcp_sock *)sk)->snd_cwnd;
	row->reductions = dctcp->reductions;
	row->reduced_from_segments = dctcp->loss_cwnd;
	row->reduced_to_segments = dctcp->ssthresh;
}
#endif

/* Section 3.3, items 1 to 8: all that an acknowledgement covers counts as marked if it tells of congestion. */
static __always_inline void observe(struct sock *sk, bool congested)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = state_of(sk);
	__u32 acked_bytes = tp->snd_una - dctcp->last_una;
	__u32 alpha;

	/* The acknowledgement of the SYN comes before init. */
	if (!BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized))
		return;
	dctcp->last_una = tp->snd_una;
	dctcp->acked_bytes += acked_bytes;
	if (congested)
		dctcp->marked_bytes += acked_bytes;
	if (before(tp->snd_una, dctcp->window_end) || !dctcp->acked_bytes)
		return;
	alpha = next_alpha(dctcp->alpha, dctcp->acked_bytes, dctcp->marked_bytes);
#ifdef CC_RECORDS
	record(sk, dctcp, alpha);
#endif
	dctcp->alpha = alpha;
	start_window(tp, dctcp);
}

#ifdef CC_DELAY_NS
/* Equation 2 of EAR: rtt > base_rtt + T. The paper's delays are of one way; Linux gives a congestion control round trips,
 * so that queues on the way of acknowledgements count too. `rtt_us` is that of the last segment that is acknowledged: the
 * first of two that share an acknowledgement has waited for the second. It is -1 where a retransmission leaves open what
 * was measured, and an acknowledgement that may have waited for the receiver's timer has not waited in queues: both tell
 * nothing.
 *
 * The base is the connection's least RTT, as in section 3.1. TCP's own, tcp_min_rtt, forgets after 5 minutes, and takes
 * paths for one: in the lab packets are delayed by their TTL, which each flow of a connection may have another of.
 */
static __always_inline bool delayed(struct sock *sk, const struct rate_sample *sample)
{
	struct dctcp *dctcp = state_of(sk);
	__s32 ttl = ((struct inet_sock *)sk)->uc_ttl;
	__u32 rtt_us = sample->rtt_us;

	if (sample->rtt_us < 0)
		return false;
	if (rtt_us < dctcp->base_rtt_us || ttl != dctcp->path_ttl)
		dctcp->base_rtt_us = rtt_us;
	dctcp->path_ttl = ttl;
	return !sample->is_ack_delayed && (rtt_us - dctcp->base_rtt_us) * NSEC_PER_USEC > CC_DELAY_NS;
}
#else
SEC("struct_ops/in_ack_event")
void BPF_PROG(in_ack_event, struct sock *sk, __u32 flags)
{
	observe(sk, flags & CA_ACK_ECE);
}
#endif

static __always_inline __u32 at_least_minimum(__u32 segments)
{
	return segments > MIN_CWND_SEGMENTS ? segments : MIN_CWND_SEGMENTS;
}

/* Section 3.3, item 9: cwnd = cwnd * (1 - alpha / 2). */
static __always_inline __u32 less_marks(__u32 cwnd, __u32 alpha)
{
	return at_least_minimum(cwnd - (__u32)(((__u64)cwnd * alpha) / (2 * ALPHA_ONE)));
}

/* Section 3.5: a loss halves the window, as in Reno. */
static __always_inline __u32 less_loss(__u32 cwnd)
{
	return at_least_minimum(cwnd / 2);
}

/* TCP asks at the beginning of a reduction. It gets an answer, but cong_control does not rely on that. */
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return less_marks(((struct tcp_sock *)sk)->snd_cwnd, state_of(sk)->alpha);
}

/* Segments sent since the window began to be brought down. TCP counts them only if it began that. */
static __always_inline __u32 sent_in_reduction(const struct tcp_sock *tp, const struct dctcp *dctcp)
{
#ifdef CC_DELAY_NS
	return tp->data_segs_out - dctcp->segments_out;
#else
	return tp->prr_out;
#endif
}

static __always_inline void begin_reduction(struct tcp_sock *tp, struct dctcp *dctcp, __u8 state, __u32 until)
{
	if (dctcp->reducing)
		tp->snd_cwnd = dctcp->ssthresh; /* the one before ends here */
	dctcp->loss_cwnd = tp->snd_cwnd;
	dctcp->ssthresh = state == TCP_CA_CWR ? less_marks(tp->snd_cwnd, dctcp->alpha) : less_loss(tp->snd_cwnd);
	dctcp->reducing = state;
	dctcp->reduced_until = until;
	dctcp->prr_cwnd = tp->snd_cwnd;
#ifdef CC_DELAY_NS
	dctcp->segments_out = tp->data_segs_out;
#endif
	dctcp->prr_delivered = sent_in_reduction(tp, dctcp);
	tp->snd_ssthresh = dctcp->ssthresh;
#ifdef CC_RECORDS
	dctcp->reductions++;
#endif
}

/* RFC 6937, section 3, with its slow start bound, as in tcp_cwnd_reduction. */
static __always_inline void proportional_rate_reduction(struct tcp_sock *tp, struct dctcp *dctcp, __u32 delivered)
{
	__s32 in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	__s32 room = dctcp->ssthresh - in_flight;
	__s32 sent = sent_in_reduction(tp, dctcp);
	__s32 send;

	if (!delivered)
		return;
	dctcp->prr_delivered += delivered;
	if (room < 0) {
		__u64 share = (__u64)dctcp->ssthresh * dctcp->prr_delivered + dctcp->prr_cwnd - 1;
		send = (__s32)(share / dctcp->prr_cwnd) - sent;
	} else {
		send = (__s32)dctcp->prr_delivered - sent;
		if (send < (__s32)delivered)
			send = delivered;
		send += 1;
		if (send > room)
			send = room;
	}
	if (send < !sent)
		send = !sent; /* the fast retransmission */
	tp->snd_cwnd = in_flight + send > 0 ? in_flight + send : 1;
}

/* What TCP may have in the queues of its own host (TCP small queues) is what this rate sends in 1 ms. TCP sets it unless
 * there is a cong_control: tcp_update_pacing_rate, with the defaults of its two ratios.
 */
static __always_inline void update_pacing_rate(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 ratio = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	__u32 segments = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	__u64 rate = (__u64)tp->mss_cache * (USEC_PER_SEC / 100 * 8) * ratio * segments;

	if (tp->srtt_us)
		rate /= tp->srtt_us;
	if (rate > sk->sk_max_pacing_rate)
		rate = sk->sk_max_pacing_rate;
	sk->sk_pacing_rate = rate;
}

/* TCP could do all of this itself, if it could rely on what ssthresh answers. A kernel (6.18) was seen to process an
 * acknowledgement, once in some seconds, without running any of these programs: TCP took what lay on the stack for the
 * answer, and the window became 10^8 segments. Here a program that did not run leaves the window as it was.
 */
SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *sample)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = state_of(sk);
	__u8 state = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	__u32 until = tp->high_seq;
#ifdef CC_DELAY_NS
	bool congested = delayed(sk, sample) || (CC_ECN && flag & FLAG_ECE);

	observe(sk, congested); /* the RTT is known only now */
	/* Delays do not bring TCP into CWR, as echoes do. So here it is in CWR from what tells of congestion until more
	 * than what was sent before has been acknowledged, whatever TCP has; losses are left to it.
	 */
	if (state < TCP_CA_Recovery) {
		bool under_way = dctcp->reducing == TCP_CA_CWR && !before(dctcp->reduced_until, tp->snd_una);
		until = under_way ? dctcp->reduced_until : tp->snd_nxt;
		state = under_way || congested ? TCP_CA_CWR : TCP_CA_Open;
	}
#endif

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		if (dctcp->reducing != state || dctcp->reduced_until != until)
			begin_reduction(tp, dctcp, state, until);
		proportional_rate_reduction(tp, dctcp, sample->acked_sacked);
	} else {
		tp->snd_ssthresh = dctcp->ssthresh;
		if (dctcp->reducing && state != TCP_CA_Loss)
			tp->snd_cwnd = dctcp->ssthresh;
		dctcp->reducing = 0;
		if (flag & FLAG_DATA_ACKED)
			tcp_reno_cong_avoid(sk, ack, sample->acked_sacked);
	}
	update_pacing_rate(sk);
}

static __always_inline void echo(struct tcp_sock *tp, __u32 ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/* Section 3.2: when CE changes, what came before it is acknowledged at once, with the old state. */
static __always_inline void receive(struct sock *sk, __u32 ce)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = state_of(sk);

	if (dctcp->ce != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, dctcp->ce);
			bpf_tcp_send_ack(tp, dctcp->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	dctcp->prior_rcv_nxt = tp->rcv_nxt;
	dctcp->ce = ce;
	echo(tp, ce);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_ECN_IS_CE:
		receive(sk, 1);
		break;
	case CA_EVENT_ECN_NO_CE:
		receive(sk, 0);
		break;
	case CA_EVENT_LOSS: /* a timeout; the window is still that before it */
		state_of(sk)->loss_cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
		state_of(sk)->ssthresh = less_loss(((struct tcp_sock *)sk)->snd_cwnd);
		break;
	default:
		break;
	}
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = state_of(sk);

	/* TCP takes back its threshold as well (tcp_undo_cwnd_reduction), which cong_control would undo. */
	if (tp->prior_ssthresh > dctcp->ssthresh)
		dctcp->ssthresh = tp->prior_ssthresh;
	dctcp->reducing = 0;
	return tp->snd_cwnd > dctcp->loss_cwnd ? tp->snd_cwnd : dctcp->loss_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops CC_NAME = {
	.init = (void *)init,
#ifndef CC_DELAY_NS
	.in_ack_event = (void *)in_ack_event,
#endif
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.cong_control = (void *)cong_control,
	.flags = (CC_ECN ? TCP_CONG_NEEDS_ECN : 0) | TCP_CONG_NON_RESTRICTED,
	.name = QUOTED(CC_NAME),
};
