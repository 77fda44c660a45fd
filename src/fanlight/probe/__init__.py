"""A server whose View tests the host that shows it."""
