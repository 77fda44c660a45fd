"""Adapters for agent frameworks: one module each, imported only when it is used.

All are given a conversation (`host.conversation(...)`), and do the same: the model gets the tools of servers and open
Views, Views get the arguments while the model writes them, and what open Views want the model to know goes into the
next turn. No framework is a dependency of Fanlight.
"""
