"""For people who test apps: a stage with a real browser, a View in Python, pictures, and fixtures for pytest."""
