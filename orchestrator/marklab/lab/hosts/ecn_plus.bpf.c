// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ECN+ (Kuzmanovic: "The Power of Explicit Congestion Notification", SIGCOMM 2005, section 3.2; RFC 5562): an answer to a
 * SYN is ECN capable, if both ends take part in ECN. That they do is said by ECE, which Linux sets in answers to SYNs
 * that asked for it.
 *
 * It changes packets as they leave a host. Linux has no setting for it, other than a congestion control whose packets
 * are ECN capable all of them.
 */
#include "vmlinux.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Macros of the kernel, which its type information does not have. */
#define TC_ACT_OK 0
#define ETH_P_IP 0x0800

#define IHL_MIN 5
#define ECN_MASK 0x3
#define ECT_0 0x2

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("tc")
int ecn_plus(struct __sk_buff *frame)
{
	__u32 at = sizeof(struct ethhdr);
	__be16 before, after;
	struct tcphdr tcp;
	struct iphdr ip;

	if (frame->protocol != bpf_htons(ETH_P_IP) || bpf_skb_load_bytes(frame, at, &ip, sizeof(ip)) ||
	    ip.protocol != IPPROTO_TCP || ip.ihl < IHL_MIN || ip.tos & ECN_MASK ||
	    bpf_skb_load_bytes(frame, at + 4 * ip.ihl, &tcp, sizeof(tcp)) || !(tcp.syn && tcp.ack && tcp.ece))
		return TC_ACT_OK;
	/* Checksums are of words of 16 bits. */
	bpf_skb_load_bytes(frame, at, &before, sizeof(before));
	after = before | bpf_htons(ECT_0);
	bpf_l3_csum_replace(frame, at + __builtin_offsetof(struct iphdr, check), before, after, sizeof(after));
	bpf_skb_store_bytes(frame, at, &after, sizeof(after), 0);
	return TC_ACT_OK;
}
