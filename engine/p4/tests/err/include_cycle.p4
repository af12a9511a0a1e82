// A file that includes itself.
#include "include_cycle.p4" // E0103:10
