// Type names are known to the parser, so only a type parameter that is never declared gets this far.
extern void f<T>(in T x);
extern E<T> { E(); U get(); } // E0303:20
control c(inout bit<8> x) {
    apply {
        f<nothing>(x); // E0303:11
    }
}
