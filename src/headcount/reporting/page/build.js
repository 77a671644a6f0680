// The scripts of the report and of the live page, bundled: `npm run build`, or `npm run build -- FOLDER` to look at
// them first.
// What is bundled asks for its licence in every copy: the licences are read where the packages have them.

import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const folder = process.argv[2] ?? "built";
const entries = { "page.js": "main.js", "live.js": "live/main.js" };
const options = {
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
  metafile: true,
};
for (const [name, entry] of Object.entries(entries)) {
  const { metafile, outputFiles } = await build({ ...options, entryPoints: [entry] });
  const packages = [
    ...new Set(
      Object.keys(metafile.inputs)
        .map((path) => /^node_modules\/([^/]+)\//.exec(path)?.[1])
        .filter(Boolean),
    ),
  ].sort();
  const licences = new Map();
  for (const one of packages) {
    const text = readFileSync(`node_modules/${one}/LICENSE`, "utf8").trim();
    licences.set(text, [...(licences.get(text) ?? []), one]);
  }
  const banner = [...licences]
    .map(([text, names]) => `${names.join(", ")}:\n${text}`)
    .join("\n\n")
    .replaceAll("*/", "* /");
  writeFileSync(
    `${folder}/${name}`,
    `/*\nThis file is made by npm run build from the sources beside it. It contains:\n\n${banner}\n*/\n` +
      outputFiles[0].text,
  );
}
