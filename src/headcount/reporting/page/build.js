// The script of the page, bundled: `npm run build`, or `npm run build -- FILE` to look at the result first.
// What is bundled asks for its licence in every copy: the licences are read where the packages have them.

import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const outfile = process.argv[2] ?? "built/page.js";
const options = {
  entryPoints: ["main.js"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  write: false,
  metafile: true,
};
const { metafile, outputFiles } = await build(options);
const packages = [
  ...new Set(
    Object.keys(metafile.inputs)
      .map((path) => /^node_modules\/([^/]+)\//.exec(path)?.[1])
      .filter(Boolean),
  ),
].sort();
const licences = new Map();
for (const name of packages) {
  const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  licences.set(text, [...(licences.get(text) ?? []), name]);
}
const banner = [...licences]
  .map(([text, names]) => `${names.join(", ")}:\n${text}`)
  .join("\n\n")
  .replaceAll("*/", "* /");
writeFileSync(
  outfile,
  `/*\nThis file is made by npm run build from the sources beside it. It contains:\n\n${banner}\n*/\n` +
    outputFiles[0].text,
);
