// The header of programs in the shell: an operation, two operands, a result.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  op;
    bit<16> a;
    bit<16> b;
    bit<16> x;
}
