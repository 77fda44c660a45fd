"""Files that users upload to a server and download from it, in parts that fit through every transport."""
