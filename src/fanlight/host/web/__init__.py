"""The ASGI side of a host: origins, View documents, the socket of the page."""
