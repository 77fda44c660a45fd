"""The page protocol: frames between a session and the page that shows its View, and what carries them."""
