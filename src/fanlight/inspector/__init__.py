"""`fanlight dev`: the host that a developer looks at, built on `fanlight.host` and therefore as strict."""
