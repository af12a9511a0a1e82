// SPDX-License-Identifier: MIT OR Apache-2.0
// Builds the page into the package. The same source gives the same bytes: CI builds it again and compares.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";

const page = new URL("../orchestrator/marklab/studio/page/", import.meta.url).pathname;

await mkdir(page, { recursive: true });
const { metafile } = await build({
  entryPoints: ["src/studio.ts"],
  outdir: page,
  bundle: true,
  minify: true,
  target: "es2022",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});
await copyFile("src/index.html", `${page}index.html`);
const styles = ["node_modules/uplot/dist/uPlot.min.css", "src/studio.css"];
await writeFile(`${page}studio.css`, (await Promise.all(styles.map((path) => readFile(path, "utf8")))).join("\n"));

// The licences of what the bundle contains.
const inside = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
const notices = [];
for (const name of [...new Set(inside)].filter(Boolean).sort()) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence`);
  notices.push(`${name} ${version} (${license})\n\n${(await readFile(`${folder}/${file}`, "utf8")).trim()}\n`);
}
await writeFile(`${page}licences.txt`, notices.join("\n---\n\n"));
