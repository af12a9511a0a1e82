// SPDX-License-Identifier: MIT OR Apache-2.0
// Texts and elements that several parts of the page make.

/** A duration in ns, in us. */
export function us(ns: number): string {
  return `${(ns / 1e3).toLocaleString("en", { maximumFractionDigits: 3 })} us`;
}

/** A time of a run in ns, in ms. */
export function ms(ns: number): string {
  return `${(ns / 1e6).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 })} ms`;
}

/** A new element at the end of another one. */
export function child<Name extends keyof HTMLElementTagNameMap>(
  parent: HTMLElement,
  name: Name,
  text = "",
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}

export function element<Kind extends HTMLElement>(id: string): Kind {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no #${id} in the page`);
  return found as Kind;
}
