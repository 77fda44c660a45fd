"""`fanlight build`: writes the document of a View to one file, and reports what is in it."""
