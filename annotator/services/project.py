"""Where the project lies: its demo, its pages, and the workspace that is used when none is named."""

from __future__ import annotations

from pathlib import Path

__all__ = ["project_root"]


def project_root() -> Path:
    """Return the folder that contains the package."""
    return Path(__file__).resolve().parents[2]
