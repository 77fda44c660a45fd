// The runtime of rendered pages: elements with data-action call tools, and the HTML that these return is put into the
// page. docs/reference/pages.md lists the attributes. Comments are on lines of their own, because they are removed; so
// are the imports and exports between these files, which become one script. It is minified as view.js is, so it follows
// the conventions at the top of that file, and no regular expression has a space. A test checks its size.
import { App } from "fanlight";

const app = new App({ name: "Page", version: "1.0.0" });

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
// By their ids: some hosts, such as MCP Inspector, put the whole document into a body of their own.
const root = byId("fanlight-page");
const { nextElementSibling: status } = root;
const { nextElementSibling: dialog } = status;
const { scripts, fresh } = JSON.parse(root.dataset.options);

/** The call that the page shows. @type {any} */
const page = {};

/** @param {any} result @returns {string} */
const textOf = ({ content }) => content[0]?.text ?? "";

// Markup

/**
 * Remove what could run code or load a document. Values are escaped by the template, but not what it marks as safe.
 * @param {DocumentFragment} fragment
 */
const sanitize = (fragment) => {
  for (const element of fragment.querySelectorAll("*")) {
    if (element.matches("script,iframe,object,embed,base,meta,link,template,animate,set")) element.remove();
    // Fields of a form can hide its properties, such as `attributes`. If they hide a method, calling it throws.
    for (const name of element.getAttributeNames()) {
      // Browsers ignore spaces and control characters in a scheme.
      const runs = /^on|(href|action)=\W*j\W*a\W*v\W*a\W*s/i.test(name + "=" + element.getAttribute(name));
      if (runs) element.removeAttribute(name);
    }
  }
};

/** @param {string} html */
const parse = (html) => {
  if (scripts) return document.createRange().createContextualFragment(html);
  // A template keeps rows without their table, drops the tags of head and body, and loads nothing.
  const { content } = Object.assign(document.createElement("template"), { innerHTML: html });
  sanitize(content);
  return content;
};

// Morphing: the elements of the page stay and become like the new ones, so that focus, scroll positions and what the
// user typed stay, too.

const FIELDS = "input,select,textarea";
const BOXES = "[type=checkbox],[type=radio]";
const ANSWERS = ",input[value],textarea:not(:empty),:has([selected])>option";

/**
 * Return the names of the properties of a field for its state, and for the state that the server gave it.
 * @param {any} field
 * @returns {[string, string]}
 */
const stateOf = (field) =>
  field.matches("option")
    ? ["selected", "defaultSelected"]
    : field.matches(BOXES)
      ? ["checked", "defaultChecked"]
      : ["value", "defaultValue"];

/** @param {any} node */
const keyOf = (node) => node.matches && (node.getAttribute("id") || node.dataset.key || node.getAttribute("name"));

/**
 * @param {any} old
 * @param {any} next
 */
const morph = (old, next) => {
  if (!next.matches) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  const [state, initial] = stateOf(old);
  // What the user typed stays until it is sent. Then the server may answer with another value.
  const isAnswered = old[state] === old[initial] && next.matches(BOXES + ANSWERS);
  const value = (isAnswered ? next : old)[isAnswered ? initial : state];
  for (const each of new Set([...old.getAttributeNames(), ...next.getAttributeNames()])) {
    const now = next.getAttribute(each);
    if (now == null) each === "open" || old.removeAttribute(each);
    else if (old.getAttribute(each) !== now) old.setAttribute(each, now);
  }
  morphChildren(old, next);
  // Setting a value moves the cursor.
  if (old.matches("input:not([type=file]),textarea,option") && old[state] !== value) old[state] = value;
};

/**
 * @param {any} parent
 * @param {any} source
 */
const morphChildren = (parent, source) => {
  const same = (/** @type {any} */ a, /** @type {any} */ b) => a?.nodeName === b.nodeName && keyOf(a) === keyOf(b);
  const news = [...source.childNodes];
  // What is gone goes first, so that its neighbours need not be moved.
  for (const child of [...parent.children]) {
    if (keyOf(child) && !news.some((next) => same(child, next))) child.remove();
  }
  let place = parent.firstChild;
  const drop = () => ([place] = [place.nextSibling, place.remove()]);
  for (const next of news) {
    let match = place;
    while (match && next.matches && !same(match, next)) match = match.nextSibling;
    if (!same(match, next)) parent.insertBefore(next, place);
    else {
      while (place !== match && !place.matches) drop();
      if (place === match) place = place.nextSibling;
      else parent[parent.moveBefore ? "moveBefore" : "insertBefore"](match, place);
      morph(match, next);
    }
  }
  while (place) drop();
};

/**
 * Put HTML into the page.
 * @param {any} target
 * @param {string} html
 * @param {string} [mode] One of `data-swap`. Default: "outer" if the HTML is one element with the id of the target.
 */
const swap = (target, html, mode) => {
  const fragment = parse(html);
  const active = /** @type {any} */ (document.activeElement);
  for (const element of fragment.querySelectorAll("[data-oob]")) {
    const old = byId(element.id);
    if (old && !target.contains(old)) morph(old, element.parentNode?.removeChild(element));
  }
  const [only, more] = fragment.children;
  mode ??= only?.id && only.id === target.id && !more ? "outer" : "inner";
  if (mode === "inner") morphChildren(target, fragment);
  else if (mode !== "outer") target[mode]?.(fragment);
  else if (only?.nodeName === target.nodeName && !more) morph(target, only);
  else target.replaceWith(fragment);
  if (active !== document.activeElement) {
    // The button that removed its row is gone with it: the focus stays near.
    target.tabIndex = -1;
    (active.isConnected ? active : byId(active.id) || target).focus({ preventScroll: true });
  }
  for (const element of root.querySelectorAll("[data-trigger]")) {
    if (element.isStarted) continue;
    element.isStarted = true;
    for (const [name, time] of triggersOf(element)) {
      if (name === "load") act(element);
      if (name !== "every") continue;
      new IntersectionObserver((/** @type {any} */ [{ isIntersecting }]) => {
        clearInterval(element.timer);
        if (isIntersecting) element.timer = setInterval(() => document.hidden || act(element), parseFloat(time) * 1000);
      }).observe(element);
    }
  }
};

// Actions

/**
 * Return the triggers of an element: names of events, and times.
 * @param {any} element
 * @param {string} [usual]
 */
const triggersOf = ({ dataset }, usual) =>
  (dataset.trigger ?? usual).split(", ").map((/** @type {string} */ each) => each.split(" "));

/**
 * Return the value of an attribute of an element, or of the nearest one around it that has the attribute.
 * @param {any} element
 * @param {string} name
 */
const inherited = (element, name) => element.closest("[data-" + name + "]")?.dataset[name];

/**
 * Return the element that such an attribute names by a selector, or by `closest` and a selector.
 * @param {any} element
 * @param {string} name
 */
const find = (element, name) => {
  const [selector, closest] = inherited(element, name)?.split("closest ") ?? [];
  return closest ? element.closest(closest) : selector && document.querySelector(selector);
};

/**
 * Return the arguments of an action: values of the element and of those around it, then fields.
 * @param {any} element
 * @param {any} [submitter]
 */
const collect = (element, submitter) => {
  /** @type {any} */
  const values = {};
  for (let node = element; node; node = node.parentElement) {
    for (const name of node.getAttributeNames()) {
      if (name.startsWith("data-value-")) values[name.slice(11).replaceAll("-", "_")] ??= node.getAttribute(name);
    }
  }
  const fields = [element, find(element, "include")].flatMap((each) =>
    each ? [each, ...(each.elements ?? each.querySelectorAll(FIELDS))] : [],
  );
  const names = new Set();
  const isReset = element.matches("[data-reset]");
  for (const field of new Set(fields)) {
    for (const part of field.options ?? [field]) {
      const [state, initial] = stateOf(part);
      if (!isReset) part[initial] = part[state];
    }
    const { name } = field;
    const isOff = field.matches(":disabled,[type=file],button") || (field.matches(BOXES) && !field.checked);
    if (!name || (isOff && field !== submitter)) continue;
    for (const { value } of field.selectedOptions ?? [field]) {
      values[name] = names.has(name) ? [values[name], value].flat() : value;
      names.add(name);
    }
  }
  return values;
};

/**
 * Ask the user. Views cannot use `confirm()`.
 * @param {string} question
 * @returns {Promise<boolean>}
 */
const ask = (question) =>
  new Promise((answer) => {
    const [text, ...buttons] = dialog.children;
    text.textContent = question;
    for (const button of buttons) button.onclick = () => dialog.close(button.value);
    dialog.returnValue = "";
    dialog.onclose = () => answer(!!dialog.returnValue);
    dialog.showModal();
  });

/**
 * Show errors beside the element that caused them and its fields. Errors that it showed before are removed.
 * @param {any} element
 * @param {any} [errors] Messages by the name of the field, or by "".
 */
const complain = (element, errors = {}) => {
  for (const { text, field } of element.shown ?? []) {
    text.remove();
    field.ariaInvalid = null;
  }
  element.shown = Object.entries(errors).map(([name, textContent]) => {
    const text = Object.assign(document.createElement("p"), { className: "error", role: "alert", textContent });
    const field = (name && element.querySelector("[name=" + CSS.escape(name) + "]")) || element;
    field[field.matches("form,main") ? "append" : "after"](text);
    field.ariaInvalid = "true";
    return { text, field };
  });
};

let count = 0;
/** Requests wait for each other, so that each answer shows all changes before it. @type {Promise<any>} */
let queue = Promise.resolve();

/**
 * Call the action of an element, and put what it returns into the page.
 * @param {any} element
 * @param {string} [type] The event. Default: none, for "load" and "every".
 * @param {any} [submitter]
 */
const act = async (element, type = "", submitter = element) => {
  const { action, confirm, reset } = element.dataset;
  // A double click acts once. What is typed later counts.
  if (element.pending && !/input|change/.test(type)) return;
  if (confirm && !(await ask(confirm))) return;
  const target = find(element, "target") ?? root;
  const indicator = find(element, "indicator") ?? {};
  const number = (element.pending = count += 1);
  const wait = (/** @type {string | null} */ busy) => {
    for (const each of [element, target, submitter]) each.ariaBusy = busy;
    indicator.hidden = !busy;
    if (type) status.textContent = busy ? "Loading" : "Updated";
  };
  wait("true");
  try {
    const params = { name: action, arguments: collect(element, submitter) };
    const call = queue.then(() => element.pending === number && app.callServerTool(params));
    queue = call.catch(() => {});
    const result = await call;
    if (!result) return;
    const { html, refresh, model, errors } = result.structuredContent ?? {};
    complain(element, result.isError ? (errors ?? { "": textOf(result) }) : {});
    if (refresh) show(await app.callServerTool(page));
    if (html != null) swap(target, html, inherited(element, "swap"));
    if (model) app.updateModelContext({ content: [{ type: "text", text: model }] }).catch(() => {});
    if (reset != null && !result.isError) element.reset();
  } catch (error) {
    complain(element, { "": error.message });
  }
  if (element.pending === number) wait((element.pending = null));
};

/** @param {any} event */
const handle = (event) => {
  const { target, type, submitter } = event;
  const link = type === "click" && target.closest("a");
  if (link || type === "submit") event.preventDefault();
  for (let element = target; (element = element?.closest("[data-action]")); element = element.parentElement) {
    const usual = element.matches("form") ? "submit" : element.matches(FIELDS) ? "change" : "click";
    for (const [name, delay] of triggersOf(element, usual)) {
      if (name !== type) continue;
      clearTimeout(element.delay);
      element.delay = setTimeout(act, parseFloat(delay) || 0, element, type, submitter ?? undefined);
      return;
    }
  }
  if (link) app.openLink({ url: link.href }).catch(() => {});
};
for (const type of ["click", "submit", "change", "input"]) document.addEventListener(type, handle);

/**
 * Show a result of the tool that opened the page.
 * @param {any} result
 */
const show = (result) => {
  const { html, tool, id } = result.structuredContent ?? {};
  root.ariaBusy = null;
  page.name = tool;
  if (html == null) complain(root, { "": textOf(result) });
  else swap(root, fresh[id] ?? html, "inner");
};

export { app, complain, page, root, sanitize, scripts, show, textOf };
