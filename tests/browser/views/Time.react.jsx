import { useApp, useDocumentTheme, useHostStyles } from "@modelcontextprotocol/ext-apps/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

const textOf = (result) => result.content.find(({ type }) => type === "text").text;

const Time = () => {
  const [zone, setZone] = useState("");
  const [time, setTime] = useState("");
  const [log, setLog] = useState("");
  const [insets, setInsets] = useState();
  const theme = useDocumentTheme();
  const { app, isConnected, error } = useApp({
    appInfo: { name: "Time", version: "1.0.0" },
    capabilities: {},
    strict: false,
    onAppCreated: (created) => {
      created.ontoolinput = (input) => setZone(input.arguments.zone);
      created.ontoolresult = (result) => setTime(textOf(result));
      created.onhostcontextchanged = ({ safeAreaInsets }) => setInsets(safeAreaInsets);
      created.onteardown = async () => {
        setLog("down");
        return {};
      };
    },
  });
  useHostStyles(app, app?.getHostContext());

  if (error) return <p role="alert">{error.message}</p>;
  if (!isConnected) return <p>Connecting</p>;
  const call = async () => setTime(textOf(await app.callServerTool({ name: "get_time", arguments: { zone: "UTC" } })));
  const send = async () => {
    await app.sendMessage({ role: "user", content: [{ type: "text", text: "What time is it?" }] });
    await app.sendLog({ level: "info", data: "sent" });
    const { isError } = await app.openLink({ url: "https://example.com/" });
    setLog(isError ? "refused" : "sent");
  };
  return (
    <main style={{ paddingTop: insets?.top }}>
      <p id="zone">{zone}</p>
      <p id="time">{time}</p>
      <p id="theme">{theme}</p>
      <p id="log">{log}</p>
      <button onClick={call}>Call</button>
      <button onClick={send}>Send</button>
    </main>
  );
};

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Time />
  </StrictMode>,
);
