// SPDX-License-Identifier: MIT OR Apache-2.0
// Per-pool ECN: marks while all of the switch's queues together are longer than K; include/pool_length.p4 with one
// pool.
#include <core.p4>
#include <v1model.p4>
#define MARKLAB_POOL(port) 0
#include "include/pool_length.p4"
#include "include/switch.p4"
