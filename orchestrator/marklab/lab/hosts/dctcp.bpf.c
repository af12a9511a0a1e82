// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* DCTCP (RFC 8257) as a congestion control of Linux in BPF, for kernels that lack tcp_dctcp. It answers each of TCP's
 * questions as tcp_dctcp.c does, function by function, and leaves all else to TCP.
 */
#include "dctcp.bpf.h"

struct hooked {
	struct dctcp dctcp;
	__u32 old_delivered;
	__u32 old_delivered_ce;
};

static __always_inline void start_window(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct hooked *state = (struct hooked *)state_of(sk);

	state->old_delivered = tp->delivered;
	state->old_delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	if (begin(sk, true))
		start_window(sk);
}

/* How often TCP has taken an answer that these programs had not given. */
__u32 replaced;

/* A kernel may leave out all programs in BPF while certain tasks are the current ones of a processor, also for packets
 * that its interrupts process: so did a 6.18 for 56 of 45,353 acknowledgements, all of them during threads of its init.
 * TCP then takes what lies on the stack for the answer of `ssthresh`, and the window may become 10^8 segments. Such an
 * answer is above the window that it was to reduce. The next acknowledgement replaces it; what was sent is sent.
 */
static __always_inline void mend_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u8 state = ca_state_of(sk);

	if (state < TCP_CA_CWR || tp->snd_ssthresh <= at_least_minimum(tp->prior_cwnd))
		return;
	__sync_fetch_and_add(&replaced, 1);
	tp->snd_ssthresh = state == TCP_CA_CWR ? less_marks(tp->prior_cwnd, state_of(sk)->alpha) : less_loss(tp->prior_cwnd);
}

/* dctcp_update_alpha */
SEC("struct_ops/in_ack_event")
void BPF_PROG(in_ack_event, struct sock *sk, __u32 flags)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	const struct hooked *state = (struct hooked *)state_of(sk);
	struct observed observed;

	if (!is_initialized(sk))
		return;
	mend_ssthresh(sk);
	if (!window_is_over(sk))
		return;
	observed.delivered = tp->delivered - state->old_delivered;
	observed.marked = tp->delivered_ce - state->old_delivered_ce;
	end_window(sk, observed);
	start_window(sk);
}

/* dctcp_ssthresh */
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return note_reduction(sk, less_marks(((struct tcp_sock *)sk)->snd_cwnd, state_of(sk)->alpha));
}

/* dctcp_react_to_loss */
static __always_inline void react_to_loss(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	tp->snd_ssthresh = note_reduction(sk, less_loss(tp->snd_cwnd));
}

/* dctcp_state */
SEC("struct_ops/set_state")
void BPF_PROG(set_state, struct sock *sk, __u8 new_state)
{
	if (new_state == TCP_CA_Recovery && new_state != ca_state_of(sk))
		react_to_loss(sk);
}

/* dctcp_cwnd_event */
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
	case CA_EVENT_LOSS: /* a timeout */
		react_to_loss(sk);
		break;
	default:
		break;
	}
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

/* dctcp_cwnd_undo */
SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	__u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;
	__u32 loss_cwnd = state_of(sk)->loss_cwnd;

	return cwnd > loss_cwnd ? cwnd : loss_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops CC_NAME = {
	.init = (void *)init,
	.in_ack_event = (void *)in_ack_event,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.cong_avoid = (void *)cong_avoid,
	.undo_cwnd = (void *)undo_cwnd,
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NON_RESTRICTED,
	.name = QUOTED(CC_NAME),
};
