// The theme that was chosen, before anything is drawn.
try {
  const theme = JSON.parse(localStorage.getItem("seewhy-theme") ?? "null");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {}
