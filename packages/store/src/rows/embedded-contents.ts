/**
 * Long base64 texts within JSON, such as the images of `data:` URLs and of Messages requests, are stored once, by their
 * SHA-256. In the JSON of a column a reference replaces each: `\u0073ha256:` and the digest in hexadecimal.
 *
 * A text that merely looks like a reference is never read as one: `JSON.stringify`, which writes all of these columns, does not
 * escape the letter `s`, and writes a literal `\u0073` with two backslashes. JSON with references is still valid for the
 * functions of databases, which read them as `sha256:…`.
 *
 * @module
 */
import { hash } from 'node:crypto';
import { AgentLightningError, type JsonValue } from '@agentlightning/core';

/** Minimum number of characters of a text that is stored separately: 768 bytes of a file. */
const minLength = 1024;

/** Occurs in the JSON of every `data:` URL and of every base64 source of a Messages request. */
const hint = 'base64';

/** The rest of a `data:` URL, and whole strings. No escape sequence ends with a comma or a quote that begins a string. */
const candidates = /(?<=;base64,|")[\w+/-]+={0,2}/g;

const referenceStart = String.raw`\u0073ha256:`;
const references = /(?<!\\)\\u0073ha256:([0-9a-f]{64})/g;

/** Whether JSON may have texts to store separately. */
export function mayEmbedContents(json: string): boolean {
  return json.length >= minLength && json.includes(hint);
}

/**
 * Replaces long base64 texts by references.
 *
 * @param json - written by `JSON.stringify`
 * @param onContent - receives each text with its digest
 */
export function referToContents(json: string, onContent: (digest: string, content: string) => void): string {
  return json.replace(candidates, (content) => {
    if (content.length < minLength) return content;
    const digest = hash('sha256', content);
    onContent(digest, content);
    return `${referenceStart}${digest}`;
  });
}

/** Whether JSON may have references. */
export function mayReferToContents(json: string): boolean {
  return json.includes(referenceStart);
}

/** The digests that JSON refers to. */
export function referredContents(json: string): readonly string[] {
  return Array.from(json.matchAll(references), ([, digest = '']) => digest);
}

/**
 * Replaces references by their texts.
 *
 * @throws AgentLightningError STORE_SCHEMA when a text is missing
 */
export function embedContents(json: string, contents: ReadonlyMap<string, string>): string {
  return json.replace(references, (_, digest: string) => {
    const content = contents.get(digest);
    if (content === undefined) throw missingContent(digest);
    return content;
  });
}

/** The values that a database may read from a column for a value: the value, and with references to its contents. */
export function storedForms(value: JsonValue): readonly JsonValue[] {
  const json = JSON.stringify(value);
  const stored = referToContents(json, () => undefined);
  return stored === json ? [value] : [value, JSON.parse(stored)];
}

/** Removes references. */
export function omitContents(json: string): string {
  return mayReferToContents(json) ? json.replace(references, '') : json;
}

function missingContent(digest: string): AgentLightningError {
  return new AgentLightningError({
    code: 'STORE_SCHEMA',
    message: `The store has no content with the digest ${digest}, to which one of its records refers`,
    remedy: 'Restore the store from a backup: rows were deleted from its tables by another program.',
    details: { digest },
  });
}
