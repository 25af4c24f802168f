"""Compare golden cases with their records, in this process and in this order, up to a difference.

    python -m tests.golden.mutants_check CASE=SECONDS...

Each case's name is printed before it runs, then what differs. Exit 1 where anything differs,
accepted or not. A case that takes more CPU time than its seconds ends the process by SIGPROF.
"""

from __future__ import annotations

import signal
import sys

from tests.golden import checking, recording

CASE = "case "

if __name__ == "__main__":
    for word in sys.argv[1:]:
        name, limit_s = word.split("=")
        print(f"{CASE}{name}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, float(limit_s))
        differing, _ = checking.compare(name, recording.record(recording.load(name)))
        if differing:
            print(*checking.shown(differing), sep="\n")
            sys.exit(1)
