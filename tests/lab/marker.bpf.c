// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A switch's marking at the cheapest: CE from THRESHOLD_PACKETS packets in the queueing discipline of the interface on. */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define TC_ACT_OK 0

extern void *bpf_cast_to_kern_ctx(void *) __ksym;

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("tc")
int mark(struct __sk_buff *frame)
{
	struct sk_buff *packet = bpf_cast_to_kern_ctx(frame);

	if (BPF_CORE_READ(packet, dev, qdisc, q.qlen) >= THRESHOLD_PACKETS)
		bpf_skb_ecn_set_ce(frame);
	return TC_ACT_OK;
}
