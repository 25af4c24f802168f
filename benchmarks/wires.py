"""What a tool-calling sample costs on each wire, whole and streamed, in CPU time of the client.

    python benchmarks/wires.py [ROUNDS]

A sample is two requests of a whole run, as in `throughput.py`. The server answers with the same two
replies in the form of each wire, without and with thoughts. Each kind runs in a process of its own,
all kinds in turn in each round. The ratios are medians over the rounds: each other wire to chat,
and streamed to whole. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal, TypeAlias

import uvloop

Wire: TypeAlias = Literal["chat", "responses", "anthropic", "gemini"]
HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
WIRES: tuple[Wire, ...] = ("chat", "responses", "anthropic", "gemini")
CONNECTIONS = 16
N_SAMPLES = 2000
MAX_TO_CHAT, MAX_STREAMED = 1.3, 2.0
Kind: TypeAlias = tuple[Wire, str, str]
"""Wire, model, `whole` or `streamed`."""
KINDS: list[Kind] = [
    (wire, model, how)
    for model in ("fake", "thinker")
    for wire in WIRES
    for how in ("whole", "streamed")
]


async def play(url: str, kind: Kind, n: int) -> None:
    """Make a whole run, and check that it ran."""
    from benchmarks import throughput

    from toolmark.api import arun

    wire, model, how = kind
    with tempfile.TemporaryDirectory() as folder:
        run = await arun(
            throughput.make_suite(n), f"{url}#{model}", log_dir=folder, wire=wire,
            stream=how == "streamed", max_connections=CONNECTIONS, floors="off",
        )  # fmt: skip
        assert len(run.completed_episodes()) == n


def client(url: str, kind: Kind, n: int) -> None:
    """Measure one kind in this process; writes the CPU seconds of a sample."""
    uvloop.run(play(url, kind, CONNECTIONS))  # imports do not count
    cpu_s = time.process_time()
    uvloop.run(play(url, kind, n))
    print(json.dumps((time.process_time() - cpu_s) / n))


def measure(rounds: int, n: int) -> dict[Kind, list[float]]:
    """Return the CPU seconds of a sample, of each kind in each round."""
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py", "wires"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    found: dict[Kind, list[float]] = {kind: [] for kind in KINDS}
    try:
        for number in range(rounds):
            for kind in KINDS if number % 2 == 0 else reversed(KINDS):
                command = [sys.executable, __file__, "--client", url, *kind, str(n)]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                found[kind].append(json.loads(done.stdout.splitlines()[-1]))
    finally:
        server.communicate()
    return found


def median_ratio(costs: list[float], others: list[float]) -> float:
    """Return the median of the ratios within the rounds."""
    return statistics.median(one / other for one, other in zip(costs, others, strict=True))


def main(rounds: int) -> int:
    """Print the table; return 1 if a bar is missed."""
    found = measure(rounds, N_SAMPLES)
    n_missed = 0
    print(
        f"{'model':<9}{'wire':<11}{'whole us':>9}{'to chat':>9}{'streamed us':>13}{'to whole':>10}"
    )
    for model in ("fake", "thinker"):
        for wire in WIRES:
            whole, streamed = (found[wire, model, how] for how in ("whole", "streamed"))
            to_chat = median_ratio(whole, found["chat", model, "whole"])
            to_whole = median_ratio(streamed, whole)
            n_missed += (to_chat > MAX_TO_CHAT) + (to_whole > MAX_STREAMED)
            us = [1e6 * statistics.median(costs) for costs in (whole, streamed)]
            print(
                f"{model:<9}{wire:<11}{us[0]:>9.0f}{to_chat:>9.2f}{us[1]:>13.0f}{to_whole:>10.2f}"
            )
    bars = f"other wires at most {MAX_TO_CHAT} of chat, streamed at most {MAX_STREAMED} of whole"
    print(f"{bars}: {n_missed or 'none'} missed")
    return int(n_missed > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        _, _, url, given, model, how, n = sys.argv
        client(url, (next(each for each in WIRES if each == given), model, how), int(n))
    else:
        sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 10))
