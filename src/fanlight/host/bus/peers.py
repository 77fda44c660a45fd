"""Serves the requests and notifications of other workers of the host."""

from typing import TYPE_CHECKING

from fanlight.host.bus import messages
from fanlight.host.bus.messages import WorkerMessage
from fanlight.host.bus.workers import OnProgress
from fanlight.host.errors import RequestError, UnknownViewError
from fanlight.host.views.records import Owner
from fanlight.protocol.jsonrpc import METHOD_NOT_FOUND, JSONObject

if TYPE_CHECKING:
    from fanlight.host.runtime import Runtime

_HAND_OVER_SHARE = 0.75
"""Which part of `Timeouts.handover` the requests of a View get to finish. The rest is for storing what comes next."""


class PeerRequests:
    """Handles the messages of other workers with the parts of this one."""

    def __init__(self, runtime: "Runtime") -> None:
        self._runtime = runtime

    async def notify(self, sender: str, message: WorkerMessage) -> None:
        """Handle a notification."""
        runtime = self._runtime
        match message:
            case messages.WorkerJoined(servers):
                await runtime.workers.compare(sender, servers)
            case messages.CallChanged(view):
                await runtime.views.refresh_call(view)
            case messages.PartialInput(view, arguments):
                runtime.views.show_partial(view, arguments)
            case messages.ViewHeld(view):
                if view in runtime.begun.views:
                    runtime.holders.held_by(view, sender)
            case messages.UserErased(user):
                await runtime.erasure.drop_user(user)
            case messages.SignedIn(user, server):
                runtime.servers.close_waiting(server, user)
            case messages.PagesDisconnected(user):
                await runtime.views.disconnect_pages(user)
            case messages.ViewsReloaded(server, only_changed):
                await runtime.opener.reload(server, only_changed=only_changed)

    async def serve(self, sender: str, message: WorkerMessage, progress: OnProgress) -> JSONObject:
        """Return the result of a request, or raise RequestError."""
        runtime = self._runtime
        try:
            match message:
                case messages.HandOver(view, epoch):
                    seconds = runtime.timeouts.handover * _HAND_OVER_SHARE
                    done = await runtime.views.hand_over(view, epoch, seconds, lambda: runtime.is_draining)
                    return {"elsewhere": done == "elsewhere", "busy": done == "busy"}
                case messages.CloseView(view):
                    await runtime.views.close(view)
                    return {}
                case messages.ShowAs(view, mode):
                    await runtime.views.show_as(view, mode)
                    return {}
                case messages.ForwardedRequest():
                    return await runtime.router.serve(message, progress)
                case messages.SignInFinished(user, query) if runtime.sign_ins is not None:
                    finished = await runtime.sign_ins.finish_here(user, query)
                    return {"is_signed_in": finished.is_signed_in, "message": finished.message}
                case messages.EndErased(views):
                    await runtime.erasure.end_views(views)
                    return {}
                case messages.CancelBegun(user, conversation):
                    await runtime.begun.cancel_begun(Owner(user, conversation))
                    return {}
                case messages.CallAppTool(view, name, arguments):
                    return await runtime.requests.call_app_tool(runtime.views.live(view), name, arguments)
        except UnknownViewError as error:
            raise RequestError(str(error)) from None
        raise RequestError("This worker does not serve such a request.", METHOD_NOT_FOUND)

    async def disconnect_pages(self) -> None:
        """Disconnect all pages. They connect to a worker that has a lease, and say so while there is none."""
        await self._runtime.views.disconnect_pages()

    async def resynchronise(self) -> None:
        """Find out what has changed for the sessions of this worker: messages may have been lost."""
        worker = self._runtime.workers.id
        if worker is not None:
            await self._runtime.views.check_holders(worker)
