"""What passes between the workers of a host: messages, leases, and requests to the worker that has a View."""
