/* What stands behind the control `Eg` under test. */
#ifndef HAS_INGRESS
control Ig(INGRESS) {
    apply {
        for_tm.ucast_egress_port = 1;
    }
}
#endif
#ifdef HAS_PARSER
Pipeline(IgParser(), Ig(), IgDeparser(), OwnParser(), Eg(), EgDeparser()) pipe;
#else
Pipeline(IgParser(), Ig(), IgDeparser(), EgParser(), Eg(), EgDeparser()) pipe;
#endif
Switch(pipe) main;
