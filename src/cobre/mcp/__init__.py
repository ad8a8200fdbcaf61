"""The product as tools, resources and prompts for agents that speak the Model Context Protocol (MCP).

`cobre.mcp.main.serve` is what ``cobre mcp`` calls. Tools ask `cobre.study`; nothing is computed here. Nothing heavy is
imported before a tool needs it: a server that waits takes little memory.
"""
