"""Sphinx settings of the documentation site: `make docs` builds it; a warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sphinx.application import Sphinx

from generated_pages import insert_generated_parts
from toolmark import __version__

project = "toolmark"
author = "The toolmark developers"
release = __version__
html_title = "toolmark"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
# docstrings write code in single backticks, as the Markdown pages do
default_role = "code"

# `#heading` is checked in links, so headings need anchors
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# a block without a language, such as a printed result, is no Python
highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {"index": []}
html_theme_options = {
    "logo": {"text": "toolmark"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
copyright = "the toolmark developers; Apache-2.0"


def setup(app: Sphinx) -> None:
    """Register what fills the generated parts of pages."""
    app.connect("source-read", insert_generated_parts)
