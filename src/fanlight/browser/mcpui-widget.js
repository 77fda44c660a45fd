// @ts-check
/** `window.mcpUI` for widgets written for mcp-ui: send messages to the host, and listen to them. */
Object.assign(window, {
  mcpUI: {
    /** @param {unknown} data */
    postMessage: (data) => window.parent.postMessage(data, "*"),
    /** @param {(data: any) => void} callback */
    onMessage: (callback) => window.addEventListener("message", (event) => callback(event.data)),
  },
});
