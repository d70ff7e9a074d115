/**
 * `pnpm bench floors`: the size and the shape of the source code, as a table: files, public names, configuration keys, files of
 * one recorded call. `--names` lists the public names by entry point, `--files` the files of the call.
 *
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { filesOfRecordedCall } from './recorded-call.ts';

const root = path.resolve(import.meta.dirname, '../..');
const sourceCondition = '--conditions=@agentlightning/source';
if (!process.execArgv.includes(sourceCondition)) {
  const again = spawnSync(process.execPath, [sourceCondition, import.meta.filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exit(again.status ?? 1);
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
}

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((file) => existsSync(path.join(root, file)));
const sources = tracked.filter((file) => /^(packages|apps)\/[^/]+\/(src|web)\/.*\.tsx?$/.test(file)).map(read);
const typescript = sources.filter(({ path: file }) => !/\.test\.tsx?$|\/gen\//.test(file));
const python = tracked
  .filter((file) => /^apps\/gpu-runtime\/src\/.*\.py$/.test(file) && !file.includes('/gen/'))
  .map(read);
const called = await filesOfRecordedCall(root);
const reports = readdirSync(path.join(root, 'docs/api')).map((file) => read(`docs/api/${file}`));
const ofCore = reports.filter(({ path: file }) => path.basename(file) === 'core.api.md');

console.table({
  'TypeScript source files of packages and apps': typescript.length,
  'source lines, TypeScript': sum(typescript),
  'source lines, Python': sum(python),
  'files under 30 lines, %': Math.round(
    (100 * typescript.filter(({ lines }) => lines < 30).length) / typescript.length,
  ),
  'files of at most 50 lines with one importer and no test': typescript.filter(isFragment).length,
  'files of more than 400 lines': typescript.filter(({ lines }) => lines > 400).length,
  'public names': count(reports, /^export /gm),
  'public names of the root of core': count(ofCore, /^export /gm),
  'public members without documentation': count(reports, /\(undocumented\)/g),
  'configuration keys of a training at the top level': keysOf(typescript, /config\/train-config\.ts$/),
  'configuration keys in its groups': keysOf(typescript, /config\/sections\/(?!prompt-search)[\w-]+-config\.ts$/),
  'files that run for a recorded call': called.length,
  'of them in the gateway': called.filter((file) => file.startsWith('packages/gateway/')).length,
  'rows of the code map in ARCHITECTURE.md': rowsOfCodeMap(read('ARCHITECTURE.md').text),
});
if (process.argv.includes('--names')) {
  for (const report of reports) console.log(`${path.basename(report.path)}: ${count([report], /^export /gm)}`);
}
if (process.argv.includes('--files')) process.stdout.write(`${called.join('\n')}\n`);

function read(file: string): SourceFile {
  const text = readFileSync(path.join(root, file), 'utf8');
  return { path: file, text, lines: text.split('\n').length - 1 };
}

function sum(files: readonly SourceFile[]): number {
  return files.reduce((total, { lines }) => total + lines, 0);
}

function count(files: readonly SourceFile[], pattern: RegExp): number {
  return files.reduce((total, { text }) => total + [...text.matchAll(pattern)].length, 0);
}

/** The different members of the interfaces `…Config` in each of these files. */
function keysOf(files: readonly SourceFile[], which: RegExp): number {
  const texts = files.filter(({ path: file }) => which.test(file)).map(({ text }) => text);
  return texts.reduce((total, text) => {
    const interfaces = [...text.matchAll(/^export interface \w+Config\b[^{]*\{\n([\s\S]*?)^\}/gm)];
    const names = interfaces.flatMap(([, body = '']) => body.match(/^ {2}readonly \w+/gm) ?? []);
    return total + new Set(names).size;
  }, 0);
}

function isFragment({ path: file, lines }: SourceFile): boolean {
  if (lines > 50 || /\/(index|main)\.tsx?$/.test(file)) return false;
  if (existsSync(path.join(root, file.replace(/\.tsx?$/, '.test.ts')))) return false;
  const importers = typescript.filter((other) => importsOf(other).includes(file));
  return importers.length === 1;
}

function importsOf({ path: file, text }: SourceFile): readonly string[] {
  return [...text.matchAll(/from '(\.{1,2}\/[^']+)'/g)].map(([, target = '']) => path.join(path.dirname(file), target));
}

function rowsOfCodeMap(text: string): number {
  const [, map = ''] = text.split('## Code map');
  const rows = (map.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| '));
  return rows.filter((line) => !line.startsWith('| **') && !line.startsWith('| Responsibility')).length;
}
