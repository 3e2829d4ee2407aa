// A page within a chat (MCP Apps): the program around it says what a tool answered, and that is shown.
"use strict";

page.define("in-chat", (root) => {
  const say = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  const show = (answer) => {
    const drawn = new DOMParser().parseFromString(answer._meta?.["seewhy/page"] || "", "text/html").body;
    const said = answer.structuredContent?.said || answer.content?.[0]?.text || "";
    root.replaceChildren(...(drawn.childElementCount ? drawn.childNodes : [page.element("p", said)]));
  };

  const dress = (context) => {
    if (["dark", "light"].includes(context?.theme)) document.documentElement.dataset.theme = context.theme;
  };

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (data.id === 1 && data.result) {
      dress(data.result.hostContext);
      say({ method: "ui/notifications/initialized", params: {} });
    } else if (data.method === "ui/notifications/tool-result") {
      show(data.params);
    } else if (data.method === "ui/notifications/host-context-changed") {
      dress(data.params);
    } else if (data.method === "ui/resource-teardown") {
      say({ id: data.id, result: {} });
    }
  });

  new ResizeObserver(() => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    say({ method: "ui/notifications/size-changed", params: { height } });
  }).observe(document.documentElement);
  const about = { name: "seewhy", version: root.dataset.version };
  const params = { protocolVersion: "2026-01-26", appInfo: about, appCapabilities: {} };
  say({ id: 1, method: "ui/initialize", params });
});
