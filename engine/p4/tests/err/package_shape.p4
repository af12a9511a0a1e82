#include <core.p4>
control c();
control nothing() { apply { } }
package V1Switch(c x);
V1Switch(nothing()) main; // E0712:21
