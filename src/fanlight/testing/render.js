// What a person sees of a View: its text, and what in it looks like the View's own word for an error.
() => {
  const isSeen = (element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 1 && height > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const wordsOf = (element) => (element.innerText ?? element.textContent ?? "").replace(/\s+/g, " ").trim();
  const NAMED = /(?:^|[\s_-])(?:errors?|exception|failure|fatal)(?:$|[\s_-])/i;
  const CONTROL = "button, a, input, select, option, label, summary, textarea, th, legend";
  const looks = (element) =>
    element.getAttribute("role") === "alert" ||
    NAMED.test(`${element.getAttribute("class") ?? ""} ${element.id}`) ||
    element.matches("vite-error-overlay, nextjs-portal");
  const every = (root) =>
    [...root.querySelectorAll("*")].flatMap((element) => [
      element,
      ...(element.shadowRoot ? every(element.shadowRoot) : []),
    ]);
  const elements = every(document);
  const complaint = elements.find(
    (element) => looks(element) && !element.matches(CONTROL) && isSeen(element) && wordsOf(element),
  );
  return { text: document.body ? wordsOf(document.body) : "", complaint: complaint ? wordsOf(complaint) : null };
};
