# SPDX-License-Identifier: MIT OR Apache-2.0
"""BMv2 as a switch of the lab.

`switch` starts simple_switch_grpc and programs it, `network` joins it to its lines, `thrift` sets its queues, `limits`
says what it cannot do. Never decides what a scheme does.
"""
