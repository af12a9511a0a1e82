#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Settings of TCP are set below /proc/sys, each in the namespace of its host; Docker mounts it read-only.
mount -o remount,rw /proc/sys 2>/dev/null || true
exec "$@"
