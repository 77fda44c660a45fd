"""UI actions: the messages that an mcp-ui widget posts to its host, created on the server to be used in the widget."""

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
        """The tool and its arguments."""

        toolName: str
        params: dict[str, Any]

    type: Literal["tool"] = "tool"
    """Always `"tool"`."""
    payload: ToolCallPayload
    """The tool and its arguments."""


class UIActionResultPrompt(_Action):
    """The action that adds a message of the user to the conversation."""

    class PromptPayload(BaseModel):
        """The text of the message."""

        prompt: str

    type: Literal["prompt"] = "prompt"
    """Always `"prompt"`."""
    payload: PromptPayload
    """The message."""


class UIActionResultLink(_Action):
    """The action that opens a web page."""

    class LinkPayload(BaseModel):
        """The address of the page."""

        url: str

    type: Literal["link"] = "link"
    """Always `"link"`."""
    payload: LinkPayload
    """The address of the page."""


class UIActionResultIntent(_Action):
    """The action that reports an intent of the user. The host decides how to act on it."""

    class IntentPayload(BaseModel):
        """The intent and its parameters."""

        intent: str
        params: dict[str, Any]

    type: Literal["intent"] = "intent"
    """Always `"intent"`."""
    payload: IntentPayload
    """The intent of the user."""


class UIActionResultNotification(_Action):
    """The action that notifies the host of something."""

    class NotificationPayload(BaseModel):
        """The text of the notification."""

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
    """Create the action that reports an intent of the user."""
    return UIActionResultIntent(payload=UIActionResultIntent.IntentPayload(intent=intent, params=params))


def ui_action_result_notification(message: str) -> UIActionResultNotification:
    """Create the action that notifies the host of something."""
    payload = UIActionResultNotification.NotificationPayload(message=message)
    return UIActionResultNotification(payload=payload)
