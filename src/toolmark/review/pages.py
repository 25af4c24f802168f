"""The pages: our own markup around foreign text, all of which is escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from toolmark.report import page as report
from toolmark.report import tables
from toolmark.stats import figures
from toolmark.svg import Markup

FOLDER = Path(__file__).parent


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


STYLE = _read(report.FOLDER / "style.css") + _read(FOLDER / "review.css")
SCRIPT = _read(FOLDER / "review.js")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src '{_hash(SCRIPT)}'",
        f"style-src '{_hash(STYLE)}'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["visible"] = tables.visible
    made.globals |= {
        "style": Markup(STYLE),
        "script": Markup(SCRIPT),
        "count": figures.count,
        "plural": tables.plural,
        "percent": figures.percent,
        "share": figures.share,
        "dash": figures.DASH,
    }
    return made


def render(name: str, **values: Any) -> str:
    """Return one page."""
    return _environment().get_template(name).render(**values)
