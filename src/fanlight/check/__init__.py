"""The standard as a program: rules for servers, Views and hosts."""
