// Passing the page on: a link to what is seen, and how to cite it.
import { h } from "./dom.js";

export function copyButton(label, text, { name = label, done = "Copied" } = {}) {
  const button = h("button", { type: "button", class: "small", "aria-label": name }, label);
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = done;
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}

// Pages that are opened from a disk may not be given the clipboard: then a field is copied from.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h("textarea", { readonly: true, "aria-hidden": "true" }, text);
    document.body.append(field);
    field.select();
    document.execCommand?.("copy");
    field.remove();
  }
}

export function citation(study, version) {
  const what = [study.model, study.task].filter(Boolean).join(" on ");
  const title = `Attention heads of ${what || study.name}`;
  const entry = `@misc{headcount,\n  title = {${title}},\n  note = {Study ${study.name}, made with Headcount ${version}}\n}`;
  return h(
    "details",
    { class: "folded", id: "cite" },
    h("summary", {}, "Cite this"),
    h("pre", {}, entry),
    copyButton("Copy", () => entry, { name: "Copy the citation" }),
  );
}
