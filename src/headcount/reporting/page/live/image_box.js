// Where an image is given to a model that reads images: a file, a paste, a drop, or a drawn example.
import { h } from "../dom.js";

const MOST_BYTES = 1_000_000; // of a file that is sent as it is
const LONGEST = 1024; // pixels of a side, where it is not
const SENT = ["image/png", "image/jpeg"];

// `typed([url])` is called with each new image, a data URL. Gives what textBoxes gives.
export function imageBox(model, texts, typed) {
  let url = "";
  const picture = h("img", { class: "given-image", alt: "" });
  const said = h("p", { class: "quiet", role: "status" });
  const fill = ([wanted]) => {
    url = wanted ?? "";
    picture.hidden = !url;
    if (url) picture.src = url;
    const at = model.examples.findIndex(([one]) => one === url);
    picture.alt = at < 0 ? "the given image" : model.example_names[at];
    examples.value = at < 0 ? "" : String(at);
  };
  const take = async (given) => {
    if (!given) return;
    try {
      fill([await readImage(given)]);
      said.textContent = given.name ?? "";
      typed([url]);
    } catch {
      said.textContent = "This browser cannot read that file as an image; give a PNG or JPEG.";
    }
  };
  const file = h("input", {
    type: "file",
    accept: "image/*",
    "aria-label": "Image file",
    onchange: () => take(file.files[0]),
  });
  const examples = h(
    "select",
    {
      "aria-label": "Examples",
      onchange: () => {
        if (examples.value === "") return;
        fill(model.examples[Number(examples.value)]);
        said.textContent = "";
        file.value = "";
        typed([url]);
      },
    },
    h("option", { value: "" }, "Choose an example …"),
    model.example_names.map((name, at) => h("option", { value: String(at) }, name)),
  );
  const box = h(
    "div",
    { class: "image-box" },
    picture,
    h(
      "div",
      {},
      file,
      h("p", { class: "quiet" }, "Or drop an image here, or paste one. A link brings back the heads, not the image."),
      said,
    ),
  );
  const imageIn = (data) => [...(data?.files ?? [])].find(({ type }) => type.startsWith("image/"));
  box.addEventListener("dragover", (event) => event.preventDefault());
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    take(imageIn(event.dataTransfer));
  });
  addEventListener("paste", (event) => take(imageIn(event.clipboardData)));
  const node = h(
    "section",
    { class: "live-text", "aria-labelledby": "text-title" },
    h(
      "div",
      { class: "title" },
      h("h2", { id: "text-title" }, h("span", { class: "step" }, "1 · "), "Give an image"),
      h("label", { class: "examples" }, examples),
    ),
    box,
  );
  fill(texts);
  return { node, fill, warn: () => {}, focus: () => file.focus() };
}

// The data URL of a file: as it is, or, where it is large or of another format, drawn smaller.
async function readImage(file) {
  const image = await createImageBitmap(file);
  if (SENT.includes(file.type) && file.size <= MOST_BYTES) return readFile(file);
  const scale = Math.min(1, LONGEST / Math.max(image.width, image.height));
  const canvas = h("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff"; // a JPEG has no transparency
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/jpeg", 0.92);
}

const readFile = (file) =>
  new Promise((done, failed) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => done(reader.result));
    reader.addEventListener("error", () => failed(reader.error));
    reader.readAsDataURL(file);
  });
