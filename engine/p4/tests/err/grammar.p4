// Several errors of grammar in one run: each broken declaration, statement or member is skipped alone.
const bit<8> a = 3 $ 4; // E0203:20
const bit<8> b = ; // E0205:18
const bit<99999> w = 0; // checked only if the grammar is right
const bit<8> x = 99999w1; // E0214:18
struct S {
    bit<8> f // E0205:13
    bit<8> g;
}
} // E0208:1
enum _ { A } // E0209:6
bit<8> v = 3; // E0210:8
table t { } // E0210:1
control no_apply() { // E0211:9
    action a() {}
}
control c(inout bit<8> x, nothing y) { // E0301:27
    apply { }
}
control d(inout bit<8> x) {
    action parser() { } // E0205:12
    table t2 {
        key = { x exact; } // E0205:19
        actions = { }
    }
    apply {
        x = bit<8>; // E0212:13
        if (x == 1) bit<8> y = 3; // E0213:21
        x + 1; // E0205:11
        x = 1 // E0205:14
        x = 2;
        nobody z; // E0301:9
        { x = (1; } // E0205:17
        x = 3;
    }
}
extern cell {
    cell();
    read(in bit<8> index); // E0215:5
}
error { LastOfAll, } // E0205:20
state s { } // E0205:1
