"""The same tool, as an author writes it with Fanlight and with Prefab."""
