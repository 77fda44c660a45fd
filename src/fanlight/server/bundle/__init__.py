"""Bundles a View into one HTML document, with every file that it refers to inlined. Needs no Node."""

from fanlight.server.bundle.document import Bundle, bundle_file, bundle_text

__all__ = ["Bundle", "bundle_file", "bundle_text"]
