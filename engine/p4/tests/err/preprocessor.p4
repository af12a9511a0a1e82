// Directives and macros.
#include <no_such_file.p4> // E0102
#include core.p4 // E0105
#ifdef // E0109
#endif
#else // E0107
#if 1
#else
#else // E0108
#endif
#define // E0109
#define ONE(a, a) a // E0110
#define TWO ## x // E0111
#define PASTE(a, b) a ## b
const int c = PASTE(1, +); // E0112
const int d = PASTE(1); // E0114
#if (1 // E0116
#endif
#if 1 / 0 // E0117
#endif
#error the end is near // E0118
#line three // E0119
#warning mind the gap // W0101
#define PASTE 3 // W0102
#ifndef __TARGET_BMV2__
#error never seen
#endif
#if 1 // E0106
