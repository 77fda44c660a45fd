"""For authors of MCP servers: link tools to Views, bundle Views, negotiate MCP Apps."""
