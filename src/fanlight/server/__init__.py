"""For people who write MCP servers: link tools to Views, bundle a View, negotiate."""
