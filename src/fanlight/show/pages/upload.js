// Where users choose or drop files, and what happens to them.
import { upload } from "fanlight/files";
import { app, at, busy, complain, make, page, render, renderers, textOf } from "./base.js";
import { sizeOf } from "./figures.js";

/**
 * Return why a file cannot be uploaded, or "". The server checks the same, and what really arrives.
 * @param {File} file
 * @param {{ accept: string[], maxBytes: number }} limits
 */
const reasonAgainst = ({ name, size }, { accept, maxBytes }) => {
  if (size > maxBytes) return `${name} has ${sizeOf(size)}, and at most ${sizeOf(maxBytes)} can be uploaded.`;
  // Browsers disagree about types, so the server decides about those, before anything is sent.
  const fits = (/** @type {string} */ entry) => !entry.startsWith(".") || name.toLowerCase().endsWith(entry);
  return accept.length && !accept.some(fits) ? `${name} is of another type. Accepted: ${accept.join(", ")}.` : "";
};

// A file that is dropped beside the zone must not replace the View.
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());

renderers.upload = (item) => {
  const several = item.files > 1;
  const accepted = [
    item.accept.join(", "),
    several ? `up to ${item.files} files` : "",
    `up to ${sizeOf(item.maxBytes)}`,
  ];
  const hint = accepted.filter(Boolean).join(" · ") + (several ? " each" : "");
  const input = make("input", { type: "file", multiple: several, accept: item.accept.join(",") });
  const zone = make(
    "label",
    { className: "drop" },
    make("strong", { textContent: several ? "Choose files" : "Choose a file" }),
    make("span", { textContent: several ? "or drop them here" : "or drop it here" }),
    make("small", { textContent: hint }),
    input,
  );

  /** @param {File[]} files */
  const send = async (files) => {
    if (!files.length || input.disabled) return;
    const reasons = files.map((file) => reasonAgainst(file, item)).filter(Boolean);
    const most = several ? `${item.files} files` : "one file";
    if (files.length > item.files) reasons.unshift(`At most ${most} at a time.`);
    complain(reasons.join(" "));
    if (reasons.length) return;
    const label = several && files.length > 1 ? `Uploading ${files.length} files…` : `Uploading ${files[0]?.name}…`;
    input.disabled = zone.ariaDisabled = true;
    try {
      const result = await busy(label, ({ signal, onprogress }) =>
        upload(files, {
          app,
          tool: item.target,
          arguments: page.input,
          signal,
          onprogress: ({ phase, progress, total, message }) =>
            onprogress(
              phase === "run" || progress === total
                ? { progress, total: phase === "run" ? total : 0, message: message ?? "Uploaded. Working on it…" }
                : { progress, total, numbers: `${sizeOf(progress)} of ${sizeOf(total ?? 0)}` },
            ),
        }),
      );
      finish(result);
    } catch (error) {
      complain(error.name === "AbortError" ? "The upload was cancelled." : `The upload failed: ${error.message}`);
    }
    input.disabled = zone.ariaDisabled = false;
    input.value = "";
    if (zone.isConnected) input.focus();
  };

  /** @param {any} result */
  const finish = (result) => {
    if (result.isError) return complain(textOf(result));
    page.show(result);
    const again = make("button", { textContent: several ? "Upload more files" : "Upload another file" });
    again.onclick = () => {
      complain("");
      at("tools").replaceChildren();
      at("main").replaceChildren(render(item));
      at("main").querySelector("input").focus();
    };
    at("tools").prepend(again);
    at("title").tabIndex = -1;
    at("title").focus();
    // The model does not see the calls of a View. Hosts without this feature reject the request.
    if (item.tellModel) app.updateModelContext({ content: result.content }).catch(() => {});
  };

  input.onchange = () => send([...input.files]);
  zone.ondragover = () => zone.classList.add("over");
  zone.ondragleave = () => zone.classList.remove("over");
  zone.ondrop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    zone.classList.remove("over");
    send([...(event.dataTransfer?.files ?? [])]);
  };
  return make("section", {}, make("p", { className: "about", dir: "auto", textContent: item.about }), zone);
};
