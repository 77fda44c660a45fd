// A picture with a light and a dark version follows the site's switch; by itself it would follow the system alone.
const sources = [...document.querySelectorAll("picture > source[media='(prefers-color-scheme: dark)']")];

function followTheme() {
  const isDark = document.body.dataset.mdColorScheme === "slate";
  for (const source of sources) {
    source.media = isDark ? "all" : "not all";
  }
}

new MutationObserver(followTheme).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
followTheme();
