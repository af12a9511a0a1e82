#include "include/frame.p4"

const bit<8> LAST = 1; // E0701:23
