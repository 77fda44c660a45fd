"""`Apps.form` on both kinds of servers: what opens a form, what submits it, and clients that show no Views."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import anyio
import pandas as pd
import pytest
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from pydantic import AwareDatetime, BaseModel, Field, SecretStr, TypeAdapter, ValidationError, field_validator
from typing_extensions import TypedDict

from fanlight import Apps, ArgumentError, RegistrationError, show
from fanlight.server.negotiation import lowlevel
from fanlight.show.forms.forms import SUBMIT_TOOL
from fanlight.show.forms.json_schema import FormJsonSchema, form_path
from fanlight.show.forms.reasons import reason_of
from fanlight.show.forms.submissions import MOST, SECONDS, Submissions
from support.shop import HIGH_LEVEL, Kind
from support.wire import NO_UI, UI, VERSIONS, in_memory

pytestmark = pytest.mark.anyio

kinds = pytest.mark.parametrize("kind", HIGH_LEVEL)
eras = pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "forms" / "reasons.json").read_text(encoding="utf-8"))


class Address(BaseModel):
    street: str = Field(min_length=3)
    city: str

    @field_validator("city")
    @classmethod
    def known(cls, city: str) -> str:
        if city == "Atlantis":
            raise ValueError("That city is under water.")
        return city


class Card(BaseModel):
    kind: Literal["card"] = "card"
    number: SecretStr


class Invoice(BaseModel):
    kind: Literal["invoice"] = "invoice"
    reference: str = Field(max_length=5)


class Line(BaseModel):
    sku: str
    pieces: int = Field(1, ge=1)


class Speed(Enum):
    SLOW = "slow"
    FAST = "fast"


class Order(BaseModel):
    day: date
    address: Address
    lines: list[Line] = Field(min_length=1)
    payment: Card | Invoice = Field(discriminator="kind")
    speed: Speed = Speed.SLOW
    tip: Decimal = Field(Decimal("0.5"), ge=0, decimal_places=2)
    pin: SecretStr | None = None


class Confirmation(BaseModel):
    number: int
    city: str


GOOD: dict[str, Any] = {
    "day": "2026-12-01",
    "address": {"street": "Main", "city": "Rome"},
    "lines": [{"sku": "a", "pieces": 2}],
    "payment": {"kind": "card", "number": "4111-secret"},
    "pin": "hunter2",
}


def make(kind: Kind = "MCPServer", **options: Any) -> tuple[Any, Apps]:
    server: Any = MCPServer("shop") if kind == "MCPServer" else FastMCP("shop")
    return server, Apps(server, **options)


def with_booking(kind: Kind = "MCPServer", runs: list[Order] | None = None, **options: Any) -> Any:
    server, apps = make(kind)

    @apps.form(**options)
    def book(order: Order) -> Confirmation:
        "Book a delivery."
        if runs is not None:
            runs.append(order)
        if order.address.city == "Paris":
            raise show.FieldError("address.city", "We do not deliver in Paris.")
        if order.address.city == "Lyon":
            raise ValueError("Nothing works today.")
        return Confirmation(number=7, city=order.address.city)

    return server


async def submitted(client: Any, form: str, values: dict[str, Any], **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = await client.call(SUBMIT_TOOL, form=form, values=values, **more)
    return result


def errors(result: dict[str, Any]) -> dict[str, str]:
    assert result["isError"]
    found = result["structuredContent"]["errors"]
    return {".".join(map(str, each["path"])): each.get("message") or each["reason"] for each in found}


@kinds
@eras
async def test_the_tool_takes_every_field_as_optional(kind: Kind, version: str) -> None:
    async with in_memory(with_booking(kind), version, UI) as client:
        tools = await client.tools()
    schema = tools["book"]["inputSchema"]
    assert list(schema["properties"]) == ["day", "address", "lines", "payment", "speed", "tip", "pin"]
    assert not schema.get("required")
    assert "required" not in schema["properties"]["address"]
    assert schema["properties"]["day"]["format"] == "date"
    assert schema["properties"]["speed"]["enum"] == ["slow", "fast"]
    assert schema["properties"]["tip"] == {**schema["properties"]["tip"], "type": "number", "default": 0.5}
    assert "$ref" not in json.dumps(schema)
    assert tools["book"]["description"] == "Book a delivery."
    assert tools["book"]["_meta"]["ui"]["resourceUri"] == "ui://shop/fanlight-form"
    assert tools[SUBMIT_TOOL]["_meta"]["ui"]["visibility"] == ["app"]


@kinds
@eras
async def test_the_form_opens_with_what_the_model_filled_in_and_its_errors(kind: Kind, version: str) -> None:
    runs: list[Order] = []
    async with in_memory(with_booking(kind, runs), version, UI) as client:
        result = await client.call(
            "book", day="soon", address={"city": "Atlantis"}, lines=[{"pieces": 0}], payment={"kind": "invoice"}
        )
    assert not result.get("isError")
    data = result["structuredContent"]
    assert (data["title"], data["tool"], data["item"]["kind"]) == ("Book", "book", "form")
    assert data["item"]["values"] == {
        "day": "soon",
        "address": {"city": "Atlantis"},
        "lines": [{"pieces": 0}],
        "payment": {"kind": "invoice"},
    }
    # What is missing is not wrong yet.
    assert data["item"]["errors"] == [
        {"path": ["day"], "reason": "is not a date"},
        {"path": ["address", "city"], "message": "That city is under water."},
        {"path": ["lines", 0, "pieces"], "reason": "must be at least 1"},
    ]
    assert 'The user sees the form "Book" now' in result["content"][0]["text"]
    assert runs == []


@kinds
async def test_values_of_any_type_are_accepted_and_texts_stay_texts(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.form()
    def note(text: str, count: int, flag: bool = False) -> str:
        return text

    async with in_memory(server, "2025-11-25", UI) as client:
        for values in ({"text": "[1]", "count": "many"}, {"text": "null", "flag": [1]}, {"count": {"a": None}}):
            result = await client.call("note", **values)
            assert result["structuredContent"]["item"]["values"] == values


@kinds
async def test_secrets_that_a_model_sends_are_not_echoed(kind: Kind) -> None:
    async with in_memory(with_booking(kind), "2025-11-25", UI) as client:
        schema = (await client.tools())["book"]["inputSchema"]["properties"]
        result = await client.call("book", pin="hunter2", payment={"kind": "card", "number": "4111-secret"})
    assert schema["pin"]["type"] == "null"
    assert "Only the user" in json.dumps(schema["payment"])
    assert "hunter2" not in json.dumps(result)
    assert "4111-secret" not in json.dumps(result)


async def test_fields_that_the_form_does_not_have_are_not_repeated_to_the_model() -> None:
    extra = {**GOOD, "smuggled": {"key": "text"}, "address": {**GOOD["address"], "smuggled": "text"}}
    async with in_memory(with_booking(), "2025-11-25", UI) as client:
        result = await submitted(client, "book", extra)
        unknown = await submitted(client, "other", {})
    assert not result.get("isError")
    assert "smuggled" not in json.dumps(result)
    assert unknown["isError"]
    assert unknown["content"][0]["text"] == "This server has no form 'other'. Open the form again."


@kinds
@eras
async def test_submitting_runs_the_function_and_tells_the_model_without_secrets(kind: Kind, version: str) -> None:
    runs: list[Order] = []
    async with in_memory(with_booking(kind, runs), version, UI) as client:
        result = await submitted(client, "book", GOOD)
    assert runs[0].payment == Card(number=SecretStr("4111-secret"))
    assert runs[0].day == date(2026, 12, 1)
    assert result["structuredContent"]["item"] == {"kind": "record", "rows": [["number", "7"], ["city", "Rome"]]}
    text = result["content"][0]["text"]
    assert text.startswith('The user submitted the form "Book" (book) with: {"day": "2026-12-01", "address": {')
    assert text.endswith("Result: number: 7\ncity: Rome")
    assert "secret" not in text
    assert "hunter2" not in text


@kinds
async def test_all_errors_come_in_one_round_trip_at_their_fields(kind: Kind) -> None:
    wrong = {
        "day": "2026-13-01",
        "address": {"street": "x", "city": "Atlantis"},
        "lines": [{"sku": "a"}, {"pieces": 0}],
        "payment": {"kind": "invoice", "reference": "123456"},
        "speed": "warp",
        "tip": "1.555",
    }
    async with in_memory(with_booking(kind), "2025-11-25", UI) as client:
        result = await submitted(client, "book", wrong)
        assert errors(result) == {
            "day": "is not a date",
            "address.street": "must have at least 3 characters",
            "address.city": "That city is under water.",
            "lines.1.sku": "is required",
            "lines.1.pieces": "must be at least 1",
            "payment.reference": "must have at most 5 characters",
            "speed": "must be one of the options",
            "tip": "must have at most 2 decimal places",
        }
        assert errors(await submitted(client, "book", {**GOOD, "payment": {"kind": "gold"}})) == {
            "payment": "must be one of the options"
        }


@kinds
async def test_errors_of_the_function_stand_at_the_field_that_they_name_or_at_the_top(kind: Kind) -> None:
    async with in_memory(with_booking(kind), "2025-11-25", UI) as client:
        at_field = await submitted(client, "book", {**GOOD, "address": {"street": "Main", "city": "Paris"}})
        at_top = await submitted(client, "book", {**GOOD, "address": {"street": "Main", "city": "Lyon"}})
    assert errors(at_field) == {"address.city": "We do not deliver in Paris."}
    assert errors(at_top) == {"": "Nothing works today."}


@pytest.mark.parametrize(
    ("field", "path", "message"),
    [
        ("lines.0.pieces", ["lines", 0, "pieces"], "no"),
        ("payment.reference", ["payment", "reference"], "no"),
        ("adress.city", [], "adress.city: no"),
        ("__proto__.x", [], "__proto__.x: no"),
    ],
)
async def test_a_field_error_that_names_no_field_is_shown_at_the_top(field: str, path: list[Any], message: str) -> None:
    server, apps = make()

    @apps.form()
    def book(order: Order) -> None:
        raise show.FieldError(field, "no")

    values = {**GOOD, "payment": {"kind": "invoice", "reference": "1"}}
    async with in_memory(server, "2025-11-25", UI) as client:
        result = await submitted(client, "book", values)
    assert result["structuredContent"]["errors"] == [{"path": path, "message": message}]


@kinds
async def test_another_exception_is_not_shown_to_the_user(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.form()
    def book(name: str) -> str:
        raise RuntimeError("password of the database")

    async with in_memory(server, "2025-11-25", UI) as client:
        result = await submitted(client, "book", {"name": "x"})
    assert result["isError"]
    if kind == "MCPServer":
        assert "password" not in json.dumps(result)


@kinds
async def test_plain_parameters_dataclasses_and_typed_dicts_are_fields(kind: Kind) -> None:
    @dataclass
    class Point:
        x: int
        y: int = 0

    class Options(TypedDict):
        loud: bool

    server, apps = make(kind)
    got: list[Any] = []

    @apps.form()
    def one(point: Point) -> str:
        got.append(point)
        return "one"

    @apps.form()
    async def two(options: Options) -> str:
        got.append(options)
        return "two"

    @apps.form("three", title="Three")
    def several(point: Point, copy: str, line: Line, on: Optional[date] = None) -> str:  # noqa: UP045
        got.append((point, copy, line, on))
        return "three"

    async with in_memory(server, "2025-11-25", UI) as client:
        tools = await client.tools()
        assert list(tools["one"]["inputSchema"]["properties"]) == ["x", "y"]
        assert list(tools["two"]["inputSchema"]["properties"]) == ["loud"]
        assert list(tools["three"]["inputSchema"]["properties"]) == ["point", "copy", "line", "on"]
        opened = await client.call("three", copy="c", line={"sku": "s"})
        assert opened["structuredContent"]["item"]["values"] == {"copy": "c", "line": {"sku": "s"}}
        await submitted(client, "one", {"x": 3})
        await submitted(client, "two", {"loud": True})
        values = {"point": {"x": 1}, "copy": "c", "line": {"sku": "s"}, "on": "2026-01-01"}
        result = await submitted(client, "three", values)
        assert result["structuredContent"]["item"] == {"kind": "text", "data": "three"}
    assert got == [Point(3), {"loud": True}, (Point(1), "c", Line(sku="s", pieces=1), date(2026, 1, 1))]


@kinds
async def test_names_that_python_does_not_allow_are_fields(kind: Kind) -> None:
    class Odd(BaseModel):
        postcode: str = Field(alias="post-code")
        klass: str = Field("a", alias="class")
        proto: str = Field("p", alias="__proto__")

    server, apps = make(kind)
    got: list[Odd] = []

    @apps.form()
    def odd(given: Odd) -> None:
        got.append(given)

    async with in_memory(server, "2025-11-25", UI) as client:
        properties = (await client.tools())["odd"]["inputSchema"]["properties"]
        assert set(properties) == {"post-code", "class", "__proto__"}
        values = {"post-code": "1", "class": "b", "__proto__": "q"}
        assert (await client.call("odd", **values))["structuredContent"]["item"]["values"] == values
        result = await submitted(client, "odd", values)
        assert result["content"][0]["text"].endswith("Result: done")
    assert (got[0].postcode, got[0].klass, got[0].proto) == ("1", "b", "q")


@kinds
async def test_the_function_gets_the_context_of_the_submission(kind: Kind) -> None:
    server, apps = make(kind)
    context: Any = Context if kind == "MCPServer" else FastContext

    def book(name: str, ctx: Any) -> str:
        return f"{name} {type(ctx).__module__} {ctx.request_id}"

    book.__annotations__["ctx"] = context
    apps.form()(book)
    async with in_memory(server, "2025-11-25", UI) as client:
        assert list((await client.tools())["book"]["inputSchema"]["properties"]) == ["name"]
        result = await submitted(client, "book", {"name": "x"})
    said = result["structuredContent"]["item"]["data"]
    assert said.startswith(f"x {context.__module__} ")


@kinds
async def test_what_can_be_shown_is_shown_after_submitting(kind: Kind) -> None:
    server, apps = make(kind)

    @apps.form()
    def frame(rows: int) -> pd.DataFrame:
        return pd.DataFrame({"n": range(rows)})

    @apps.form()
    def made(text: str) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=text == "bad")

    async with in_memory(server, "2025-11-25", UI) as client:
        tools = await client.tools()
        assert tools["frame"]["_meta"]["ui"]["resourceUri"] == "ui://shop/fanlight-form-show"
        item = (await submitted(client, "frame", {"rows": 200}))["structuredContent"]["item"]
        assert (item["kind"], item["total"], len(item["rows"])) == ("table", 200, 50)
        more = await client.call("fanlight_data", handle=item["handle"], start=50)
        assert more["structuredContent"]["rows"][0] == [50]
        assert (await submitted(client, "made", {"text": "ok"}))["content"][0]["text"].endswith("Result: ok")
        assert (await submitted(client, "made", {"text": "bad"}))["isError"]


async def test_a_submission_that_comes_twice_runs_once() -> None:
    runs: list[Order] = []
    async with in_memory(with_booking(runs=runs), "2025-11-25", UI) as client:
        first = await submitted(client, "book", GOOD, submission="s1")
        second = await submitted(client, "book", GOOD, submission="s1")
        assert first == second
        assert len(runs) == 1
        await submitted(client, "book", {**GOOD, "tip": 2}, submission="s1")
        await submitted(client, "book", GOOD, submission="s2")
        await submitted(client, "book", GOOD)
        assert len(runs) == 4


async def test_submissions_at_the_same_time_share_a_run_and_failed_ones_are_forgotten() -> None:
    clock = [0.0]
    submissions = Submissions(lambda: clock[0])
    started, release = anyio.Event(), anyio.Event()
    runs = []

    async def slow() -> CallToolResult:
        runs.append("slow")
        started.set()
        await release.wait()
        return CallToolResult(content=[])

    async def bad() -> CallToolResult:
        runs.append("bad")
        return CallToolResult(content=[], is_error=True)

    results = []

    async def once(run: Callable[[], Any]) -> None:
        results.append(await submissions.once("key", run))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(once, slow)
        await started.wait()
        tasks.start_soon(once, slow)
        await anyio.wait_all_tasks_blocked()
        release.set()
    assert runs == ["slow"]
    assert results[0] is results[1]
    await submissions.once("other", bad)
    await submissions.once("other", bad)
    assert runs == ["slow", "bad", "bad"]
    for number in range(MOST + 5):
        await submissions.once(number, slow)
    await once(slow)
    assert len(runs) == 3 + MOST + 5 + 1
    clock[0] += SECONDS + 1
    await submissions.once("late", slow)
    await once(slow)
    assert len(runs) == 3 + MOST + 5 + 3


@kinds
async def test_a_client_without_views_cannot_submit_and_learns_what_is_missing(kind: Kind) -> None:
    runs: list[Order] = []
    async with in_memory(with_booking(kind, runs), "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"book"}
        incomplete = await client.call("book", day="2026-12-01", lines=[{"sku": "a"}])
        assert incomplete["isError"]
        assert "was not submitted" in incomplete["content"][0]["text"]
        assert "address is required" in incomplete["content"][0]["text"]
        full = {**GOOD, "payment": {"kind": "invoice", "reference": "1"}}
        complete = await client.call("book", **full)
        assert "The user has to confirm it" in complete["content"][0]["text"]
        secret = await client.call("book", **GOOD)
        assert "Only the form can take: payment.number is required" in secret["content"][0]["text"]
    assert runs == []


@kinds
async def test_without_confirmation_a_complete_call_runs_in_a_client_without_views(kind: Kind) -> None:
    runs: list[Order] = []
    async with in_memory(with_booking(kind, runs, confirm=False), "2025-11-25", NO_UI) as client:
        incomplete = await client.call("book", day="2026-12-01", lines=[{"sku": "a"}], payment={"kind": "card"})
        assert "Only the form can take" in incomplete["content"][0]["text"]
        incomplete = await client.call("book", **{**GOOD, "payment": {"kind": "invoice", "reference": "1"}, "day": ""})
        assert "call book again with all of the fields" in incomplete["content"][0]["text"]
        assert runs == []
        complete = await client.call("book", **{**GOOD, "payment": {"kind": "invoice", "reference": "1"}})
        assert complete["content"][0]["text"].endswith("Result: number: 7\ncity: Rome")
    assert len(runs) == 1
    assert runs[0].pin is None


class Trip(BaseModel):
    to: Address
    people: int = Field(ge=1)
    fast: bool = False
    tags: list[str] = []


def with_trip(kind: Kind, runs: list[Trip]) -> Any:
    server, apps = make(kind)

    @apps.form()
    def plan(trip: Trip) -> str:
        "Plan a trip."
        runs.append(trip)
        return "planned"

    return server


@kinds
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_with_elicitation_asks_the_user_until_it_is_right(kind: Kind, mode: Any) -> None:
    asked: list[ElicitRequestParams] = []
    answers: list[Any] = [
        {"to.street": "Main", "to.city": "Atlantis", "people": 2},
        {"to.street": "Main", "to.city": "Rome", "people": 2, "fast": True},
    ]

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept", content=answers[len(asked) - 1])

    runs: list[Trip] = []
    async with Client(lowlevel(with_trip(kind, runs)), elicitation_callback=answer, mode=mode) as client:
        result = await client.call_tool("plan", {"to": {"city": "Bonn"}, "tags": ["x"]})
    assert not result.is_error
    assert runs == [Trip(to=Address(street="Main", city="Rome"), people=2, fast=True, tags=["x"])]
    first, second = (each.model_dump(by_alias=True, exclude_none=True) for each in asked)
    schema = first["requestedSchema"]
    assert list(schema["properties"]) == ["to.street", "to.city", "people", "fast"]
    assert schema["required"] == ["to.street", "to.city", "people"]
    assert schema["properties"]["to.city"]["default"] == "Bonn"
    assert 'Also submitted: {"tags": ["x"]}' in first["message"]
    assert "Please correct: to.city: That city is under water" in second["message"]


@kinds
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_declines_submits_nothing(kind: Kind, mode: Any, action: Any) -> None:
    async def answer(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action=action)

    runs: list[Trip] = []
    async with Client(lowlevel(with_trip(kind, runs)), elicitation_callback=answer, mode=mode) as client:
        result = await client.call_tool("plan", {"people": 2})
    assert "declined" in result.content[0].text  # type: ignore[union-attr]
    assert runs == []


@kinds
async def test_an_answer_that_does_not_come_in_time_submits_nothing(kind: Kind) -> None:
    runs: list[int] = []
    server, apps = make(kind)

    @apps.form(answer_seconds=0.01)
    def rate(stars: int) -> str:
        runs.append(stars)
        return "thanks"

    async def answer(context: Any, params: Any) -> ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    async with Client(lowlevel(server), elicitation_callback=answer, mode="legacy") as client:
        result = await client.call_tool("rate", {})
    expected = 'The user did not answer in time. The form "Rate" was not submitted.'
    assert result.content[0].text == expected  # type: ignore[union-attr]
    assert runs == []


async def test_elicitation_never_asks_for_secrets() -> None:
    asked = []

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.model_dump_json())
        return ElicitResult(action="cancel")

    async with Client(lowlevel(with_booking()), elicitation_callback=answer, mode="legacy") as client:
        result = await client.call_tool("book", {**GOOD, "payment": {"kind": "card"}})
        assert "Only the form can take: payment.number" in result.content[0].text  # type: ignore[union-attr]
        assert asked == []
        await client.call_tool("book", {**GOOD, "payment": {"kind": "invoice", "reference": "1"}})
    assert len(asked) == 1
    assert "pin" not in asked[0]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['type']} {vector['value']}")
def test_the_words_for_a_wrong_value_are_those_of_the_form(vector: dict[str, Any]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(
        eval(vector["type"], {"Annotated": Annotated, "Field": Field, "Decimal": Decimal})
    )
    assert adapter.json_schema(schema_generator=FormJsonSchema) == vector["schema"]
    value = json.dumps(vector["value"])
    if vector["reason"] is None:
        adapter.validate_json(value)
    else:
        with pytest.raises(ValidationError) as raised:
            adapter.validate_json(value)
        assert reason_of(raised.value.errors()[0]) == vector["reason"]


def test_the_location_of_an_error_becomes_the_path_of_its_field() -> None:
    class Deep(BaseModel):
        either: Line | Address
        maybe: Line | None = None
        table: dict[str, Line] = {}
        pair: tuple[int, Line]

    schema = TypeAdapter(Deep).json_schema(schema_generator=FormJsonSchema)
    assert form_path(("either", "Line", "sku"), schema) == ("either", "sku")
    assert form_path(("maybe", "pieces"), schema) == ("maybe", "pieces")
    assert form_path(("table", "x", "sku"), schema) == ("table", "x", "sku")
    assert form_path(("table", "x", "[key]"), schema) == ("table", "x")
    assert form_path(("pair", 1, "sku"), schema) == ("pair", 1, "sku")
    assert form_path(("nowhere",), schema) == ()


def test_a_moment_with_a_zone_is_told_from_one_without() -> None:
    assert TypeAdapter(AwareDatetime).json_schema(schema_generator=FormJsonSchema)["zoned"] is True
    assert "zoned" not in TypeAdapter(datetime).json_schema(schema_generator=FormJsonSchema)
    assert TypeAdapter(time).json_schema(schema_generator=FormJsonSchema)["format"] == "time"


async def test_a_model_that_contains_itself_is_a_form() -> None:
    server, apps = make()

    @apps.form()
    def tree(node: Node) -> str:
        return node.name

    async with in_memory(server, "2025-11-25", UI) as client:
        assert list((await client.tools())["tree"]["inputSchema"]["properties"]) == ["name", "child"]
        values = {"name": "a", "child": {"name": "b", "child": {"name": ""}}}
        assert errors(await submitted(client, "tree", values)) == {"child.child.name": "must have at least 1 character"}


class Node(BaseModel):
    name: str = Field(min_length=1)
    child: "Node | None" = None


def test_what_cannot_be_a_form_is_refused_when_it_is_registered() -> None:
    _, apps = make()

    def nothing() -> str:
        return ""

    def bare(name) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return ""

    def many(*names: str) -> str:
        return ""

    def odd(value: Callable[[], int]) -> str:
        return ""

    for function, words in (
        (nothing, "no fields to fill in"),
        (bare, "has no annotation"),
        (many, "parameters with a name"),
        (odd, "no JSON schema"),
    ):
        with pytest.raises(RegistrationError, match=words):
            apps.form()(function)
    with pytest.raises(ArgumentError, match="with parentheses"):
        apps.form(nothing)  # type: ignore[arg-type]
    bad: list[dict[str, Any]] = [{"view": ""}, {"auth": None}, {"submit": " "}, {"confirm": 1}, {"answer_seconds": 0}]
    for options in bad:
        with pytest.raises(RegistrationError):
            apps.form(**options)


async def test_an_unknown_form_cannot_be_submitted() -> None:
    async with in_memory(with_booking(), "2025-11-25", UI) as client:
        assert (await submitted(client, "__class__", {}))["isError"]


async def test_the_document_of_a_form_has_at_most_15_kilobytes_compressed() -> None:
    async with in_memory(with_booking(), "2025-11-25", UI) as client:
        html = (await client.read("ui://shop/fanlight-form"))["text"]
    assert len(gzip.compress(html.encode(), 9)) <= 15_000
    assert "/* s" not in html
    assert "./" not in html
    assert "@type" not in html
