// SPDX-License-Identifier: MIT OR Apache-2.0
// Per-port ECN: marks while all of the port's queues together are longer than K; include/pool_length.p4 with a pool for
// each port.
#include <core.p4>
#include <v1model.p4>
#define MARKLAB_POOL(port) (port)
#include "include/pool_length.p4"
#include "include/switch.p4"
