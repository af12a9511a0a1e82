// `@p4runtime_translation` sets the type that the control plane sees in place of another.
@p4runtime_translation("uri", string)
type bit<16> text_t;
@p4runtime_translation("uri", bit<32>)
type bit<16> number_t;
@p4runtime_translation("uri", 32)
type bit<16> width_t;
@p4runtime_translation("uri", bool) // E0551:31
type bit<16> bool_t;
@p4runtime_translation("uri", bit<5+3>) // E0551:36
type bit<16> sum_t;
@p4runtime_translation("uri", bit<32>, 1) // E0551:38
type bit<16> more_t;
@p4runtime_translation("uri") // E0551:1
type bit<16> less_t;
@p4runtime_translation(32, "uri") // E0551:24
type bit<16> swapped_t;
