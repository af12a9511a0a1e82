// Directives and macros.
#include <no_such_file.p4> // E0102:10
#include core.p4 // E0105:10
#ifdef // E0109:2
#endif
#else // E0107:2
#if 1
#else
#else // E0108:2
#endif
#define // E0109:2
#define ONE(a, a) a // E0110:16
#define TWO ## x // E0111:13
#define PASTE(a, b) a ## b
const int c = PASTE(1, +); // E0112:15
const int d = PASTE(1); // E0114:15
#if (1 // E0116:2
#endif
#if 1 / 0 // E0117:7
#endif
#error the end is near // E0118:2
#line three // E0119:2
#warning mind the gap // W0101:2
#define PASTE 3 // W0102:9
#ifndef __TARGET_BMV2__
#error never seen
#endif
#if 1 // E0106:2
