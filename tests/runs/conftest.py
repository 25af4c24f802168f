"""Makes `mini` importable for the tests of this folder and their child processes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
