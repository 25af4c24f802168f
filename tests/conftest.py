"""Property tests draw anew on a developer's machine, and the same examples in CI."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if "CI" in os.environ:
    settings.load_profile("ci")
