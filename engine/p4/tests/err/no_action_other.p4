// `NoAction` is there, but cannot be a default action.
const bit<8> NoAction = 1;
control c(inout bit<8> x) {
    table t { // E0616:11
        actions = { }
    }
    apply { t.apply(); }
}
