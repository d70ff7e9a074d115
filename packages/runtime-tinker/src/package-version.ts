import { readFileSync } from 'node:fs';
import { parse } from '@agentlightning/core/internal';
import * as z from 'zod';

/** The package's root, one level above this file in `src` and `dist`. */
const root = new URL('../', import.meta.url);

const manifest = z.object({ version: z.string() });

/** The version of this package. */
export function packageVersion(): string {
  return parse(manifest, JSON.parse(readFileSync(new URL('package.json', root), 'utf8')), 'package.json').version;
}
