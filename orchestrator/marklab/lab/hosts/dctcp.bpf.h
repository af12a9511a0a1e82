// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What all DCTCPs in BPF share: alpha, reductions and echoes of RFC 8257 in the integers of Linux's tcp_dctcp.c, and
 * records of them.
 *
 * CC_NAME is the congestion control's, and that of its BPF map: at most 15 letters, digits or `_`. If CC_RECORDS is
 * defined, the last so many observation windows of all connections are kept. The kernel lends its functions to GPL code
 * only, hence the licence.
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

#define ALPHA_ONE 1024u
#define GAIN_SHIFT 4 /* g = 1/16: section 4.2 */
#define MIN_CWND_SEGMENTS 2u

#define QUOTED_(name) #name
#define QUOTED(name) QUOTED_(name)

char _license[] SEC("license") = "Dual MIT/GPL";

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

/* A connection's state, at the beginning of the 104 bytes that the kernel has for it. */
struct dctcp {
	__u32 alpha;         /* moving average of the marked share; of ALPHA_ONE */
	__u32 window_end;    /* the observation window is over when this has been acknowledged */
	__u32 loss_cwnd;     /* before the last reduction */
	__u32 prior_rcv_nxt; /* before the packet that is being received */
	__u32 ce;            /* DCTCP.CE: whether the last packet came with CE */
#ifdef CC_RECORDS
	__u32 reductions;
	__u32 reduced_from;
	__u32 reduced_to;
#endif
};

/* An observation window, in segments. */
struct observed {
	__u32 delivered;
	__u32 marked;
};

#ifdef CC_RECORDS
struct observation_window {
	__u64 time_ns;
	__u32 port; /* of the sender */
	__u32 delivered_segments;
	__u32 marked_segments;
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

static __always_inline __u8 ca_state_of(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

/* The acknowledgement of the SYN comes before init. */
static __always_inline bool is_initialized(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_initialized);
}

/* Sequence numbers wrap. */
static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* A new connection. Section 3.5: without ECN it is a conventional TCP, and this gives false. */
static __always_inline bool begin(struct sock *sk, bool ecn)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp *dctcp = state_of(sk);

	if (ecn && !(tp->ecn_flags & TCP_ECN_OK)) {
		char reno[] = "reno";
		bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return false;
	}
	dctcp->alpha = ALPHA_ONE; /* section 4.2 */
	dctcp->window_end = tp->snd_nxt;
	dctcp->loss_cwnd = 0;
	dctcp->prior_rcv_nxt = tp->rcv_nxt;
	dctcp->ce = 0;
	return true;
}

static __always_inline bool window_is_over(struct sock *sk)
{
	return !before(((struct tcp_sock *)sk)->snd_una, state_of(sk)->window_end);
}

/* Section 3.3, item 5: alpha = (1 - g) * alpha + g * M. An alpha below 1/g units would never decay. */
static __always_inline __u32 next_alpha(__u32 alpha, struct observed observed)
{
	__u32 decay = alpha >> GAIN_SHIFT;
	__u64 marked;

	alpha -= decay ? decay : alpha;
	if (!observed.marked)
		return alpha;
	marked = ((__u64)observed.marked * (ALPHA_ONE >> GAIN_SHIFT)) / (observed.delivered ? observed.delivered : 1);
	return alpha + marked < ALPHA_ONE ? alpha + marked : ALPHA_ONE;
}

static __always_inline void record(struct sock *sk, struct observed observed, __u32 alpha)
{
#ifdef CC_RECORDS
	const struct dctcp *dctcp = state_of(sk);
	struct observation_window *row;
	__u32 slot;

	/* At an end that only receives, each packet ends an empty window. */
	if (!observed.delivered)
		return;
	slot = __sync_fetch_and_add(&recorded, 1) % CC_RECORDS;
	row = bpf_map_lookup_elem(&windows, &slot);
	if (!row)
		return;
	row->time_ns = bpf_ktime_get_ns();
	row->port = sk->__sk_common.skc_num;
	row->delivered_segments = observed.delivered;
	row->marked_segments = observed.marked;
	row->alpha_before = dctcp->alpha;
	row->alpha = alpha;
	row->cwnd_segments = ((struct tcp_sock *)sk)->snd_cwnd;
	row->reductions = dctcp->reductions;
	row->reduced_from_segments = dctcp->reduced_from;
	row->reduced_to_segments = dctcp->reduced_to;
#endif
}

/* Section 3.3, items 5 to 8. */
static __always_inline void end_window(struct sock *sk, struct observed observed)
{
	struct dctcp *dctcp = state_of(sk);
	__u32 alpha = next_alpha(dctcp->alpha, observed);

	record(sk, observed, alpha);
	dctcp->alpha = alpha;
	dctcp->window_end = ((struct tcp_sock *)sk)->snd_nxt;
}

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

/* Gives the new threshold. */
static __always_inline __u32 note_reduction(struct sock *sk, __u32 ssthresh)
{
	struct dctcp *dctcp = state_of(sk);

	dctcp->loss_cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
#ifdef CC_RECORDS
	dctcp->reductions++;
	dctcp->reduced_from = dctcp->loss_cwnd;
	dctcp->reduced_to = ssthresh;
#endif
	return ssthresh;
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
