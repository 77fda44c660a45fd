"""`fanlight install`: adds a server to the configuration file of a host, and removes it."""
