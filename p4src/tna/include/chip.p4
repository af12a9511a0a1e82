// SPDX-License-Identifier: MIT OR Apache-2.0
// The chip: Tofino 1 or 2.
#ifndef MARKLAB_CHIP
#define MARKLAB_CHIP 1
#endif

#if MARKLAB_CHIP == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif
