import { readFileSync } from 'node:fs';

/** The version of this package. Sources and bundle are both one folder below its `package.json`. */
export const clientVersion: string = versionOf(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** The version of the server's routes that this client requires. */
export const requiredProtocol = 1;

function versionOf(text: string): string {
  return (JSON.parse(text) as { readonly version: string }).version;
}
