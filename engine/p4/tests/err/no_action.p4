// Without core.p4 there is no NoAction.
control c(inout bit<8> x) {
    table t { // E0616:11
        actions = { }
    }
    apply { t.apply(); }
}
