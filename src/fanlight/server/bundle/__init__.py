"""Makes a View one HTML document: everything that it refers to is inlined, with no Node."""

from fanlight.server.bundle.document import Bundle, bundle_file, bundle_text

__all__ = ["Bundle", "bundle_file", "bundle_text"]
