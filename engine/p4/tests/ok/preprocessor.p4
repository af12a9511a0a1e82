/* Macros, conditions and includes, as programs use them. */
#include "include/frame.p4"
#include "include/frame.p4" // once is enough: it has a guard

#define WIDTH 8
#define BITS(n) bit<n>
#define FIELD(kind, name) BITS(kind) name##_field
#define LOG(format, ...) log_msg(format, { __VA_ARGS__ })
#define TEXT(x) #x
#if defined(__TARGET_BMV2__) && V1MODEL_VERSION >= 20180101
#define READY 1
#else
#error v1model is too old for this program
#endif
#ifndef READY
#error unreachable
#elif READY == 1 \
    && (WIDTH & 8)
struct fields_t { FIELD(WIDTH, first); FIELD(16, second); }
#endif
#undef WIDTH

@pragma keep everything on this line
control Case(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        fields_t f = { hdr.h.a, hdr.h.c };
        LOG("fields {} {}", f.first_field, f.second_field);
        log_msg(TEXT(f.first_field + 1));
        meta.x = f.second_field + __LINE__;
    }
}
V1Switch(P(), V(), Case(), E(), C(), D()) main;
