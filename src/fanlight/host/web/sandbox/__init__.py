"""What the sandbox host names serve: the proxy, the documents of Views with their headers, reports of browsers."""
