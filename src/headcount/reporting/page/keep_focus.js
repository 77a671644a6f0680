// What has the focus keeps it when the part of the page around it is drawn anew.
const nameOf = (node) => node.getAttribute("aria-label") ?? node.textContent;

export function keepFocus(container, work) {
  const active = document.activeElement;
  const inside = active && active !== container && container.contains(active);
  const [tag, name, head] = inside ? [active.tagName, nameOf(active), active.dataset?.head] : [];
  const [start, end] =
    inside && tag === "INPUT" && active.type === "search" ? [active.selectionStart, active.selectionEnd] : [];
  work();
  if (!inside || container.contains(document.activeElement)) return;
  const same = [...container.querySelectorAll(tag)].find((node) =>
    head === undefined ? nameOf(node) === name : node.dataset.head === head,
  );
  same?.focus({ preventScroll: true });
  if (start !== undefined) same?.setSelectionRange?.(start, end);
}
