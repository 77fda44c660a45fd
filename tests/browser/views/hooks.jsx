// What the hooks do besides: StrictMode, unmounting, an App without auto-resize, and a host that refuses.
import {
  App,
  useApp,
  useAutoResize,
  useDocumentTheme,
  useHostFonts,
  useHostStyleVariables,
} from "@modelcontextprotocol/ext-apps/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const appInfo = { name: "Hooks", version: "1.0.0" };

const Theme = () => <p id="theme">{useDocumentTheme()}</p>;

const Styled = ({ app }) => {
  useHostStyleVariables(app, app.getHostContext());
  useHostFonts(app, app.getHostContext());
  return <Theme />;
};

const Connected = () => {
  const [isShort, setShort] = useState(true);
  const { app, isConnected, error } = useApp({ appInfo, capabilities: {}, autoResize: false });
  useAutoResize(app);
  if (error) return <p role="alert">{`${error.message} ${app} ${isConnected}`}</p>;
  if (!app) return <p>Connecting</p>;
  return (
    <>
      <p id="connected">{`${app instanceof App} ${isConnected}`}</p>
      <Styled app={app} />
      {isShort && <Styled app={app} />}
      <button onClick={() => setShort(false)}>Fewer</button>
    </>
  );
};

const Page = () => {
  const [isMounted, setMounted] = useState(true);
  useEffect(() => {
    document.body.dataset.mounted = isMounted;
  }, [isMounted]);
  return (
    <>
      {isMounted && <Connected />}
      <button onClick={() => setMounted(false)}>Unmount</button>
    </>
  );
};

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
