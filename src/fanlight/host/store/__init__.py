"""What a host remembers: the `Store` protocol, its records, and SQLite."""
