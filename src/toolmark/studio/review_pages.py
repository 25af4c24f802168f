"""The pages of a review: our own markup around untrusted text, all of which is escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from toolmark.core import number_format
from toolmark.core.records import Task
from toolmark.core.svg import Markup
from toolmark.reports import html_report, table_format
from toolmark.studio import review_view

TEMPLATE_FOLDER = Path(__file__).parent
OPEN_STATUS = "open"  # of a question that is not answered


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


PAGE_STYLE = _read_text(html_report.TEMPLATE_FOLDER / "style.css") + _read_text(
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
        "plural": number_format.pluralize,
        "percent": number_format.format_percent,
        "share": number_format.format_share,
        "dash": number_format.DASH,
    }
    return environment


def render_page(name: str, **values: Any) -> str:
    """Return one page."""
    return _template_environment().get_template(name).render(**values)


def render_question(
    template: str,
    kind: str,
    task: Task,
    repeat: int,
    *,
    progress: tuple[int, int, int],
    note: str,
    **shown: Any,
) -> str:
    """Return the page of one episode, or pair of episodes, that a person judges.

    `kind` is what is judged, in words. `progress` holds the number of the page, how many pages have
    a judgement, and how many there are.
    """
    n, n_done, n_all = progress
    return render_page(
        template,
        title=f"{table_format.visible_text(task.id)} · {kind}",
        where=kind,
        n_done=n_done,
        n_all=n_all,
        n=n,
        task=task,
        repeat=repeat,
        said=review_view.question_view(task),
        note=note,
        **shown,
    )


def render_overview(
    *,
    title: str,
    folder: str,
    heading: str,
    lines: Sequence[str],
    entries: Sequence[tuple[str, str]],
    next_page: str,
    command: str = "",
    grids: Sequence[table_format.Grid] = (),
) -> str:
    """Return the overview of a review; `entries` are the labels and statuses of its questions."""
    return render_page(
        "end.html.j2",
        title=title,
        where=folder,
        n_done=sum(status != OPEN_STATUS for _, status in entries),
        n_all=len(entries),
        heading=heading,
        lines=lines,
        command=command,
        next=next_page,
        grids=grids,
        listed=[(n, *entry) for n, entry in enumerate(entries, 1)],
    )
