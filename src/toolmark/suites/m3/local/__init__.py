"""`m3-local`: multimodal, multi-hop tasks on real MCP servers that need no key and no network."""
