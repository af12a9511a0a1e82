// SPDX-License-Identifier: MIT OR Apache-2.0
// All that a person has written, as text for a link: the program, if it was changed, the form, and the lesson that is open.
import type { Settings } from "./api";

export interface State extends Settings {
  scheme: string;
  /** Null for the scheme as it is. */
  text: string | null;
  /** Empty if none is open. */
  lesson: string;
}

async function through(bytes: BlobPart, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** Base64 of the compressed JSON, with characters that addresses may have. */
export async function pack(state: State): Promise<string> {
  const bytes = await through(JSON.stringify(state), new CompressionStream("deflate-raw"));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws an Error for a text that is no state. */
export async function unpack(text: string): Promise<State> {
  let found: Partial<State>;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
    const json = await through(bytes, new DecompressionStream("deflate-raw"));
    found = JSON.parse(new TextDecoder().decode(json));
  } catch {
    throw new Error("the link is damaged: copy it again");
  }
  const isText = (value: unknown) => typeof value === "string";
  const isTexts = (value: unknown) => typeof value === "object" && value !== null && Object.values(value).every(isText);
  if (!isText(found.scheme) || !(found.text === null || isText(found.text)) || !isTexts(found.settings) || !isTexts(found.params)) {
    throw new Error("the link is of another version of the studio");
  }
  return { ...(found as State), lesson: isText(found.lesson) ? String(found.lesson) : "" };
}
