// SPDX-License-Identifier: MIT OR Apache-2.0
// Prints how the grammar reads a program, for tests: a JSON list of [text, innermost scope].
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const wasm = createRequire(import.meta.url).resolve("vscode-oniguruma/release/onig.wasm");
await oniguruma.loadWASM(await readFile(wasm));
const grammar = await new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => JSON.parse(await readFile(new URL("syntaxes/p4.tmLanguage.json", import.meta.url), "utf8")),
}).loadGrammar("source.p4");

let stack = textmate.INITIAL;
const found = [];
for (const line of (await readFile(process.argv[2], "utf8")).split("\n")) {
  const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
  stack = ruleStack;
  for (const { startIndex, endIndex, scopes } of tokens) {
    const text = line.slice(startIndex, endIndex).trim();
    if (text) found.push([text, scopes.at(-1)]);
  }
}
console.log(JSON.stringify(found));
