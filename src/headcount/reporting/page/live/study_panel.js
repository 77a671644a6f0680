// Everything that the study knows of a head, over the live page, as in a report.
import { h } from "../dom.js";
import { headPage } from "../head.js";

// `behind`: what is out of reach meanwhile; `closed()` is called afterwards.
export function studyPanel(behind, closed) {
  const node = h("section", {
    id: "head",
    role: "dialog",
    "aria-modal": "true",
    "aria-labelledby": "head-title",
    hidden: true,
  });
  let text = 0;

  function open(study, index) {
    const { heads } = study;
    node.replaceChildren(
      headPage(study, index, {
        text,
        chooseText: (chosen) => {
          text = chosen;
        },
        close,
        step: (by) => open(study, (index + by + heads.length) % heads.length),
      }),
    );
    node.hidden = false;
    node.scrollTop = 0;
    document.body.classList.add("opened");
    for (const one of behind) one.inert = true;
    node.querySelector("#head-title").focus({ preventScroll: true });
  }

  function close() {
    node.hidden = true;
    node.replaceChildren();
    document.body.classList.remove("opened");
    for (const one of behind) one.inert = false;
    closed();
  }

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !node.hidden) close();
  });
  return { node, open };
}
