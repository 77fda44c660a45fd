"""With which credentials the connections of a user are opened: those of the program, or OAuth sign-ins."""
