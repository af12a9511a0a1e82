#include <core.p4>
control c();
control nothing() { apply { } }
package P(c x);
P(nothing()) main; // E0702:14
