"""What `fanlight dev`, `check` and `shot` share: servers named on a command line, source lines, prewarmed processes."""
