"""Views in front ends that render MCP Apps themselves: serves their requests without a page of `<mcp-app>`."""
