// SPDX-License-Identifier: MIT OR Apache-2.0
// Builds the extension into dist/, in one file with the packages that it uses, and their licences.
import { build } from "esbuild";
import { readFile, readdir, writeFile } from "node:fs/promises";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outdir: "dist",
  bundle: true,
  external: ["vscode"], // the editor has it
  format: "cjs",
  platform: "node",
  target: "node20", // that of VS Code 1.91
  minify: true,
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

const inside = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[0]);
const notices = [`Marklab (MIT OR Apache-2.0)\n\n${(await readFile("../../LICENSE-MIT", "utf8")).trim()}\n`];
for (const folder of [...new Set(inside)].filter(Boolean).sort()) {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence`);
  notices.push(`${name} ${version} (${license})\n\n${(await readFile(`${folder}/${file}`, "utf8")).trim()}\n`);
}
await writeFile("dist/licences.txt", notices.join("\n---\n\n"));
