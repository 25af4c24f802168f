"""Tool docs as text, in the forms that a prompt can show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from toolmark.formats.render import python_docs, xml_docs

ToolDocs: TypeAlias = Sequence[dict[str, Any]]
ToolDocForm: TypeAlias = Literal["python", "xml", "json"]


def render_docs(docs: ToolDocs, form: ToolDocForm) -> str:
    """Write the docs in the named form."""
    match form:
        case "json":
            return json.dumps(list(docs), indent=4)
        case "xml":
            return xml_docs.render_xml_docs(docs)
        case "python":
            return python_docs.render_python_docs(docs)
