"""FuncBenchGen: hidden graphs of functions, made fresh (arXiv 2509.26553)."""

EXTRA = "m3"  # its functions behind an MCP server
