// A page that shows Views with the component, and notes what its callbacks get.
import { createRef, StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { McpApp } from "../../src/fanlight/browser/types/mcp-app-react.js";

const calls = JSON.parse(document.getElementById("calls").textContent);
const element = createRef();

const Page = () => {
  const [index, setIndex] = useState(0);
  const [isPrefixed, setPrefixed] = useState(false);
  const [log, setLog] = useState([]);
  const note = (text) => setLog((before) => [...before, text]);
  return (
    <>
      <McpApp
        ref={element}
        view={calls[index].view}
        token={calls[index].token}
        className="card"
        theme="dark"
        maxHeight={isPrefixed ? 200 : undefined}
        onContext={({ detail }) => note(`${isPrefixed ? "again: " : ""}${detail.content[0].text}`)}
        onReady={({ type }) => note(type)}
        onClosed={() => note("closed")}
      />
      <button onClick={() => setPrefixed(true)}>Prefix</button>
      <button onClick={() => setIndex(1)}>Next</button>
      <button onClick={() => element.current.close()}>Close</button>
      <output>{log.join(", ")}</output>
    </>
  );
};

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
