"""The command line: words in, `api`, text out.

The modules of commands import what does the work inside their functions, so that `--help` loads
nothing of it.
"""
