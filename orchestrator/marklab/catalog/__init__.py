# SPDX-License-Identifier: MIT OR Apache-2.0
"""The schemes: P4 programs, and YAML files beside them that name parameters, units, rules and table entries.

`description` is such a file, `scheme` finds it and its program, `choice` reads `NAME:key=value`, `parameters` and
`expressions` compute the values of parameters in a run, `twin` finds the program for Tofino, `controller` is the choice
of a control loop. Uses `devices` and
`traffic`. Never contains the behaviour of a scheme, which is in P4.
"""
