"""Which flows there are: sizes, round-trip times and arrivals, or a list of flows."""
