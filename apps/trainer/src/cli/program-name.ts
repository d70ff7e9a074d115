import path from 'node:path';

/** The program in printed commands: `AGL_COMMAND`, `npx agl` where a project has it, else `agl`. */
export function programName(script: string | undefined = process.argv[1]): string {
  const given = process.env['AGL_COMMAND'];
  if (given !== undefined && given !== '') return given;
  return script?.startsWith(path.join(process.cwd(), 'node_modules') + path.sep) === true ? 'npx agl' : 'agl';
}
