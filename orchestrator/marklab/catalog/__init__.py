"""The schemes: P4 programs, and YAML files beside them that name parameters, units, rules and table entries."""
