// `window.openai` as the Apps SDK's documentation describes it, for a page that is a widget in a frame. The calls
// of the widget are in `calls`; `setGlobals` changes what it sees. Tools are answered by Python through `callsTool`.
window.calls = [];
{
  const note =
    (name, answer) =>
    async (...args) => {
      window.calls.push([name, ...args]);
      return answer?.(...args);
    };
  window.setGlobals = (globals) => {
    Object.assign(window.openai, globals);
    window.dispatchEvent(new CustomEvent("openai:set_globals", { detail: { globals } }));
  };
  window.openai = {
    theme: "dark",
    userAgent: { device: { type: "desktop" }, capabilities: { hover: true, touch: false } },
    locale: "en-GB",
    maxHeight: 480,
    displayMode: "inline",
    safeArea: { insets: { top: 0, bottom: 0, left: 0, right: 0 } },
    toolInput: {},
    toolOutput: null,
    toolResponseMetadata: null,
    widgetState: null,
    setWidgetState: note("setWidgetState", (widgetState) => window.setGlobals({ widgetState })),
    callTool: note("callTool", (name, args) => window.callsTool(name, args)),
    sendFollowUpMessage: note("sendFollowUpMessage"),
    openExternal: note("openExternal"),
    requestDisplayMode: note("requestDisplayMode", ({ mode }) => {
      window.setGlobals({ displayMode: mode });
      return { mode };
    }),
  };
}
