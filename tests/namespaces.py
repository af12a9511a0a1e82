# SPDX-License-Identifier: MIT OR Apache-2.0
"""Network namespaces for tests.

A process holds each namespace, so it disappears with the test, however the test ends. With `ip netns` a namespace would
have to be removed explicitly; and `ip netns` can enter one only if `/` is a mount point, which it is not in a chroot.
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
        # The argument of `ip link ... netns`.
        self.pid = str(self._holder.pid)
        # The words before a command that runs in it.
        self.inside = ("nsenter", "--target", self.pid, "--net")

    def run(self, *command: str, text: str | None = None) -> str:
        """Run a command in it, with `text` as input, and return its output."""
        return commands.run(*self.inside, *command, text=text)

    def ip(self, *words: str) -> None:
        self.run("ip", *words)

    def without(self, interface: str, *offloads: str) -> None:
        """Switch off offloads of an interface."""
        self.run("ethtool", "-K", interface, *(word for name in offloads for word in (name, "off")))

    def python(self, code: str) -> subprocess.Popen[str]:
        """Run a Python program in it, and read its output."""
        return subprocess.Popen([*self.inside, sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    def remove(self) -> None:
        self._holder.communicate()  # the end of its input ends it
