"""Every scheme or task on offer, the broken ones with their reason."""

from __future__ import annotations

from posexp.loading import one_line
from posexp.registry import PluginError, Registry

HEADINGS = ("distribution", "version", "status")


def listing(registry: Registry) -> str:
    """The table: every plugin is loaded, so that a broken one shows before it is needed.

    Each has one line; a name that several distributions offer has one for each of them.
    """
    rows = [(registry.kind.word, *HEADINGS)]
    for name in registry.names:
        status = _status(registry, name)
        origins = sorted(registry.origins(name), key=str)
        rows += [(name, o.distribution, o.version, status) for o in origins]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines + _presets_left_out(registry))


def _status(registry: Registry, name: str) -> str:
    try:
        registry.get(name)
    except PluginError as error:
        return f"broken: {one_line(error)}"
    return "usable"


def _presets_left_out(registry: Registry) -> list[str]:
    faults = [fault for _, fault in registry.config_dirs() if isinstance(fault, PluginError)]
    return [f"note: {one_line(fault)}" for fault in faults]
