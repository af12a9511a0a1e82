// SPDX-License-Identifier: Apache-2.0
/* The Tofino Native Architecture: of Tofino 1, unless the command line selects Tofino 2 (-D __TARGET_TOFINO__=2). */

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 1
#endif
#include "tofino.p4"
