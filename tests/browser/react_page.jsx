// A single-page app with React: two routes, and a list of Views that can be put into another order.
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

const calls = JSON.parse(document.getElementById("calls").textContent);

const Chat = () => {
  const [shown, setShown] = useState(calls);
  return (
    <>
      <button onClick={() => setShown(shown.toReversed())}>Reverse</button>
      {shown.map(({ view, token }) => (
        <mcp-app key={view} view={view} token={token} src="/apps" />
      ))}
    </>
  );
};

const Product = () => {
  const [route, setRoute] = useState("chat");
  return (
    <>
      <nav>
        <button onClick={() => setRoute("chat")}>Chat</button>
        <button onClick={() => setRoute("settings")}>Settings</button>
      </nav>
      {route === "chat" ? <Chat /> : <h1>Settings</h1>}
    </>
  );
};

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Product />
  </StrictMode>,
);
