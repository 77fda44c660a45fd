import {
  App,
  applyDocumentTheme,
  applyHostFonts,
  applyHostStyleVariables,
  getDocumentTheme,
} from "@modelcontextprotocol/ext-apps";
import { createSignal, onMount, Show } from "solid-js";
import { render } from "solid-js/web";

const textOf = (result) => result.content.find(({ type }) => type === "text").text;

const Time = () => {
  const [app, setApp] = createSignal(null);
  const [zone, setZone] = createSignal("");
  const [time, setTime] = createSignal("");
  const [log, setLog] = createSignal("");
  const [theme, setTheme] = createSignal("");
  const [insets, setInsets] = createSignal();
  onMount(async () => {
    const created = new App({ name: "Time", version: "1.0.0" });
    const follow = (context) => {
      if (context?.theme) applyDocumentTheme(context.theme);
      if (context?.styles?.variables) applyHostStyleVariables(context.styles.variables);
      if (context?.styles?.css?.fonts) applyHostFonts(context.styles.css.fonts);
      setTheme(getDocumentTheme());
      setInsets(context?.safeAreaInsets);
    };
    created.ontoolinput = (input) => setZone(input.arguments.zone);
    created.ontoolresult = (result) => setTime(textOf(result));
    created.onhostcontextchanged = follow;
    created.onteardown = async () => {
      setLog("down");
      return {};
    };
    await created.connect();
    setApp(created);
    follow(created.getHostContext());
  });

  const call = async () =>
    setTime(textOf(await app().callServerTool({ name: "get_time", arguments: { zone: "UTC" } })));
  const send = async () => {
    await app().sendMessage({ role: "user", content: [{ type: "text", text: "What time is it?" }] });
    await app().sendLog({ level: "info", data: "sent" });
    const { isError } = await app().openLink({ url: "https://example.com/" });
    setLog(isError ? "refused" : "sent");
  };
  return (
    <Show when={app()} fallback={<p>Connecting</p>}>
      <main style={{ "padding-top": `${insets()?.top ?? 0}px` }}>
        <p id="zone">{zone()}</p>
        <p id="time">{time()}</p>
        <p id="theme">{theme()}</p>
        <p id="log">{log()}</p>
        <button onClick={call}>Call</button>
        <button onClick={send}>Send</button>
      </main>
    </Show>
  );
};

render(() => <Time />, document.getElementById("root"));
