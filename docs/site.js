// Names and focus that the theme's own elements lack. It adds some of them late, so they are watched for.
let named = 0;
const name = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const part of document.querySelectorAll("pre > code, .highlight-ipynb, .jp-OutputArea-output, .md-typeset__scrollwrap")) part.tabIndex = 0;
  document.querySelectorAll("nav:not([data-named])").forEach((list) => {
    list.dataset.named = String(++named);
    list.removeAttribute("aria-labelledby");
    list.setAttribute("aria-label", `${list.getAttribute("aria-label") ?? "Part"} ${named}`);
  });
  for (const head of document.querySelectorAll("th:empty")) head.replaceWith(document.createElement("td"));
};
name();
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
