"""The documents of Views: a tool's link to one, reading it from its server, and validating its metadata."""
