"""The messages and rules of SEP-1865. Pure: no I/O, no clock, no logging."""
