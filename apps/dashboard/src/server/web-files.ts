import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/** A file of the web page. */
export interface WebFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** Whether its name has a hash of its content, so that browsers can keep it. */
  readonly isHashed: boolean;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The folder of the built web page: beside the bundle, or in `dist` when the server runs from its sources. */
export function defaultWebFolder(): string {
  const candidates = [join(import.meta.dirname, 'web'), join(import.meta.dirname, '../../dist/web')];
  return candidates.find((folder) => existsSync(join(folder, 'index.html'))) ?? join(import.meta.dirname, 'web');
}

/** Reads all files of the web page, by URL path. Empty when the page is not built. Nothing else can be served. */
export async function readWebFiles(folder: string): Promise<ReadonlyMap<string, WebFile>> {
  if (!existsSync(join(folder, 'index.html'))) return new Map();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && extname(entry.name) in contentTypes)
    .map(async (entry): Promise<readonly [string, WebFile]> => {
      const path = join(entry.parentPath, entry.name);
      const url = path.slice(folder.length).replaceAll('\\', '/');
      const contentType = contentTypes[extname(entry.name)] ?? 'application/octet-stream';
      const body = new Uint8Array(await readFile(path));
      return [url, { body, contentType, isHashed: url.startsWith('/assets/') }];
    });
  return new Map(await Promise.all(files));
}
