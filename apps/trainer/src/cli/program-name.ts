import { existsSync } from 'node:fs';
import path from 'node:path';

/**
 * The program in printed commands: `AGL_COMMAND`, `npx agl` where the project has it, `npx agentlightning` where a package
 * manager has fetched it for one command, else `agl`. Elsewhere `npx agl` would run the package of another author.
 */
export function programName(script: string = process.argv[1] ?? '', folder: string = process.cwd()): string {
  const given = process.env['AGL_COMMAND'];
  if (given !== undefined && given !== '') return given;
  const projects = ancestorsOf(folder).map((each) => path.join(each, 'node_modules'));
  if (projects.some((modules) => script.startsWith(modules + path.sep))) return 'npx agl';
  if (!isFetched.test(script)) return 'agl';
  return projects.some((modules) => existsSync(path.join(modules, '.bin/agl'))) ? 'npx agl' : 'npx agentlightning';
}

/** Replaces the program of each command in a remedy, such as `agl init`, by the name under which it can be run, unless it has it. */
export function withProgramName(remedy: string, program: string = programName()): string {
  const parts = remedy.split(`${program} `);
  return parts.map((part) => part.replace(/(?<![\w./@-]|npx )agl (?=[a-z])/g, `${program} `)).join(`${program} `);
}

/** Folders of npx, `pnpm dlx`, `yarn dlx` and bunx. */
const isFetched = /[\\/](_npx|dlx|xfs-[^\\/]+|bunx-[^\\/]+)[\\/]/;

/** A folder and those that contain it, as npx searches them. */
function ancestorsOf(folder: string): readonly string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [folder, ...ancestorsOf(parent)];
}
