import { App } from "fanlight";

const app = new App({ name: "My app", version: "0.1.0" });
const [question, total, choices, problem] = ["question", "total", "choices", "problem"].map((id) =>
  document.getElementById(id),
);

/** Show what a tool returned: `show_my_app`, which opened this View, or `vote`. */
function show({ structuredContent, content, isError }) {
  problem.textContent = isError ? content[0].text : "";
  if (isError) return;
  const { votes } = structuredContent;
  const sum = Object.values(votes).reduce((one, other) => one + other, 0);
  question.textContent = structuredContent.question;
  total.textContent = `${sum} votes`;
  for (const [choice, count] of Object.entries(votes)) {
    const button = buttonOf(choice);
    button.style.setProperty("--part", sum && count / sum);
    button.lastChild.textContent = count;
  }
}

/** Return the button of a choice, which is made once, so that it keeps the focus. */
function buttonOf(choice) {
  const known = [...choices.querySelectorAll("button")].find((button) => button.firstChild.textContent === choice);
  if (known) return known;
  const button = document.createElement("button");
  for (const tag of ["span", "strong"]) button.append(document.createElement(tag));
  button.firstChild.textContent = choice;
  button.onclick = () => vote(choice);
  choices.appendChild(document.createElement("li")).append(button);
  return button;
}

async function vote(choice) {
  try {
    show(await app.callServerTool({ name: "vote", arguments: { choice } }));
    const content = [{ type: "text", text: `The user voted for ${choice}.` }];
    await app.updateModelContext({ content }).catch(() => {}); // not every host has it
  } catch (error) {
    problem.textContent = error.message; // for example, because the user did not allow the call
  }
}

app.ontoolresult = show;
await app.connect();
