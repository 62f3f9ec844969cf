// Light or dark, before anything is drawn. The dashboard itself takes over from here (src/lib/preferences/theme.ts).
(() => {
  let wish = null;
  try {
    wish = localStorage.getItem("drover.theme");
  } catch {
    // a browser that keeps nothing for this page
  }
  const isDark = wish === "dark" || (wish !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
})();
