"""Views that come with Fanlight, for what a tool returns. `Apps.show` uses them."""

from typing import TYPE_CHECKING

from fanlight.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from fanlight.show.arrangement import Columns as Columns
    from fanlight.show.arrangement import Markdown as Markdown
    from fanlight.show.arrangement import Metric as Metric
    from fanlight.show.arrangement import Tabs as Tabs
    from fanlight.show.files.download import Download as Download
    from fanlight.show.files.limits import FileLimits as FileLimits
    from fanlight.show.files.storage import UploadStorage as UploadStorage
    from fanlight.show.files.uploaded_file import UploadedFile as UploadedFile
    from fanlight.show.forms.field_error import FieldError as FieldError
    from fanlight.show.kept import Keep as Keep
    from fanlight.show.templates.pages import Pages as Pages
    from fanlight.show.templates.pages import Refresh as Refresh

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "arrangement": ["Columns", "Markdown", "Metric", "Tabs"],
        "files.download": ["Download"],
        "files.limits": ["FileLimits"],
        "files.storage": ["UploadStorage"],
        "files.uploaded_file": ["UploadedFile"],
        "forms.field_error": ["FieldError"],
        "kept": ["Keep"],
        "templates.pages": ["Pages", "Refresh"],
    },
)
