"""`fanlight new`: writes a project with a server, a View, tests and packaging, from one of several templates."""
