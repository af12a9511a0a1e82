// SPDX-License-Identifier: MIT OR Apache-2.0
// The form of a run: made of the options of the command line, checked while one types.
import * as api from "./api";
import { child, element } from "./words";

const DELAY_MS = 150;

/** What a first run has: it takes seconds. */
const INITIAL: Record<string, string> = { load: "0.8", flows: "2000", seeds: "1" };

export class Form {
  private readonly fields = new Map<string, HTMLInputElement>();
  private readonly params = new Map<string, HTMLInputElement>();
  private timer: number | undefined;
  private scheme = "";
  private asked = 0;

  /** `told` gets whether the settings are right. */
  constructor(
    fields: api.Field[],
    private readonly told: (right: boolean) => void,
  ) {
    for (const field of fields) this.add(field);
    for (const parent of [element("fields"), element("more"), element("params")]) {
      parent.addEventListener("input", () => this.later());
    }
  }

  /** The parameters of another scheme. */
  async choose(scheme: string): Promise<void> {
    this.scheme = scheme;
    this.params.clear();
    element("params").replaceChildren();
    await this.check();
  }

  /** Fills in what a link or a lesson has. Throws an Error for a setting that there is not. */
  async fill({ settings, params }: api.Settings): Promise<void> {
    for (const input of [...this.fields.values(), ...this.params.values()]) {
      input.value = "";
      input.checked = false;
    }
    const put = (inputs: Map<string, HTMLInputElement>, given: Record<string, string>) => {
      for (const [name, text] of Object.entries(given)) {
        const input = inputs.get(name);
        if (input === undefined) throw new Error(`there is no setting ${name} here`);
        if (input.type === "checkbox") input.checked = text === "on";
        else input.value = text;
      }
    };
    put(this.fields, settings);
    // What was in the form may have been refused, and then it shows no parameters.
    await this.check();
    put(this.params, params);
    await this.check();
  }

  get settings(): api.Settings {
    const given = (inputs: Map<string, HTMLInputElement>) => {
      const all = [...inputs].map(([name, input]) => [name, input.type === "checkbox" ? (input.checked ? "on" : "") : input.value.trim()]);
      return Object.fromEntries(all.filter(([, text]) => text !== "")) as Record<string, string>;
    };
    return { settings: given(this.fields), params: given(this.params) };
  }

  private add({ name, value, says, panel, default: usual, flag, first }: api.Field): void {
    const label = child(element(first ? "fields" : "more"), "label");
    label.title = says;
    child(label, "span", name.replaceAll("_", " "));
    const input = child(label, "input");
    input.name = name;
    input.type = flag ? "checkbox" : "text";
    input.placeholder = flag ? "" : (usual ?? value);
    input.value = INITIAL[name] ?? "";
    input.dataset.panel = panel ?? "";
    this.fields.set(name, input);
  }

  private later(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.check(), DELAY_MS);
  }

  /** Asks the server; an answer to an older question is not shown. */
  private async check(): Promise<void> {
    const number = ++this.asked;
    const said = element("settings-said");
    try {
      const { parameters } = await api.check(this.scheme, this.settings);
      if (number !== this.asked) return;
      said.textContent = "";
      this.showParameters(parameters);
      this.told(true);
    } catch (error) {
      if (number !== this.asked) return;
      said.textContent = error instanceof Error ? error.message : String(error);
      this.told(false);
    }
  }

  private showParameters(parameters: api.Parameter[]): void {
    const parent = element("params");
    for (const { name, value, rule, doc } of parameters) {
      const known = this.params.get(name);
      if (known !== undefined) {
        known.placeholder = value;
        continue;
      }
      const label = child(parent, "label");
      label.title = `${doc}\nRule: ${rule}`;
      child(label, "span", name);
      const input = child(label, "input");
      input.type = "text";
      input.placeholder = value;
      this.params.set(name, input);
    }
    element("params-part").hidden = parameters.length === 0;
  }
}
