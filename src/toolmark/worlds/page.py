"""A page of HTML as a model reads it: Markdown, or the bare text."""

from __future__ import annotations

import re
import warnings

from bs4 import BeautifulSoup
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

_HIDDEN = ("script", "style")


def markdown(html: str) -> str:
    """Return the page as Markdown. Raises ValueError for HTML beyond reading, as do the others."""
    soup = _soup(html)
    try:
        text = str(MarkdownConverter(heading_style="ATX").convert_soup(soup))
    except RecursionError:
        raise ValueError("the page is damaged beyond reading") from None
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def bare(html: str) -> str:
    """Return the text of the page, a line per piece."""
    return str(_soup(html).get_text(separator="\n", strip=True))


def title(html: str) -> str:
    """Return the page's title, or its first heading, "" without either."""
    soup = _soup(html)
    found = soup.title or soup.find("h1")
    return str(found.get_text(" ", strip=True)) if found else ""


def _ended(html: str) -> str:
    """Write tags and comments that never end as the text that they are taken for.

    The parser looks for the end of each to the page's end, which takes the square of its length.
    """
    comment = html.rfind("-->") + 1
    html = html[:comment] + html[comment:].replace("<!--", "&lt;!--")
    tag = html.rfind(">") + 1
    return html[:tag] + html[tag:].replace("<", "&lt;")


def _soup(html: str) -> BeautifulSoup:
    try:
        with warnings.catch_warnings():  # it wonders at XML, and at text that is an address
            warnings.simplefilter("ignore")
            soup = BeautifulSoup(_ended(html), "html.parser")
    except (ParserRejectedMarkup, RecursionError):
        raise ValueError("the page is damaged beyond reading") from None
    for tag in soup(list(_HIDDEN)):
        tag.extract()
    return soup
