// SPDX-License-Identifier: MIT OR Apache-2.0
// The headers of a packet.
#ifndef MARKLAB_V1MODEL_HEADERS_P4
#define MARKLAB_V1MODEL_HEADERS_P4

#include "../../include/headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
}

#endif // MARKLAB_V1MODEL_HEADERS_P4
