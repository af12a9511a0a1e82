// SPDX-License-Identifier: MIT OR Apache-2.0
// The editor: the compiler's messages, completion, and declarations under the pointer.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { classHighlighter } from "@lezer/highlight";
import { drawSelection, EditorView, hoverTooltip, keymap, lineNumbers, type Tooltip } from "@codemirror/view";

import * as api from "./api";
import { p4 } from "./p4";

/** After the last keystroke; the compiler takes some 10 ms. */
const DELAY_MS = 60;

const KINDS: Record<string, string> = {
  action: "function",
  block: "class",
  constant: "constant",
  field: "property",
  function: "function",
  method: "method",
  type: "type",
};

/** Offset of a line and a column, both from 1, where columns count characters and not UTF-16. */
function offset(doc: Text, line: number, column: number): number {
  const { from, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return from + [...text].slice(0, column - 1).join("").length;
}

function range(doc: Text, place: api.Place): { from: number; to: number } {
  if (place.file !== null) return { from: 0, to: 0 };
  const from = offset(doc, place.line, place.column);
  return { from, to: Math.max(from, offset(doc, place.end_line, place.end_column)) };
}

export class Editor {
  readonly view: EditorView;

  /** `told` gets the messages each time that the compiler was asked. */
  constructor(parent: HTMLElement, private name: string, text: string, told: (problems: api.Problem[]) => void) {
    const complete = (context: CompletionContext) => this.complete(context);
    const lint = async () => {
      const problems = await api.problems(this.written);
      told(problems);
      return problems.map((problem) => this.diagnostic(problem));
    };
    const state = EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        indentUnit.of("    "),
        syntaxHighlighting(classHighlighter),
        p4,
        linter(lint, { delay: DELAY_MS }),
        autocompletion({ override: [complete] }),
        hoverTooltip((view, position) => this.hover(view, position)),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
          ...lintKeymap,
          indentWithTab,
        ]),
        EditorView.contentAttributes.of({ "aria-label": `Program ${name}`, tabindex: "0" }),
      ],
    });
    this.view = new EditorView({ state, parent });
  }

  get written(): api.Written {
    return { name: this.name, text: this.view.state.doc.toString() };
  }

  /** Goes to a line. */
  show(line: number): void {
    const { from } = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  close(): void {
    this.view.destroy();
  }

  private diagnostic(problem: api.Problem): Diagnostic {
    const where = problem.place.file === null ? "" : `${problem.place.file}, line ${problem.place.line}: `;
    const help = problem.help === null ? "" : `\n${problem.help}`;
    return {
      ...range(this.view.state.doc, problem.place),
      severity: problem.category === "warning" ? "warning" : "error",
      source: problem.id,
      message: `${where}${problem.text}${help}`,
    };
  }

  private async complete(context: CompletionContext): Promise<CompletionResult | null> {
    const word = context.matchBefore(/\w*/);
    const after = context.state.sliceDoc((word?.from ?? context.pos) - 1, word?.from ?? context.pos);
    if (!context.explicit && after !== "." && (word === null || word.from === word.to)) return null;
    const characters = [...context.state.sliceDoc(0, context.pos)].length;
    const found = await api.candidates(this.written, characters);
    return {
      from: word?.from ?? context.pos,
      validFor: /^\w*$/,
      options: found.map(({ name, role, text, comment }) => ({
        label: name,
        type: KINDS[role] ?? "variable",
        detail: text || role,
        ...(comment && { info: comment }),
      })),
    };
  }

  private async hover(view: EditorView, position: number): Promise<Tooltip | null> {
    const { number, from, text } = view.state.doc.lineAt(position);
    const column = [...text.slice(0, position - from)].length + 1;
    const found = await api.hover(this.written, number, column);
    if (found === null) return null;
    const create = () => {
      const dom = document.createElement("div");
      dom.className = "declaration";
      const code = document.createElement("code");
      code.textContent = found.text || `${found.role} of the language`;
      dom.append(code, found.comment);
      return { dom };
    };
    return { pos: range(view.state.doc, found.place).from, create };
  }
}
