"""`m3-local`: multimodal, multi-hop tasks on real MCP servers without keys or network."""
