# SPDX-License-Identifier: MIT OR Apache-2.0
"""Network namespaces for tests.

A process holds each one, so it goes with the test, however that ends. `ip netns` would have to be told to remove it,
and enters one only where `/` is a mount point, which it is not in a chroot.
"""

from __future__ import annotations

import subprocess
import sys

from marklab.lab import commands


class Namespace:
    """A network namespace, which ends with the process that holds it."""

    def __init__(self) -> None:
        held = ["unshare", "--net", "sh", "-c", "echo made; exec cat"]
        self._holder = subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "made\n"
        # What `ip link ... netns` takes.
        self.pid = str(self._holder.pid)
        # What a command begins with to run in it.
        self.inside = ("nsenter", "--target", self.pid, "--net")

    def run(self, *command: str, text: str | None = None) -> str:
        """What a command printed that ran in it, given `text` to read."""
        return commands.run(*self.inside, *command, text=text)

    def ip(self, *words: str) -> None:
        self.run("ip", *words)

    def without(self, interface: str, *offloads: str) -> None:
        """Switch offloads of an interface off."""
        self.run("ethtool", "-K", interface, *(word for name in offloads for word in (name, "off")))

    def python(self, code: str) -> subprocess.Popen[str]:
        """A program that runs in it, and what it prints."""
        return subprocess.Popen([*self.inside, sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    def remove(self) -> None:
        self._holder.communicate()  # the end of its input ends it
