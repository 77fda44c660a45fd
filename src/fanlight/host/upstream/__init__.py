"""Connections to MCP servers: configuration, transports, requests, notifications."""
