import json

from fanlight.protocol.transcript import RecordedMessage, json_lines

LINK = {"url": "https://a.example/é"}
REQUEST = RecordedMessage("view", {"id": 1, "method": "ui/open-link", "params": LINK}, 0.12345)
RESPONSE = RecordedMessage("host", {"id": 1, "result": {}}, 0.2)
ODD = RecordedMessage("view", {"method": 7, "params": [1]})


def test_method_and_params_are_those_of_the_message_if_they_are_valid() -> None:
    assert (REQUEST.method, REQUEST.params) == ("ui/open-link", LINK)
    assert (RESPONSE.method, RESPONSE.params) == (None, {})
    assert (ODD.method, ODD.params) == (None, {})


def test_messages_are_written_as_json_lines() -> None:
    lines = json_lines([REQUEST, RESPONSE]).splitlines()
    assert [json.loads(line) for line in lines] == [
        {"at": 0.1235, "by": "view", "message": REQUEST.message},
        {"at": 0.2, "by": "host", "message": RESPONSE.message},
    ]
    assert "é" in lines[0]
    assert json_lines([]) == ""
