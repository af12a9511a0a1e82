// SPDX-License-Identifier: MIT OR Apache-2.0
// Colours of P4. What names mean is the server's to say.
import { StreamLanguage, type StringStream } from "@codemirror/language";

const KEYWORDS = new Set(
  ("abstract action actions apply break const continue control default else entries enum error exit extern for header " +
    "header_union if in inout key match_kind out package parser pragma return select state struct switch table this " +
    "transition type typedef value_set").split(" "),
);
const TYPES = new Set("bit bool int list string tuple varbit void".split(" "));
const ATOMS = new Set(["true", "false", "accept", "reject"]);

interface State {
  comment: boolean;
}

function token(stream: StringStream, state: State): string | null {
  if (state.comment) {
    state.comment = !stream.skipTo("*/");
    if (state.comment) {
      stream.skipToEnd();
    } else {
      stream.match("*/");
    }
    return "comment";
  }
  if (stream.eatSpace()) return null;
  if (stream.match("//")) {
    stream.skipToEnd();
    return "comment";
  }
  if (stream.match("/*")) {
    state.comment = true;
    return "comment";
  }
  if (stream.sol() && stream.match(/#.*/)) return "meta";
  if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/@\w+/)) return "meta";
  if (stream.match(/\d[\w]*/)) return "number";
  if (stream.match(/[A-Za-z_]\w*/)) {
    const word = stream.current();
    if (KEYWORDS.has(word)) return "keyword";
    if (TYPES.has(word)) return "typeName";
    if (ATOMS.has(word)) return "atom";
    return "variableName";
  }
  stream.next();
  return null;
}

export const p4 = StreamLanguage.define<State>({
  name: "p4",
  startState: () => ({ comment: false }),
  token,
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
});
