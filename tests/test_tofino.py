# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs against the limits of Tofino."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Finished
from marklab.errors import BadInput
from marklab.p4tools import tofino

Cli = Callable[..., Finished]

PROGRAM = """#include <core.p4>
#include <tna.p4>
header h_t { bit<32> a; bit<32> b; }
struct headers_t { h_t h; }
struct meta_t { bit<32> x; }
parser IgP(packet_in pkt, out headers_t hdr, out meta_t md, out ingress_intrinsic_metadata_t ig) {
    state start { pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); pkt.extract(hdr.h); transition accept; }
}
control Ig(inout headers_t hdr, inout meta_t md, in ingress_intrinsic_metadata_t ig,
           in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
           inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        if (CONDITION) {
            tm.ucast_egress_port = 1;
        }
    }
}
control D(packet_out pkt, inout headers_t hdr, in meta_t md) { apply { pkt.emit(hdr); } }
parser EgP(packet_in pkt, out headers_t hdr, out meta_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); pkt.extract(hdr.h); transition accept; }
}
control Eg(inout headers_t hdr, inout meta_t md, in egress_intrinsic_metadata_t eg,
           in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
           inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {}
}
Pipeline(IgP(), Ig(), D(), EgP(), Eg(), D()) pipe;
Switch(pipe) main;
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """A program that tests a condition."""

    def make(condition: str) -> Path:
        path = tmp_path / "test.p4"
        path.write_text(PROGRAM.replace("CONDITION", condition))
        return path

    return make


def test_a_program_that_fits_passes(cli: Cli, program: Callable[[str], Path]) -> None:
    done = cli("check", "--arch", "tna", str(program("hdr.h.a == 5")))
    assert done.code == 0
    assert done.out.splitlines()[-1] == "test.p4 breaks no limit that is checked"


def test_a_limit_is_shown_where_it_is_broken(cli: Cli, program: Callable[[str], Path]) -> None:
    path = program("hdr.h.a > hdr.h.b")
    done = cli("check", "--arch", "tna", str(path))
    assert done.code == 1
    assert "error[E1302]: a condition can tell the order" in done.out
    assert f"{path}:13:13" in done.out
    assert done.out.splitlines()[-1] == "test.p4 breaks 1 limit of Tofino: see above"


def test_the_object_for_scripts_has_place_and_remedy(cli: Cli, program: Callable[[str], Path]) -> None:
    done = cli("check", "--arch", "tna", "--json", str(program("hdr.h.a > hdr.h.b")))
    assert done.code == 1
    found = json.loads(done.out)
    assert found["arch"] == "tna"
    (message,) = found["messages"]
    assert (message["id"], message["line"], message["is_warning"]) == ("E1302", 13, False)
    assert "|-|" in message["remedy"]


def test_the_estimate_counts_stages_and_units(cli: Cli, program: Callable[[str], Path]) -> None:
    path = program("hdr.h.a == 5")
    estimate = tofino.examine(path).estimate
    assert (estimate.stages_used, estimate.stages, estimate.stages_by_dependencies) == (1, 12, 1)
    assert (estimate.total.logical_tables, estimate.total.gateways) == (1, 1)
    # Two fields of 32 bits in each gress; the port is intrinsic.
    assert (estimate.vector.headers, estimate.vector.metadata, estimate.vector.intrinsic) == (128, 0, 9)
    assert estimate.by_stage[0].tables == ["if test.p4:13", "test.p4:14"]
    shown = cli("check", "--arch", "tna", str(path)).out
    assert "1 of 12, 1 by dependencies" in shown
    assert "137 of 4096 bits" in shown


def test_too_many_stages_are_an_error_that_names_the_chain(program: Callable[[str], Path]) -> None:
    path = program("hdr.h.a == 5")
    steps = "\n".join(f"hdr.h.b = hdr.h.b + {step};" for step in range(1, 14))
    path.write_text(path.read_text().replace("tm.ucast_egress_port = 1;", steps))
    found = tofino.examine(path)
    assert found.estimate.stages_used == 13
    assert [error.id for error in found.errors] == ["E1601"]
    assert "takes 13 stages" in found.errors[0].text
    assert "test.p4:14, test.p4:15" in found.errors[0].text


def test_what_is_not_for_tofino_is_refused(cli: Cli, tmp_path: Path) -> None:
    v1model = Path(__file__).parent.parent / "p4src" / "v1model" / "tcn.p4"
    with pytest.raises(BadInput, match="written for v1model"):
        tofino.examine(v1model)
    with pytest.raises(BadInput, match="does not compile"):
        tofino.examine(tmp_path / "nothing.p4")
    done = cli("check", "--arch", "tna", "nothing")
    assert (done.code, done.out) == (2, "")
    assert "unknown scheme for Tofino" in done.err
