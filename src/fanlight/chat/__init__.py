"""`fanlight chat`: a chat with a model, the tools of MCP servers, and their Views, in one command."""
