// Runs in a View that is checked, before its own scripts: reports what the browser blocks, and measures the document.
// It reports through the console, so that nothing but one symbol is added to the View's window.
(() => {
  if (!location.hostname.startsWith("view.")) return;
  const KEY = Symbol.for("fanlight.check");
  if (window[KEY]) return;
  const say = console.debug.bind(console, "fanlight.check");
  const later = setTimeout.bind(window);
  const onFrame = requestAnimationFrame.bind(window);
  let changed = 0;
  new MutationObserver(() => (changed = performance.now())).observe(document, {
    subtree: true,
    childList: true,
    attributes: true,
    characterData: true,
  });
  addEventListener("message", () => (changed = performance.now()));
  addEventListener("securitypolicyviolation", (event) => {
    if (event.disposition === "enforce") say(`${event.effectiveDirective} ${event.blockedURI}`);
  });

  /** Wait until the document has a certain age in milliseconds. */
  const aged = async (age) => {
    while (performance.now() < age) await new Promise((done) => later(done, 15));
  };

  /**
   * Wait until a frame was drawn, because a ResizeObserver is called only then, and nothing has changed for `quiet`
   * milliseconds; at most for `most`.
   */
  const rest = async (quiet, most) => {
    const until = performance.now() + most;
    await new Promise((done) => {
      onFrame(() => later(done, 0));
      later(done, most);
    });
    changed = performance.now();
    while (performance.now() - changed < quiet && performance.now() < until) {
      await new Promise((done) => later(done, 15));
    }
  };

  // Colours, as the browser itself reads them.
  const paper = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      paper.clearRect(0, 0, 1, 1);
      paper.fillStyle = colour;
      paper.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = paper.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((part, i) => part * a + under[i] * (1 - a));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => {
      const share = part / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isDark = () => {
    const scheme = getComputedStyle(document.documentElement).colorScheme;
    if (scheme.includes("dark") && scheme.includes("light")) return matchMedia("(prefers-color-scheme: dark)").matches;
    return scheme.includes("dark");
  };
  /** The colour behind an element; null if a picture or a filter makes it unknown. */
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none" || style.filter !== "none" || style.mixBlendMode !== "normal") return null;
      if (["fixed", "absolute"].includes(style.position) && at !== document.body) layers.unknown = true;
      const layer = rgba(style.backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    const opaque = layers.at(-1)?.[3] === 1;
    if (layers.unknown && !opaque) return null;
    const base = opaque ? layers.pop().slice(0, 3) : isDark() ? [18, 18, 18] : [255, 255, 255];
    return layers.reverse().reduce((under, layer) => over(layer, under), base);
  };

  const isShown = (element) =>
    element.checkVisibility?.({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) ?? true;
  const all = (root = document) =>
    [...root.querySelectorAll("*")].flatMap((element) => [
      element,
      ...(element.shadowRoot ? all(element.shadowRoot) : []),
    ]);
  const named = (element) => {
    const type = element.getAttribute("type");
    const [first] = element.classList;
    const which = element.id ? `#${element.id}` : first ? `.${first}` : "";
    return `<${element.localName}${type ? ` type=${type}` : ""}${which}>`;
  };
  const ownText = (element) =>
    [...element.childNodes]
      .filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => node.data.trim())
      .join(" ")
      .trim();

  const contrast = (elements) => {
    const poor = [];
    for (const element of elements) {
      const text = ownText(element);
      if (!text || element.closest("[aria-hidden=true], :disabled, script, style, svg, option, noscript")) continue;
      if (!/[\p{L}\p{N}]/u.test(text)) continue;
      const style = getComputedStyle(element);
      const { width, height } = element.getBoundingClientRect();
      if (width < 2 || height < 2 || style.clipPath !== "none" || style.backgroundClip === "text") continue;
      let opacity = 1;
      for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
      if (opacity < 0.1) continue;
      const under = behind(element);
      if (!under) continue;
      const [r, g, b, a] = rgba(style.color);
      if (a * opacity < 0.1) continue;
      const front = over([r, g, b, a * opacity], under);
      const [light, dark] = [luminance(front), luminance(under)].sort((one, two) => two - one);
      const ratio = (light + 0.05) / (dark + 0.05);
      const size = parseFloat(style.fontSize);
      const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      if (ratio < needed - 0.05) poor.push({ text: text.slice(0, 40), ratio: Math.round(ratio * 100) / 100, needed });
    }
    return poor;
  };

  const CONTROLS =
    "button, a[href], input:not([type=hidden]), select, textarea, img, area[href], [role=button], [role=link], " +
    "[role=checkbox], [role=switch], [role=tab], [role=slider], [role=textbox], [role=combobox], [role=img], svg[role]";
  const referred = (element, attribute) =>
    (element.getAttribute(attribute) ?? "")
      .split(/\s+/)
      .map((id) => (id && element.getRootNode().getElementById?.(id)?.textContent.trim()) || "")
      .join(" ")
      .trim();
  const nameOf = (element) =>
    referred(element, "aria-labelledby") ||
    element.getAttribute("aria-label")?.trim() ||
    [...(element.labels ?? [])].map((label) => label.textContent.trim()).join("") ||
    element.getAttribute("alt")?.trim() ||
    (["button", "submit", "reset"].includes(element.type) &&
      element.localName === "input" &&
      (element.value || element.type !== "button")) ||
    (["input", "textarea", "select"].includes(element.localName) ? "" : element.innerText?.trim()) ||
    [...element.querySelectorAll("img[alt], [aria-label], svg > title")]
      .map((each) => each.getAttribute("alt") || each.getAttribute("aria-label") || each.textContent)
      .join("")
      .trim() ||
    element.getAttribute("title")?.trim() ||
    element.getAttribute("placeholder")?.trim();
  const isDecoration = (element) =>
    element.closest("[aria-hidden=true]") ||
    ["presentation", "none"].includes(element.getAttribute("role")) ||
    (element.localName === "img" && element.getAttribute("alt") === "");
  const unnamed = (elements) =>
    elements
      .filter((each) => each.matches(CONTROLS) && !isDecoration(each) && isShown(each) && !nameOf(each))
      .map(named);

  const OF_HOSTS =
    /^--(?:color-(?:background|text|border|ring)-|font-(?:sans|mono|weight-|text-|heading-)|border-(?:radius|width)-|shadow-)/;
  const variables = (elements) => {
    const sheets = [...document.styleSheets, ...document.adoptedStyleSheets];
    const texts = sheets.map((sheet) => {
      try {
        return [...sheet.cssRules].map((rule) => rule.cssText).join("\n");
      } catch {
        return "";
      }
    });
    texts.push(...elements.map((element) => element.getAttribute("style") ?? ""));
    const css = texts.join("\n");
    const defined = new Set([...css.matchAll(/(--[\w-]+)\s*:/g)].map((found) => found[1]));
    const bare = [...css.matchAll(/var\(\s*(--[\w-]+)\s*\)/g)].map((found) => found[1]);
    return [...new Set(bare)].filter((name) => OF_HOSTS.test(name) && !defined.has(name));
  };

  const look = (elements) => {
    const some = [document.documentElement, document.body, ...elements.filter((each) => ownText(each)).slice(0, 15)];
    return some
      .filter(Boolean)
      .map((element) => {
        const { color, backgroundColor } = getComputedStyle(element);
        return `${color}/${backgroundColor}`;
      })
      .concat(isDark() ? "dark" : "light")
      .join(" ");
  };

  const PICTURES = "canvas, img, svg, video, iframe, progress, meter, input, button, select, textarea, object";
  const measure = () => {
    const root = document.documentElement;
    const elements = document.body
      ? all().filter((element) => document.body.contains(element) || element.getRootNode() !== document)
      : [];
    const shown = elements.filter(isShown);
    const overflow = [root, document.body].map((each) => each && getComputedStyle(each).overflowY);
    const scrolls = elements.some((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowY));
    return {
      visible: shown.some(
        (each) =>
          (ownText(each) && !each.matches("script, style, noscript, template")) ||
          (each.matches(PICTURES) && each.getBoundingClientRect().width > 1),
      ),
      contrast: contrast(shown),
      unnamed: unnamed(shown),
      variables: variables(elements),
      look: look(shown),
      lang: root.lang,
      title: document.title,
      scrollWidth: root.scrollWidth,
      clientWidth: root.clientWidth,
      scrollHeight: Math.max(root.scrollHeight, document.body?.scrollHeight ?? 0),
      clientHeight: root.clientHeight,
      clipped:
        !scrolls &&
        overflow.some((each) => ["hidden", "clip"].includes(each)) &&
        Math.max(root.scrollHeight, document.body?.scrollHeight ?? 0) > innerHeight + 8,
    };
  };

  /** Make the content higher, as a View does that shows more. */
  const grow = () => {
    const more = document.createElement("div");
    more.style.cssText = "height: 300px; width: 1px; flex: none;";
    document.body.append(more);
  };

  /** Click the buttons whose names say that they make the View larger. */
  const expand = () => {
    const says = /full.?screen|expand|maximi[sz]e|enlarge|picture.in.picture|\bpip\b/i;
    const buttons = all().filter((each) => each.matches("button, [role=button]") && isShown(each));
    const found = buttons.filter((each) => says.test(String(nameOf(each) ?? "")) || says.test(each.title));
    for (const button of found.slice(0, 3)) button.click();
    return found.length;
  };

  Object.defineProperty(window, KEY, { value: { aged, rest, measure, grow, expand } });
})();
