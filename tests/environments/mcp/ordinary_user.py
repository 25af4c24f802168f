"""Run by an ordinary user: forks in a sandbox as often as it can, and says how often that was."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from toolmark.environments.mcp import sandbox, sandbox_limits

_CODE = """
import json, os, socket, time
n = 0
try:
    for n in range(500):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
except OSError:
    pass
def tells(act):
    try:
        act()
        return True
    except OSError:
        return False
print(json.dumps({
    "forked": n, "uid": os.getuid(), "read": tells(lambda: open("/etc/shadow")) or
    tells(lambda: os.listdir("/var")),
    "network": tells(lambda: socket.create_connection(("127.0.0.1", 22), 1)),
}), flush=True)
time.sleep(60)
"""


async def main() -> None:
    sandbox.require_sandbox()
    assert sandbox_limits.process_bound() in ("groups", "sandbox") and os.geteuid()
    # the watch would end it as it passes 64: here it is the kernel that has to stop it
    bounds = sandbox_limits.ServerLimits(processes=64)
    sandbox_limits.TICK_S = 60.0
    box = sandbox.SandboxSpec(sandbox.system_mounts(), limits=bounds)
    pipe = asyncio.subprocess.PIPE
    argv = ("/usr/bin/python3", "-c", _CODE)
    async with sandbox.open_sandboxed(argv, {"PATH": sandbox.SANDBOX_PATH}, box, stdout=pipe) as (
        process,
        collected,
    ):
        assert collected is not None and process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 60)
    await process.wait()
    sys.stdout.write(line.decode())
    json.loads(line)


asyncio.run(main())
