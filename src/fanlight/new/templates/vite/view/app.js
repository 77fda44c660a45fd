// The connection to the host, and the tools of my_app/server.py.
import "./zod.js";
import { App, applyDocumentTheme, applyHostFonts, applyHostStyleVariables } from "@modelcontextprotocol/ext-apps";

const app = new App({ name: "My app", version: "0.1.0" });
let onPoll, onProblem;

/** Connect to the host. `poll` gets the poll, at first and after each vote; `problem` gets messages for the user. */
export async function connect({ poll, problem }) {
  [onPoll, onProblem] = [poll, problem];
  app.ontoolresult = receive;
  app.onhostcontextchanged = applyTheme;
  await app.connect();
  applyTheme(app.getHostContext() ?? {});
}

export async function vote(choice) {
  try {
    receive(await app.callServerTool({ name: "vote", arguments: { choice } }));
    const content = [{ type: "text", text: `The user voted for ${choice}.` }];
    await app.updateModelContext({ content }).catch(() => {}); // not every host has it
  } catch (error) {
    onProblem(error.message); // for example, because the user did not allow the call
  }
}

/** Return the choices of a poll, each with its part of all votes. */
export function choicesOf({ votes }) {
  const total = totalOf({ votes });
  return Object.entries(votes).map(([name, count]) => ({ name, count, part: total && count / total }));
}

export function totalOf({ votes }) {
  return Object.values(votes).reduce((one, other) => one + other, 0);
}

function receive({ structuredContent, content, isError }) {
  onProblem(isError ? content[0].text : "");
  if (!isError) onPoll(structuredContent);
}

function applyTheme({ theme, styles }) {
  if (theme) applyDocumentTheme(theme);
  if (styles?.variables) applyHostStyleVariables(styles.variables);
  if (styles?.css?.fonts) applyHostFonts(styles.css.fonts);
}
