import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { ProjectModules } from './project-modules.ts';

/** An error that the type check of a project reports about a file. */
export interface TypeProblem {
  /** The number of the error in TypeScript: `TS5097`. */
  readonly code: string;
  readonly line: number;
  readonly message: string;
}

/** The time after which the type check of a large project is given up. */
const timeoutMs = 120_000;

/**
 * Runs the project's own TypeScript on its tsconfig.json. Only the errors of one file count.
 *
 * @param missing - packages that are not installed yet: imports of them are no errors of the file
 * @returns null for a project without TypeScript or tsconfig.json, and for a check that takes too long
 */
export function typeProblems(folder: string, file: string, missing: readonly string[]): readonly TypeProblem[] | null {
  const compiler = compilerOf(folder);
  if (compiler === null || !existsSync(path.join(folder, 'tsconfig.json'))) return null;
  const flags = ['--noEmit', '--pretty', 'false', '-p', 'tsconfig.json'];
  const { stdout, error } = spawnSync(process.execPath, [compiler, ...flags], {
    cwd: folder,
    encoding: 'utf8',
    timeout: timeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) return null;
  return stdout.split('\n').flatMap((text) => {
    const [, where, line, code, message] = /^(.+)\((\d+),\d+\): error (TS\d+): (.*)$/.exec(text) ?? [];
    if (where !== file || line === undefined || code === undefined || message === undefined) return [];
    const isMissing = code === 'TS2307' && missing.some((name) => message.includes(`'${name}'`));
    return isMissing ? [] : [{ code, line: Number(line), message }];
  });
}

function compilerOf(folder: string): string | null {
  try {
    return createRequire(path.join(folder, 'package.json')).resolve('typescript/bin/tsc');
  } catch {
    // The project has no TypeScript, or one that does not export its command.
    const installed = path.join(folder, 'node_modules/typescript/bin/tsc');
    return existsSync(installed) ? installed : null;
  }
}

const extensionCodes: Readonly<Record<string, ProjectModules['extension']>> = {
  // An import path ends with .ts, and the project does not allow it.
  TS5097: 'emitted',
  // Relative imports need extensions.
  TS2834: 'emitted',
  TS2835: 'emitted',
};

/** Top-level await is not available with the module system or the target of the project. */
const awaitCodes: ReadonlySet<string> = new Set(['TS1309', 'TS1375', 'TS1378', 'TS1432']);

/** The form of imports that the problems ask for; null when they have another cause. */
export function correctedModules(modules: ProjectModules, problems: readonly TypeProblem[]): ProjectModules | null {
  const extension = problems.flatMap(({ code }) => extensionCodes[code] ?? [])[0] ?? modules.extension;
  const hasTopLevelAwait = modules.hasTopLevelAwait && !problems.some(({ code }) => awaitCodes.has(code));
  const isEqual = extension === modules.extension && hasTopLevelAwait === modules.hasTopLevelAwait;
  return isEqual ? null : { extension, hasTopLevelAwait };
}
