"""UI actions: what a widget written for mcp-ui posts to its host, made on the server, to be put into the widget."""

from typing import Any, Literal

from pydantic import BaseModel

UIActionType = Literal["tool", "prompt", "link", "intent", "notify"]


class _Action(BaseModel):
    messageId: str | None = None


class UIActionResultToolCall(_Action):
    """Call a tool of the server."""

    class ToolCallPayload(BaseModel):
        """Which tool, and with what."""

        toolName: str
        params: dict[str, Any]

    type: Literal["tool"] = "tool"
    payload: ToolCallPayload


class UIActionResultPrompt(_Action):
    """Say something in the conversation, as the user."""

    class PromptPayload(BaseModel):
        """What to say."""

        prompt: str

    type: Literal["prompt"] = "prompt"
    payload: PromptPayload


class UIActionResultLink(_Action):
    """Open a page."""

    class LinkPayload(BaseModel):
        """Which page."""

        url: str

    type: Literal["link"] = "link"
    payload: LinkPayload


class UIActionResultIntent(_Action):
    """Tell the host what the user wants, for the host to decide how."""

    class IntentPayload(BaseModel):
        """What the user wants."""

        intent: str
        params: dict[str, Any]

    type: Literal["intent"] = "intent"
    payload: IntentPayload


class UIActionResultNotification(_Action):
    """Let the host know something."""

    class NotificationPayload(BaseModel):
        """What to know."""

        message: str

    type: Literal["notify"] = "notify"
    payload: NotificationPayload


UIActionResult = (
    UIActionResultToolCall
    | UIActionResultPrompt
    | UIActionResultLink
    | UIActionResultIntent
    | UIActionResultNotification
)


def ui_action_result_tool_call(tool_name: str, params: dict[str, Any]) -> UIActionResultToolCall:
    """Make the action that calls a tool."""
    payload = UIActionResultToolCall.ToolCallPayload(toolName=tool_name, params=params)
    return UIActionResultToolCall(payload=payload)


def ui_action_result_prompt(prompt: str) -> UIActionResultPrompt:
    """Make the action that says something in the conversation."""
    return UIActionResultPrompt(payload=UIActionResultPrompt.PromptPayload(prompt=prompt))


def ui_action_result_link(url: str) -> UIActionResultLink:
    """Make the action that opens a page."""
    return UIActionResultLink(payload=UIActionResultLink.LinkPayload(url=url))


def ui_action_result_intent(intent: str, params: dict[str, Any]) -> UIActionResultIntent:
    """Make the action that tells what the user wants."""
    return UIActionResultIntent(payload=UIActionResultIntent.IntentPayload(intent=intent, params=params))


def ui_action_result_notification(message: str) -> UIActionResultNotification:
    """Make the action that lets the host know something."""
    payload = UIActionResultNotification.NotificationPayload(message=message)
    return UIActionResultNotification(payload=payload)
