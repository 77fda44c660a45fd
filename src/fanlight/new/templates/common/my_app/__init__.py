"""My app, an MCP server with a View."""
