"""The model's tool calls: the list of tools, one call, and the runner behind it."""
