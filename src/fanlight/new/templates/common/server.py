"""Run the server from a checkout. Installed, it is the command `my-app`."""

from my_app.server import main, server

__all__ = ["main", "server"]

if __name__ == "__main__":
    main()
