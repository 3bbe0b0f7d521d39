"""Flexus' setup schema: what it may say, and a user's values merged with its defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import CountersignError

NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{1,39}")
TYPES: dict[str, tuple[type, ...]] = {
    "string_short": (str,),
    "string_long": (str,),
    "string_multiline": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "list_dict": (list,),
}
OPTIONAL: dict[str, type] = {
    "bs_description": str,
    "bs_placeholder": str,
    "bs_order": int,
    "bs_importance": int,
}
TRUE = frozenset({"true", "1", "yes", "on"})


class SetupSchemaError(CountersignError):
    """A fault of a setup schema. `path` is a JSON pointer to it, such as `/2/bs_default`."""

    code = "setup_schema"

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


def setup_entries(schema: list[Any] | dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a schema that is a list, or a map by name, checked. Raises `SetupSchemaError`."""
    return _entries(schema, "", inner=False)


def merge_setup(schema: list[Any] | dict[str, Any], user: Mapping[str, Any] | None) -> dict[str, Any]:
    """Each key's value: the user's unless absent or null, else the default, cast to the key's type.

    Raises `SetupSchemaError`, also for a user's value that cannot be cast (`path` is `/KEY`).
    """
    given = user or {}
    merged: dict[str, Any] = {}
    for entry in setup_entries(schema):
        name, value = entry["bs_name"], given.get(entry["bs_name"])
        try:
            merged[name] = _cast(entry["bs_type"], entry["bs_default"] if value is None else value)
        except (TypeError, ValueError, OverflowError) as error:
            raise SetupSchemaError(f"the value of {name} is no {entry['bs_type']}", f"/{name}") from error
    return merged


def _entries(schema: Any, path: str, *, inner: bool) -> list[dict[str, Any]]:
    if isinstance(schema, dict) and not inner:
        found: list[dict[str, Any]] = []
        for name, entry in schema.items():
            at = f"{path}/{str(name).replace('~', '~0').replace('/', '~1')}"
            if not isinstance(entry, dict):
                raise SetupSchemaError("an entry is an object", at)
            if entry.get("bs_name", name) != name:
                raise SetupSchemaError("bs_name differs from the name in the map", f"{at}/bs_name")
            found.append(_entry({"bs_group": "General", **entry, "bs_name": name}, at, inner=False))
        return found
    if not isinstance(schema, list):
        raise SetupSchemaError("a setup schema is a list of entries, or a map by name", path)
    found = [_entry(entry, f"{path}/{number}", inner=inner) for number, entry in enumerate(schema)]
    names: set[str] = set()
    for number, entry in enumerate(found):
        if entry["bs_name"] in names:
            raise SetupSchemaError("two entries have this name", f"{path}/{number}/bs_name")
        names.add(entry["bs_name"])
    return found


def _entry(entry: Any, path: str, *, inner: bool) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise SetupSchemaError("an entry is an object", path)
    required = ("bs_name", "bs_type") if inner else ("bs_name", "bs_type", "bs_default", "bs_group")
    for key in required:
        if key not in entry:
            raise SetupSchemaError(f"{key} is missing", f"{path}/{key}")
    name, kind = entry["bs_name"], entry["bs_type"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise SetupSchemaError("a name is a letter and 1 to 39 letters, digits or _", f"{path}/bs_name")
    if not isinstance(kind, str) or kind not in TYPES or (inner and kind == "list_dict"):
        raise SetupSchemaError("unknown type, or a list_dict within bs_elements", f"{path}/bs_type")
    for key, value in entry.items():
        at = f"{path}/{key}"
        if key in OPTIONAL and not _is(value, (OPTIONAL[key],)):
            raise SetupSchemaError(f"{key} has the wrong type", at)
        if key == "bs_elements" and kind == "list_dict":
            _entries(value, at, inner=True)
        elif key not in required and key not in OPTIONAL:
            raise SetupSchemaError(f"{key} is not a field of such an entry", at)
    if not inner:
        if not isinstance(entry["bs_group"], str):
            raise SetupSchemaError("bs_group is a text", f"{path}/bs_group")
        if not _is(entry["bs_default"], TYPES[kind]):
            raise SetupSchemaError(f"the default is no {kind}", f"{path}/bs_default")
    return dict(entry)


def _is(value: Any, types: tuple[type, ...]) -> bool:
    # In Python a bool is an int.
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def _cast(kind: str, value: Any) -> Any:
    if kind == "list_dict":
        return value if isinstance(value, list) else []
    if kind == "bool":
        # bool("false") would be True.
        return value.strip().lower() in TRUE if isinstance(value, str) else bool(value)
    return {"int": int, "float": float}.get(kind, str)(value)
