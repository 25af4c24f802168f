"""M3-Bench: multimodal, multi-hop, multi-threaded tool use over MCP servers (arXiv 2511.17729)."""

EXTRA = "m3"
