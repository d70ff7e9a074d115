import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from '@agentlightning/core/internal';
import * as z from 'zod';

/** The package's root, one level above this file in `src` and `dist`. */
const root = new URL('../', import.meta.url);

const manifest = z.object({ version: z.string() });

/** The path of a file of this package. */
export function packageFile(name: string): string {
  return fileURLToPath(new URL(name, root));
}

/** The version of this package. */
export function packageVersion(): string {
  return parse(manifest, JSON.parse(readFileSync(packageFile('package.json'), 'utf8')), 'package.json').version;
}
