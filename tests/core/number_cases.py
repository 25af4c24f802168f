"""Numbers and how they are written, for the tests of Python's formatter and of the page's."""

from __future__ import annotations

COUNTS = {
    0: "0", 7: "7", 999: "999", 1_000: "1\u202f000", 12_345: "12\u202f345",
    999_999: "999\u202f999", 1_000_000: "1\u202f000\u202f000",
    1_234_567_890: "1\u202f234\u202f567\u202f890",
}  # fmt: skip
