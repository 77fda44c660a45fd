"""How messages get to an MCP server and back: processes, HTTP, the client of the SDK, what is malformed."""
