"""HTML pages converted to what a model reads: Markdown or plain text.

All functions raise ValueError for HTML that cannot be parsed.
"""

from __future__ import annotations

import re
import warnings

from bs4 import BeautifulSoup
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

_HIDDEN_TAGS = ("script", "style")


def html_to_markdown(html: str) -> str:
    """Return the page as Markdown. Raises ValueError for HTML that cannot be parsed."""
    soup = _parse_html(html)
    try:
        text = str(MarkdownConverter(heading_style="ATX").convert_soup(soup))
    except RecursionError:
        raise ValueError("the page is damaged beyond reading") from None
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def html_to_text(html: str) -> str:
    """Return the text of the page, one line per text element."""
    return str(_parse_html(html).get_text(separator="\n", strip=True))


def html_title(html: str) -> str:
    """Return the page's title or else its first level-1 heading, "" without either."""
    soup = _parse_html(html)
    found = soup.title or soup.find("h1")
    return str(found.get_text(" ", strip=True)) if found else ""


def _escape_unclosed_tags(html: str) -> str:
    """Escape tags and comments that never end, which the parser takes for text.

    Otherwise the parser searches the rest of the page for the end of each, in quadratic time.
    """
    comment = html.rfind("-->") + 1
    html = html[:comment] + html[comment:].replace("<!--", "&lt;!--")
    tag = html.rfind(">") + 1
    return html[:tag] + html[tag:].replace("<", "&lt;")


def _parse_html(html: str) -> BeautifulSoup:
    try:
        with warnings.catch_warnings():  # it warns of XML, and of text that is an address
            warnings.simplefilter("ignore")
            soup = BeautifulSoup(_escape_unclosed_tags(html), "html.parser")
    except (ParserRejectedMarkup, RecursionError):
        raise ValueError("the page is damaged beyond reading") from None
    for tag in soup(list(_HIDDEN_TAGS)):
        tag.extract()
    return soup
