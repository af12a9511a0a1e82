#include <core.p4>

@name(3) // E0544:1
const bit<8> a = 1;
@info[1]
@info[2] // E0543:1
const bit<8> b = 1;
@info[8w1] // E0453:7
const bit<8> c = 1;
@info[x = 1, x = 2] // E0309:14
const bit<8> d = 1;
@pkginfo // E0552:1
const bit<8> e = 1;
struct s_t {
    @match(3) // E0550:5
    bit<8> x;
}
extern E { E(); abstract void f(); }
package P(E e);
extern U { U(); }
U() main; // E0713:5
P(E()) p; // E0549:3
control c1(inout bit<8> x) { apply { } }
c1() top; // E0210:6
U() many[3];
c1() instances[3]; // E0545:1
