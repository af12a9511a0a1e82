// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* DCTCP's law for what else tells of congestion than marks (EAR: Zeng et al., "Combining ECN and RTT for Datacenter
 * Transport", APNet 2017), as a congestion control of Linux in BPF.
 *
 * An acknowledgement tells of congestion if it is later than the path's base RTT by more than CC_DELAY_NS; with CC_ECN,
 * also if it echoes a mark (else that is 0, and ECN is not asked for). Delays do not bring TCP into the state CWR, as
 * echoes do. So the window is moved here (see cong_control), in the way of TCP. For controls that do, Linux leaves out
 * the restart after idle time.
 */
#include "dctcp.bpf.h"

#define INFINITE_SSTHRESH 0x7fffffff
/* Of what an acknowledgement does. */
#define FLAG_DATA_ACKED 0x04
#define FLAG_ECE 0x40

#define USEC_PER_SEC 1000000ULL
#define NSEC_PER_USEC 1000ULL

struct moved {
	struct dctcp dctcp;
	struct observed observed;
	__u32 ssthresh;
	__u32 reducing;      /* the state in which the window is being brought down to it, or 0 */
	__u32 reduced_until; /* sent before that: what TCP calls high_seq */
	__u32 prr_cwnd;      /* before that */
	__u32 prr_delivered; /* segments since then */
	__u32 segments_out;  /* sent before that, of the connection */
	__u32 base_rtt_us;
	__s32 path_ttl; /* by which packets took the path that has this base */
};

static __always_inline struct moved *moved_of(struct sock *sk)
{
	return (struct moved *)state_of(sk);
}

SEC("struct_ops/init")
void BPF_PROG(init, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct moved *moved = moved_of(sk);

	if (!begin(sk, CC_ECN))
		return;
	moved->observed = (struct observed){};
	moved->ssthresh = INFINITE_SSTHRESH;
	moved->reducing = 0;
	moved->base_rtt_us = tp->rtt_min.s[0].v; /* the handshake's, or ~0 */
	moved->path_ttl = ((struct inet_sock *)sk)->uc_ttl;
}

/* Section 3.3 of RFC 8257, items 1 to 4: all that an acknowledgement delivers counts as marked if it tells of congestion. */
static __always_inline void observe(struct sock *sk, __u32 delivered, bool congested)
{
	struct observed *observed = &moved_of(sk)->observed;

	if (!is_initialized(sk))
		return;
	observed->delivered += delivered;
	if (congested)
		observed->marked += delivered;
	if (!window_is_over(sk) || !observed->delivered)
		return;
	end_window(sk, *observed);
	*observed = (struct observed){};
}

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
	struct moved *moved = moved_of(sk);
	__s32 ttl = ((struct inet_sock *)sk)->uc_ttl;
	__u32 rtt_us = sample->rtt_us;

	if (sample->rtt_us < 0)
		return false;
	if (rtt_us < moved->base_rtt_us || ttl != moved->path_ttl)
		moved->base_rtt_us = rtt_us;
	moved->path_ttl = ttl;
	return !sample->is_ack_delayed && (rtt_us - moved->base_rtt_us) * NSEC_PER_USEC > CC_DELAY_NS;
}
/* TCP asks at the beginning of a reduction. It gets an answer, but cong_control does not rely on that. */
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	return less_marks(((struct tcp_sock *)sk)->snd_cwnd, state_of(sk)->alpha);
}

static __always_inline __u32 sent_in_reduction(const struct tcp_sock *tp, const struct moved *moved)
{
	return tp->data_segs_out - moved->segments_out;
}

static __always_inline void begin_reduction(struct sock *sk, __u8 state, __u32 until)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct moved *moved = moved_of(sk);
	__u32 ssthresh;

	if (moved->reducing)
		tp->snd_cwnd = moved->ssthresh; /* the one before ends here */
	ssthresh = state == TCP_CA_CWR ? less_marks(tp->snd_cwnd, moved->dctcp.alpha) : less_loss(tp->snd_cwnd);
	moved->ssthresh = note_reduction(sk, ssthresh);
	moved->reducing = state;
	moved->reduced_until = until;
	moved->prr_cwnd = tp->snd_cwnd;
	moved->segments_out = tp->data_segs_out;
	moved->prr_delivered = 0;
	tp->snd_ssthresh = moved->ssthresh;
}

/* RFC 6937, section 3, with its slow start bound, as in tcp_cwnd_reduction. */
static __always_inline void proportional_rate_reduction(struct tcp_sock *tp, struct moved *moved, __u32 delivered)
{
	__s32 in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	__s32 room = moved->ssthresh - in_flight;
	__s32 sent = sent_in_reduction(tp, moved);
	__s32 send;

	if (!delivered)
		return;
	moved->prr_delivered += delivered;
	if (room < 0) {
		__u64 share = (__u64)moved->ssthresh * moved->prr_delivered + moved->prr_cwnd - 1;
		send = (__s32)(share / moved->prr_cwnd) - sent;
	} else {
		send = (__s32)moved->prr_delivered - sent;
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

/* TCP has no state for a reduction by delays. So here it is in CWR from what tells of congestion until more than what was
 * sent before has been acknowledged, whatever TCP has; losses are left to it.
 */
SEC("struct_ops/cong_control")
void BPF_PROG(cong_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *sample)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct moved *moved = moved_of(sk);
	__u8 state = ca_state_of(sk);
	__u32 until = tp->high_seq;
	bool congested = delayed(sk, sample) || (CC_ECN && flag & FLAG_ECE);

	observe(sk, sample->acked_sacked, congested); /* the RTT is known only now */
	if (state < TCP_CA_Recovery) {
		bool under_way = moved->reducing == TCP_CA_CWR && !before(moved->reduced_until, tp->snd_una);
		until = under_way ? moved->reduced_until : tp->snd_nxt;
		state = under_way || congested ? TCP_CA_CWR : TCP_CA_Open;
	}
	if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		if (moved->reducing != state || moved->reduced_until != until)
			begin_reduction(sk, state, until);
		proportional_rate_reduction(tp, moved, sample->acked_sacked);
	} else {
		tp->snd_ssthresh = moved->ssthresh;
		if (moved->reducing && state != TCP_CA_Loss)
			tp->snd_cwnd = moved->ssthresh;
		moved->reducing = 0;
		if (flag & FLAG_DATA_ACKED)
			tcp_reno_cong_avoid(sk, ack, sample->acked_sacked);
	}
	update_pacing_rate(sk);
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
		moved_of(sk)->ssthresh = note_reduction(sk, less_loss(((struct tcp_sock *)sk)->snd_cwnd));
		break;
	default:
		break;
	}
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct moved *moved = moved_of(sk);

	/* TCP takes back its threshold as well (tcp_undo_cwnd_reduction), which cong_control would undo. */
	if (tp->prior_ssthresh > moved->ssthresh)
		moved->ssthresh = tp->prior_ssthresh;
	moved->reducing = 0;
	return tp->snd_cwnd > moved->dctcp.loss_cwnd ? tp->snd_cwnd : moved->dctcp.loss_cwnd;
}

SEC(".struct_ops")
struct tcp_congestion_ops CC_NAME = {
	.init = (void *)init,
	.ssthresh = (void *)ssthresh,
	.cwnd_event = (void *)cwnd_event,
	.undo_cwnd = (void *)undo_cwnd,
	.cong_control = (void *)cong_control,
	.flags = (CC_ECN ? TCP_CONG_NEEDS_ECN : 0) | TCP_CONG_NON_RESTRICTED,
	.name = QUOTED(CC_NAME),
};
