# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which controller a run has, as users write it: `follow-rtt`, or `FILE.py:period=1ms,delay=50us`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, model_validator

from marklab.errors import BadInput, unknown
from marklab.model import Model, Time, short_form
from marklab.paths import CONTROLLERS
from marklab.units import ShortForm

_WRITTEN = {"type": "string", "examples": ["follow-rtt", "follow-rtt:period=1ms,delay=50us", "mine.py"]}
_SUFFIX = ".py"


def known_controllers() -> list[str]:
    """Names of the controllers that the lab has."""
    return sorted(path.stem.replace("_", "-") for path in CONTROLLERS.glob(f"*{_SUFFIX}"))


class ControllerChoice(Model):
    """A controller: one of the lab's by its name, or a file of Python. The digest shows whether it has changed.

    `period` and `delay` replace the controller's own; `settings` are others of its attributes, as text.
    """

    model_config = ConfigDict(json_schema_extra=short_form(_WRITTEN, required=["path"]))

    path: str
    sha256: str
    period_ns: Time | None = Field(default=None, alias="period", gt=0)
    delay_ns: Time | None = Field(default=None, alias="delay", ge=0)
    settings: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _with_digest(cls, value: Any) -> Any:
        if not isinstance(value, (str, dict)):
            return value
        given = _mapping(value) if isinstance(value, str) else dict(value)
        name = str(given.get("path"))
        path = _file(name)
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise BadInput(f"cannot read the controller {path}: {error.strerror}") from error
        if given.get("sha256", digest) != digest:
            raise BadInput(f"the controller {path} has changed since this description was written")
        settings = {key: str(each) for key, each in dict(given.get("settings") or {}).items()}
        return given | {"path": str(path) if name.endswith(_SUFFIX) else name, "sha256": digest, "settings": settings}

    @property
    def file(self) -> Path:
        """The file that has it."""
        return _file(self.path)

    @property
    def is_known(self) -> bool:
        """Whether it is one of the lab's."""
        return not self.path.endswith(_SUFFIX)

    def identity(self) -> dict[str, Any]:
        """What decides its results: all but the place of the file."""
        return self.model_dump(mode="json", exclude={"path"}, exclude_none=True)

    def __str__(self) -> str:
        return Path(self.path).stem


def _mapping(text: str) -> dict[str, Any]:
    name, settings = ShortForm.settings_of(text)
    times: dict[str, Any] = {key: settings.pop(key) for key in ("period", "delay") if key in settings}
    return {"path": name, "settings": settings, **times}


def _file(name: str) -> Path:
    if name.endswith(_SUFFIX):
        return Path(name).resolve()
    if name not in known_controllers():
        raise unknown("controller", name, (*known_controllers(), "FILE.py"))
    return CONTROLLERS / f"{name.replace('-', '_')}{_SUFFIX}"
