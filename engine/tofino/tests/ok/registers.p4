/* Accesses that exclude each other are one for each packet. */
#include "before.p4"

Register<bit<32>, bit<8>>(256) common;

control Eg(EGRESS) {
    Hash<bit<8>>(HashAlgorithm_t.CRC8) hash;
    Register<bit<32>, bit<8>>(256) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) put = {
        void apply(inout bit<32> value) {
            value = hdr.h.a;
        }
    };

    Register<bit<32>, bit<8>>(256) q;
    RegisterAction<bit<32>, bit<8>, bit<32>>(q) q_get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(q) q_put = {
        void apply(inout bit<32> value) {
            value = hdr.h.a;
        }
    };
    action use(bit<8> index) {
        md.x = q_get.execute(index);
    }
    action other(bit<8> index) {
        q_put.execute(index);
    }
    action idle() {}
    table t {
        key = {
            hdr.h.b: exact;
        }
        actions = {
            use;
            other;
            idle;
        }
        const default_action = idle;
        size = 16;
    }

    Register<bit<32>, bit<8>>(256) after_miss;
    RegisterAction<bit<32>, bit<8>, bit<32>>(after_miss) get_after_miss = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };
    action use_on_hit(bit<8> index) {
        md.x = get_after_miss.execute(index);
    }
    table may_miss {
        key = {
            hdr.h.c: exact;
        }
        actions = {
            use_on_hit;
            idle;
        }
        const default_action = idle;
        size = 16;
    }

    Register<bit<32>, bit<8>>(256) plain;
    Register<bit<32>, bit<8>>(256) last;
    RegisterAction<bit<32>, bit<8>, bit<32>>(last) last_get = {
        void apply(inout bit<32> value, out bit<32> rv) {
            rv = value;
        }
    };

    apply {
        if (hdr.h.b8 == 0) {
            md.x = get.execute(hdr.h.a8);
        } else if (hdr.h.b8 == 1) {
            put.execute(hash.get({ hdr.h.a }));
        }
        switch (t.apply().action_run) {
            idle: {
                md.y = q_get.execute(hdr.h.a8);
            }
        }
        if (!may_miss.apply().hit) {
            md.y = get_after_miss.execute(hdr.h.b8);
        }
        md.x = plain.read(hdr.h.a8);
        plain.write(hdr.h.a8, hdr.h.b);
        if (hdr.h.b8 == 5) {
            md.y = last_get.execute(hdr.h.a16[15:8]);
            return;
        }
        md.y = last_get.execute(3);
    }
}

#include "after.p4"
