// Types must also be declared before they are used.
struct outer_t { inner_t inner; } // E0301:18
struct inner_t { bit<8> a; }
