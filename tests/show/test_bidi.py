"""Values of templates that change the direction of text: where they are isolated, and what stays as it is."""

from pathlib import Path

import pytest

from fanlight.show.templates.bidi import isolate
from fanlight.show.templates.environment import Templates

RLO, LRI, FSI, PDI = "\u202e", "\u2066", "\u2068", "\u2069"


def rendered(folder: Path, template: str, name: str = "page.html", **values: object) -> str:
    (folder / name).write_text(template, encoding="utf-8")
    return Templates(folder).render(name, values)


@pytest.mark.parametrize(
    ("value", "isolated"),
    [
        (f"{RLO}Eve", f"{FSI}{RLO}Eve{PDI}"),
        (f"{PDI}{RLO}Eve", f"{FSI}{RLO}Eve{PDI}"),
        (f"{LRI}Eve", f"{FSI}{LRI}Eve{PDI}{PDI}"),
        (f"{LRI}E{PDI}ve{PDI}", f"{FSI}{LRI}E{PDI}ve{PDI}"),
        (f"one\n{RLO}two", f"one\n{FSI}{RLO}two{PDI}"),
        (f"\ufdd0E\ufdd1{RLO}ve\ufdd1", f"{FSI}E{RLO}ve{PDI}"),
        ("עדה", "עדה"),
    ],
    ids=["override", "ends its isolate", "opens one", "closed", "second line", "marks of ours", "no controls"],
)
def test_a_value_cannot_change_the_direction_of_what_follows_it(tmp_path: Path, value: str, isolated: str) -> None:
    assert rendered(tmp_path, "<p>{{ who }} pays</p>", who=value) == f"<p>{isolated} pays</p>"


@pytest.mark.parametrize(
    "template",
    [
        '<input value="{{ who }}">',
        "<a data-x='<{{ who }}>' href=\"/{{ who }}\">x</a>",
        "<textarea>{{ who }}</textarea>",
        "<select><option>{{ who }}</option></select>",
        "<script>{{ who }}</script><style>{{ who }}</style><title>{{ who }}</title><!-- {{ who }} -->",
    ],
)
def test_attributes_and_fields_keep_the_value(tmp_path: Path, template: str) -> None:
    value = f"{RLO}Eve"
    assert rendered(tmp_path, template, who=value) == template.replace("{{ who }}", value)


def test_html_that_a_macro_made_is_isolated_once(tmp_path: Path) -> None:
    template = "{% macro bold(text) %}<b>{{ text }}</b>{% endmacro %}{{ bold(who) }} {{ bold(bold(who)) }}"
    bold = f"<b>{FSI}{RLO}&lt;Eve{PDI}</b>"
    assert rendered(tmp_path, template, who=f"{RLO}<Eve") == f"{bold} <b>{bold}</b>"


def test_text_for_the_model_stays_as_it_is(tmp_path: Path) -> None:
    assert rendered(tmp_path, "{{ who }} pays", "page.txt", who=f"{RLO}Eve") == f"{RLO}Eve pays"


def test_no_mark_is_left_where_html_is_cut() -> None:
    assert isolate(f"\ufdd0{RLO}Eve") == f"{RLO}Eve"
