"""The rules of MCP Apps as data: what the standard asks of servers, Views and hosts, and how each rule is checked.

A rule is declared once, in the module of its section. `fanlight check` runs the functions of the rules for servers and
Views, `fanlight probe` tests the rules for hosts, and both report with the same ids, strengths and sentences.
"""
