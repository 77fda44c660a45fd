// @ts-check
/** The page of `fanlight chat`: the open conversation, and the events of the program. */
import { Composer } from "./composer.js";
import { $, announce, attempt, icon, make, request } from "./dom.js";
import { Settings } from "./settings.js";
import { Sidebar } from "./sidebar.js";
import { TurnView, readable } from "./turn.js";
import { keepToken } from "./views.js";

/** @typedef {import("./dom.js").Json} Json */

const MAX_SUGGESTIONS = 6;

/** @type {string | null} The open conversation, or null for a new one. */
let current = null;
/** @type {Map<string, TurnView>} */
const turns = new Map();
/** @type {Set<string>} The conversations in which the model answers now. */
let running = new Set();
/** @type {Json[] | null} The events that arrive while a conversation is loaded. */
let buffered = null;
/** Whether the end of the conversation stays in sight while it grows. */
let isPinned = true;

const settings = new Settings();
const sidebar = new Sidebar((id) => void open(id));
const scroller = $("scroller");
const list = $("turns");

// The conversation.

const actions = {
  edit: (/** @type {Json} */ turn, /** @type {string} */ text) =>
    void attempt(() => send(text, filesOf(turn), turn.id)),
  retry: (/** @type {Json} */ turn) => void attempt(() => send(turn.text, filesOf(turn), turn.id)),
};

const filesOf = (/** @type {Json} */ turn) => turn.files.map((/** @type {Json} */ file) => file.id);

const send = async (
  /** @type {string} */ text,
  /** @type {string[]} */ files,
  /** @type {string | undefined} */ replace = undefined,
) => {
  if (replace && current && running.has(current)) await stop();
  const { conversation } = await request("send", { text, files, conversation: current, replace });
  isPinned = true;
  if (conversation !== current) await open(conversation);
  composer.focus();
};

const stop = async () => {
  if (!current) return;
  await request("stop", { conversation: current });
  announce("Stopped");
  // The slot is free when the turn has ended.
  for (let tries = 0; tries < 100 && running.has(current); tries += 1) {
    await new Promise((done) => setTimeout(done, 50));
  }
};

const composer = new Composer({
  send,
  stop: () => void attempt(stop),
  editLast: () => [...turns.values()].at(-1)?.startEdit(),
});

const upsert = (/** @type {Json} */ turn) => {
  const known = turns.get(turn.id);
  if (known) return known.update(turn);
  const added = new TurnView(/** @type {string} */ (current), turn, actions);
  turns.set(turn.id, added);
  list.append(added.element);
  return undefined;
};

const clear = () => {
  for (const turn of turns.values()) turn.remove();
  turns.clear();
};

const showTitle = (/** @type {string} */ title) => {
  $("title").textContent = title;
  document.title = title ? `${title} · fanlight chat` : "fanlight chat";
  $("menu-button").hidden = !current;
};

/** Show a conversation. */
const open = async (/** @type {string | null} */ id) => {
  const isOther = id !== current;
  current = id;
  sidebar.setCurrent(id);
  document.body.classList.remove("sidebar-open");
  if (location.hash.slice(1) !== (id ?? "")) history.pushState(null, "", id ? `#${id}` : location.pathname);
  if (isOther) {
    clear();
    isPinned = true;
  }
  if (!id) {
    buffered = null;
    showTitle("");
    update();
    composer.focus();
    return;
  }
  buffered = [];
  try {
    const conversation = await request(`conversation?conversation=${encodeURIComponent(id)}`);
    if (current !== id) return;
    const known = new Set(conversation.turns.map((/** @type {Json} */ turn) => turn.id));
    for (const [turn, view] of turns) {
      if (!known.has(turn)) {
        view.remove();
        turns.delete(turn);
      }
    }
    conversation.turns.forEach(upsert);
    showTitle(conversation.title);
    const waiting = buffered ?? [];
    buffered = null;
    waiting.forEach(onTurnEvent);
  } catch (error) {
    if (current !== id) return;
    buffered = null;
    showTitle("");
    clear();
    list.append(make("p", { className: "notice bad" }, error.message));
  }
  update();
  composer.focus();
};

/** Show what depends on the state as a whole. */
const update = () => {
  const isEmpty = !turns.size && !list.children.length;
  document.body.classList.toggle("is-empty", isEmpty);
  if (isEmpty) showSuggestions();
  composer.setRunning(Boolean(current && running.has(current)));
  sidebar.setRunning(running);
  follow();
};

const showSuggestions = () => {
  const tools = settings.tools.toSorted((a, b) => Number(b.view) - Number(a.view)).slice(0, MAX_SUGGESTIONS);
  $("suggestions").replaceChildren(
    ...tools.map((tool) => {
      const title = readable(tool.title);
      const fill = () => composer.fill(`${title} `);
      return make(
        "button",
        { type: "button", onclick: fill },
        icon(tool.view ? "view" : "tool"),
        make("span", {}, make("b", {}, title), make("small", {}, tool.description.split("\n")[0])),
      );
    }),
  );
};
document.addEventListener("tools-changed", () => document.body.classList.contains("is-empty") && showSuggestions());

// Scrolling.

const distance = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;

const follow = () => {
  if (isPinned) scroller.scrollTop = scroller.scrollHeight;
};

let lastTop = 0;
scroller.addEventListener(
  "scroll",
  () => {
    const top = scroller.scrollTop;
    // Only the user scrolls up. What grows, or is loaded, moves the end away.
    if (top < lastTop - 2 && distance() > 40) isPinned = false;
    else if (distance() <= 40) isPinned = true;
    lastTop = top;
    $("to-end").hidden = isPinned;
  },
  { passive: true },
);
new ResizeObserver(follow).observe(list);
new ResizeObserver(follow).observe(scroller);
$("to-end").onclick = () => {
  isPinned = true;
  scroller.scrollTo({ top: scroller.scrollHeight, behavior: "smooth" });
};

// Events of the program.

const onTurnEvent = (/** @type {Json} */ event) => {
  const known = turns.get(event.id);
  if (event.kind === "turn") {
    if (!known || event.seq >= known.seq) upsert(event.turn);
    return update();
  }
  if (known && event.seq <= known.seq) return undefined;
  // Something was lost, as when the connection was.
  if (!known || event.seq !== known.seq + 1) return void open(current);
  return event.kind === "block" ? known.setBlock(event) : known.append(event);
};

/** @type {Record<string, (event: Json) => void>} */
const handlers = {
  start: (event) => {
    running = new Set(event.running);
    settings.setSettings(event.settings);
    settings.setServers(event.servers);
    sidebar.refresh();
    void open(current ?? (location.hash.slice(1) || null));
  },
  settings: (event) => settings.setSettings(event.settings),
  server: (event) => settings.setServer(event.server),
  conversations: () => sidebar.refresh(),
  title: (event) => event.conversation === current && showTitle(event.title),
  token: (event) => keepToken(event.view, event.token),
  deleted: (event) => {
    sidebar.refresh();
    if (event.conversation === current) void open(null);
  },
  cut: (event) => {
    if (event.conversation !== current) return;
    for (const id of event.turns) {
      turns.get(id)?.remove();
      turns.delete(id);
    }
  },
};

const onEvent = (/** @type {Json} */ event) => {
  if (!["turn", "block", "delta"].includes(event.kind)) return handlers[event.kind]?.(event);
  if (event.kind === "turn") {
    if (event.turn.state === "running") running.add(event.conversation);
    else running.delete(event.conversation);
    sidebar.setRunning(running);
  }
  if (event.conversation !== current) return undefined;
  return buffered ? void buffered.push(event) : onTurnEvent(event);
};

const listen = () => {
  const source = new EventSource("/api/events");
  const lost = $("lost");
  source.onmessage = ({ data }) => {
    lost.hidden = true;
    onEvent(JSON.parse(data));
  };
  source.onerror = () => {
    lost.hidden = false;
    const isOver = source.readyState === EventSource.CLOSED;
    $("lost-text").textContent = isOver
      ? "fanlight chat was started again. Open the address that it printed."
      : "fanlight chat does not respond. Trying again…";
    // The program may answer with an error while it starts.
    if (isOver) setTimeout(listen, 3_000);
  };
};

// The frame of the page.

const newChat = () => {
  sidebar.clearSearch();
  void open(null);
};
$("new-chat").onclick = newChat;
$("new-chat-top").onclick = newChat;
$("sidebar-button").onclick = () => {
  const isNarrow = window.matchMedia("(max-width: 760px)").matches;
  document.body.classList.toggle(isNarrow ? "sidebar-open" : "sidebar-closed");
  if (document.body.classList.contains("sidebar-open")) $("search").focus();
};
$("shade").onclick = () => document.body.classList.remove("sidebar-open");
window.addEventListener("popstate", () => void open(location.hash.slice(1) || null));

const menu = $("menu");
$("menu").addEventListener("click", (/** @type {Event} */ event) => {
  const action = /** @type {any} */ (event.target).closest("[data-action]")?.dataset.action;
  if (!action || !current) return;
  menu.hidePopover();
  if (action === "rename") rename();
  else if (action === "delete") askToDelete();
  else location.assign(`/api/export?conversation=${encodeURIComponent(current)}&format=${action}`);
});

const rename = () => {
  const dialog = $("rename");
  $("rename-field").value = $("title").textContent;
  dialog.returnValue = "";
  dialog.showModal();
  $("rename-field").select();
  dialog.onclose = () => {
    const title = $("rename-field").value.trim();
    if (dialog.returnValue !== "rename" || !title) return;
    void attempt(async () => {
      await request("rename", { conversation: current, title });
      showTitle(title);
    });
  };
};

const askToDelete = () => {
  const dialog = $("delete");
  $("delete-title").textContent = $("title").textContent;
  dialog.returnValue = "";
  dialog.showModal();
  dialog.onclose = () => {
    if (dialog.returnValue === "delete") void attempt(() => request("delete", { conversation: current }));
  };
};

const isInView = (/** @type {Event} */ event) =>
  event.composedPath().some((/** @type {any} */ node) => node.localName === "mcp-app");

document.addEventListener("keydown", (event) => {
  const isCommand = event.metaKey || event.ctrlKey;
  if (isCommand && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    document.body.classList.remove("sidebar-closed");
    document.body.classList.add("sidebar-open");
    sidebar.focusSearch();
  } else if (isCommand && event.shiftKey && event.key.toLowerCase() === "o") {
    event.preventDefault();
    newChat();
  } else if (isCommand && event.key === ",") {
    event.preventDefault();
    settings.open();
  } else if (event.key === "Escape" && !document.querySelector("dialog[open], :popover-open") && !isInView(event)) {
    if (document.body.classList.contains("sidebar-open")) document.body.classList.remove("sidebar-open");
    else if (current && running.has(current)) void attempt(stop);
  }
});

listen();
