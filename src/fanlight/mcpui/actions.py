"""UI actions: what a widget written for mcp-ui posts to its host, made on the server, to be put into the widget."""

from typing import Any, Literal

from pydantic import BaseModel

UIActionType = Literal["tool", "prompt", "link", "intent", "notify"]
"""The `type` of a UI action."""


class _Action(BaseModel):
    messageId: str | None = None
    """Identifies the action, if the widget waits for a response."""


class UIActionResultToolCall(_Action):
    """The action that calls a tool of the server."""

    class ToolCallPayload(BaseModel):
        """Which tool, and with what."""

        toolName: str
        params: dict[str, Any]

    type: Literal["tool"] = "tool"
    """Always `"tool"`."""
    payload: ToolCallPayload
    """The tool and its arguments."""


class UIActionResultPrompt(_Action):
    """The action that adds a message to the conversation in the user's name."""

    class PromptPayload(BaseModel):
        """What to say."""

        prompt: str

    type: Literal["prompt"] = "prompt"
    """Always `"prompt"`."""
    payload: PromptPayload
    """The message."""


class UIActionResultLink(_Action):
    """The action that opens a web page."""

    class LinkPayload(BaseModel):
        """Which page."""

        url: str

    type: Literal["link"] = "link"
    """Always `"link"`."""
    payload: LinkPayload
    """The address of the page."""


class UIActionResultIntent(_Action):
    """The action that tells the host what the user wants; the host decides how to do it."""

    class IntentPayload(BaseModel):
        """What the user wants."""

        intent: str
        params: dict[str, Any]

    type: Literal["intent"] = "intent"
    """Always `"intent"`."""
    payload: IntentPayload
    """What the user wants."""


class UIActionResultNotification(_Action):
    """The action that notifies the host of something."""

    class NotificationPayload(BaseModel):
        """What to know."""

        message: str

    type: Literal["notify"] = "notify"
    """Always `"notify"`."""
    payload: NotificationPayload
    """The notification."""


UIActionResult = (
    UIActionResultToolCall
    | UIActionResultPrompt
    | UIActionResultLink
    | UIActionResultIntent
    | UIActionResultNotification
)
"""Any UI action."""


def ui_action_result_tool_call(tool_name: str, params: dict[str, Any]) -> UIActionResultToolCall:
    """Create the action that calls a tool."""
    payload = UIActionResultToolCall.ToolCallPayload(toolName=tool_name, params=params)
    return UIActionResultToolCall(payload=payload)


def ui_action_result_prompt(prompt: str) -> UIActionResultPrompt:
    """Create the action that adds a message to the conversation."""
    return UIActionResultPrompt(payload=UIActionResultPrompt.PromptPayload(prompt=prompt))


def ui_action_result_link(url: str) -> UIActionResultLink:
    """Create the action that opens a web page."""
    return UIActionResultLink(payload=UIActionResultLink.LinkPayload(url=url))


def ui_action_result_intent(intent: str, params: dict[str, Any]) -> UIActionResultIntent:
    """Create the action that tells the host what the user wants."""
    return UIActionResultIntent(payload=UIActionResultIntent.IntentPayload(intent=intent, params=params))


def ui_action_result_notification(message: str) -> UIActionResultNotification:
    """Create the action that notifies the host of something."""
    payload = UIActionResultNotification.NotificationPayload(message=message)
    return UIActionResultNotification(payload=payload)
