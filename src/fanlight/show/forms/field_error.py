"""`FieldError`: what a function raises if one field of its form is wrong."""

from fanlight.protocol.errors import RefusedError


class FieldError(RefusedError, ValueError):
    """Raise it in the function of a form to show a message at one of its fields. Also a ValueError.

    Args:
        field: The name of the field. Names of nested fields are joined with dots, and items of lists are counted
            from 0: `"address.city"`, `"lines.0.pieces"`.
        message: The sentence that the user reads.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
