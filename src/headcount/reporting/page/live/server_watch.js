// Whether the server is there: a banner while it is not, with the way to start it again, and one that asks for its token.
import { h } from "../dom.js";
import { isThere, read, rememberToken } from "./requests.js";

const PULSE = 4000; // milliseconds between looks
const AGAIN = 1000; // while it is lost

// `found(model)` is called with the model when the server is back; `lost()` when it is gone.
export function serverWatch({ lost, found }) {
  const node = h("div", { class: "banner", role: "alert", hidden: true });
  let isLost = false;
  let said = null;

  const show = (...parts) => {
    node.replaceChildren(...parts);
    node.hidden = false;
  };

  function lose(model) {
    lost();
    if (isLost) return;
    isLost = true;
    const port = location.port ? ` --port ${location.port}` : "";
    const study = model?.study ? " --study STUDY" : "";
    show(
      h("b", {}, "The server does not answer."),
      " Start it again with ",
      h("code", {}, `headcount live ${model?.model ?? "MODEL"}${study}${port}`),
      ": this page then goes on by itself, and what you typed stays.",
    );
    seek();
  }

  async function seek() {
    while (!(await isThere())) await new Promise((done) => setTimeout(done, AGAIN));
    try {
      const model = await read("api/model");
      isLost = false;
      node.hidden = true;
      found(model);
    } catch (error) {
      if (error.code === "token") askForToken();
      else setTimeout(seek, AGAIN);
    }
  }

  function askForToken() {
    const box = h("input", { type: "text", spellcheck: "false", "aria-label": "Token", autocomplete: "off" });
    const go = () => {
      rememberToken(box.value.trim());
      location.reload();
    };
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") go();
    });
    show(
      h("b", {}, "This server needs its token."),
      " It stands behind # in the address that headcount printed. ",
      box,
      " ",
      h("button", { type: "button", class: "small strong", onclick: go }, "Go on"),
    );
    box.focus();
  }

  // A server that ends while nobody types is noticed too.
  const start = (model) => {
    if (said === null)
      setInterval(async () => {
        if (!isLost && document.visibilityState === "visible" && !(await isThere())) lose(said);
      }, PULSE);
    said = model;
  };

  return { node, lose, askForToken, start, tell: show };
}

// Another model in the place of the old one needs another page.
export const identity = ({ model, kind, heads, dtype, study, version }) =>
  JSON.stringify([model, kind, heads, dtype, study, version]);
