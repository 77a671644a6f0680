// Elements in one line each. Text is always set as text, never as markup: what models and data say stays words.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// A drawing that shrinks with its page but never grows beyond its size.
export function drawing(width, height, label, ...children) {
  const node = s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    children,
  );
  node.classList.add("drawing");
  return node;
}

export function select(label, options, value, change) {
  const groups = new Map();
  for (const option of options) {
    const group = option.group ?? "";
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(h("option", { value: option.value, selected: option.value === value }, option.title));
  }
  const box = h("select", { "aria-label": label, onchange: (event) => change(event.target.value) });
  for (const [group, members] of groups) box.append(...(group ? [h("optgroup", { label: group }, members)] : members));
  return h("label", { class: "choice" }, h("span", {}, label), box);
}
