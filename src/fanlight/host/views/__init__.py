"""Live Views: sessions, the requests that Views make, the registry, and the channel to the page."""
