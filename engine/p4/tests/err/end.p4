control c() {
    apply { // E0206:12
