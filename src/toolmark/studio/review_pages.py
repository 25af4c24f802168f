"""The pages of a review: our own markup around untrusted text, all of which is escaped."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from toolmark.core import number_format
from toolmark.core.svg import Markup
from toolmark.reports import html_report as report
from toolmark.reports import table_format

TEMPLATE_FOLDER = Path(__file__).parent


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


PAGE_STYLE = _read_text(report.TEMPLATE_FOLDER / "style.css") + _read_text(
    TEMPLATE_FOLDER / "review.css"
)
PAGE_SCRIPT = _read_text(TEMPLATE_FOLDER / "review.js")


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src '{_csp_hash(PAGE_SCRIPT)}'",
        f"style-src '{_csp_hash(PAGE_STYLE)}'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)


@cache
def _template_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["visible"] = table_format.visible_text
    environment.globals |= {
        "style": Markup(PAGE_STYLE),
        "script": Markup(PAGE_SCRIPT),
        "count": number_format.format_count,
        "plural": table_format.pluralize,
        "percent": number_format.format_percent,
        "share": number_format.format_share,
        "dash": number_format.DASH,
    }
    return environment


def render_page(name: str, **values: Any) -> str:
    """Return one page."""
    return _template_environment().get_template(name).render(**values)
