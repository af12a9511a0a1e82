control c() {
    apply { // E0206
