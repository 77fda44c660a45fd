"""What a host stores: the `Store` protocol, its records, and SQLite."""
