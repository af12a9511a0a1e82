#include <core.p4>

header h_t { bit<8> a; bit<8> b; }
header two_varbits_t { varbit<8> a; varbit<8> b; }
header options_t { bit<8> len; varbit<320> data; }
header_union u_t { h_t h; bit<8> b; } // E0414:27
struct s_t { bit<8> x; bit<16> y; packet_in p; } // E0414:35
struct pair_t<T, U> { T first; U second; }
enum string named_t { A = "a" } // E0435:6
enum bit<4> small_t { ONE = 1, LARGE = 16 } // E0436:40
header wrap_t<T> { T inside; }
const wrap_t<packet_in> wrapped = { 1 }; // E0414:7
type h_t new_t; // E0437:10
enum bit<4> level_t { LOW = 0 }
type level_t layer_t; // E0437:14
typedef tuple<string> texts_t; // E0414:15
extern holds_t<T> { holds_t(T value); }
holds_t(1) held; // E0418:9
type bit<8> port_t;
const h_t[0 - 1] none = {}; // E0412:11
const bit<8>[5000] many = {}; // E0413:14
const pair_t<bit<8>> lonely = { 1, 2 }; // E0416:7
const pair_t<_, bit<8>> open = { 1, 2 }; // E0455:7
extern self_t<T> { self_t(); }
self_t<self_t<bit<8>>>() selfish; // E0456:1
control block_t();
self_t<block_t>() blocky; // E0417:8
const packet_in p = 0; // E0439:7
const bit<(3 / 0)> zero = 0; // E0427:11
const int huge = 1 << 9999999; // E0430:18
const bit<8> negative = 1 << -1; // E0429:30
const int quotient = -5 / 2; // E0428:22
const string joined = "a" ++ "b";
const bit<8> wide = 300; // W0401:21
const bool asserted = static_assert(1 == 2, "one is not two"); // E0454:23
extern T make<T>();
extern void take<T>(in T value);
