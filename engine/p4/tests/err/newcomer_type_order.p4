// Types too.
struct outer_t { inner_t inner; } // E0301:18
struct inner_t { bit<8> a; }
