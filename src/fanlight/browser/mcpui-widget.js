// @ts-check
/** What a widget written for mcp-ui finds as `window.mcpUI`: a word to its host, and an ear for it. */
Object.assign(window, {
  mcpUI: {
    /** @param {unknown} data */
    postMessage: (data) => window.parent.postMessage(data, "*"),
    /** @param {(data: any) => void} callback */
    onMessage: (callback) => window.addEventListener("message", (event) => callback(event.data)),
  },
});
