// The same in Python, and as a command: what is seen for one text, and what would show it for a data set.
import { asked } from "./selections.js";

const quoted = (text) => JSON.stringify(text);

// `texts`: those that are sent. The lines of a script that computes the same answer.
export function python(model, texts, selections) {
  const off = asked(model, selections);
  const contexts = off.map(({ heads, how, strength }) => {
    const options = [
      how === "zero" ? "" : `, how=${quoted(how)}`,
      how === "mean" ? ", reference=reference" : "",
      strength === 1 ? "" : `, strength=${strength}`,
    ];
    return `hc.ablated(model, ${quoted(heads)}${options.join("")})`;
  });
  const run = `output = ${call(model, texts)}`;
  const mean = off.some(({ how }) => how === "mean");
  if (model.images)
    return [
      "import headcount as hc",
      "from PIL import Image",
      "",
      `model, processor = hc.load(${quoted(model.model)})`,
      `inputs = processor(images=Image.open("image.png").convert("RGB"), return_tensors="pt")  # your image`,
      ...(contexts.length
        ? [`with ${contexts.join(", ")}:`, "    output = model(**inputs)"]
        : ["output = model(**inputs)"]),
    ].join("\n");
  return [
    "import headcount as hc",
    "",
    `model, tokenizer = hc.load(${quoted(model.model)})`,
    ...(mean ? [`reference = tokenizer(texts, padding=True, return_tensors="pt")  # texts to take the mean over`] : []),
    ...(contexts.length ? [`with ${contexts.join(", ")}:`, `    ${run}`] : [run]),
  ].join("\n");
}

function call(model, texts) {
  const written = texts.map((text) => quoted(model.mask ? text.replaceAll(model.mask, model.mask_token) : text));
  const tensors = 'truncation=True, return_tensors="pt"';
  if (model.kind === "multiple-choice") {
    const [context, ...choices] = written;
    const pairs = `tokenizer([${context}] * ${choices.length}, [${choices.join(", ")}], padding=True, ${tensors})`;
    return `model(**{name: rows[None] for name, rows in ${pairs}.items()})`;
  }
  if (model.kind === "similarity")
    return `model(**tokenizer([${written.join(", ")}], padding=True, ${tensors}))  # its last_hidden_state is pooled`;
  if (model.kind === "token-classification")
    return `model(**tokenizer(${written[0]}.split(), is_split_into_words=True, ${tensors}))`;
  if (model.kind === "translation") return `model.generate(**tokenizer(${written[0]}, ${tensors}))`;
  return `model(**tokenizer(${written.join(", ")}, ${tensors}))`;
}

const shell = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// Commands that score the model without these heads on a data set; heads by degrees have none.
export function commands(model, selections) {
  const on = `--task ${shell(model.data.task)} --data ${shell(model.data.data)}`;
  return asked(model, selections)
    .flatMap(({ heads, how, strength }) => [
      ...(strength === 1 ? [] : [`# headcount sweep replaces heads as a whole, not at strength ${strength}:`]),
      `echo ${shell(heads)} > heads.txt`,
      `headcount sweep ${shell(model.model)} ${on} --sets heads.txt${how === "zero" ? "" : ` --how ${how}`}`,
    ])
    .join("\n");
}
