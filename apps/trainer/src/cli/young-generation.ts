/** Commands whose process answers model calls. */
const servingCommands: readonly string[] = ['gateway', 'train'];

/**
 * How Node is to be started where model calls are answered. A call leaves 100 kB behind, and what is still in use when
 * V8 looks for garbage is copied: with room for more calls, it looks less often and finds hardly any in use.
 */
export const youngGenerationFlags: readonly string[] = ['--max-semi-space-size=64', '--min-semi-space-size=32'];

/** Of a process, what decides how it is started again. */
export interface StartedProcess {
  /** The arguments of the command, its name first. */
  readonly args: readonly string[];
  /** The flags that Node was started with. */
  readonly execArgv: readonly string[];
  /** NODE_OPTIONS. */
  readonly nodeOptions: string | undefined;
  /** Whether somebody talks to the process, and would find another in its place. */
  readonly isAttached: boolean;
}

/** Whether a process should be started again with more room: it answers calls, and nobody has said how much there is. */
export function needsYoungGeneration({ args, execArgv, nodeOptions, isAttached }: StartedProcess): boolean {
  if (isAttached || !servingCommands.includes(args[0] ?? '')) return false;
  return ![...execArgv, nodeOptions ?? ''].some((flag) => /semi[-_]space/.test(flag));
}

/**
 * Puts the same command with more room in the place of this process: same id, same arguments, same input and output.
 * V8 takes these flags only when it starts. Where that cannot be, as on Windows, the process goes on as it is.
 */
export function takeYoungGeneration(): void {
  const [program = '', script = '', ...args] = process.argv;
  const { execArgv, execPath, env, execve, versions } = process;
  if (execve === undefined || process.platform === 'win32' || 'bun' in versions || 'deno' in versions) return;
  const isDebugged = execArgv.some((flag) => flag.startsWith('--inspect'));
  const isAttached = process.channel !== undefined || isDebugged;
  if (!needsYoungGeneration({ args, execArgv, nodeOptions: env['NODE_OPTIONS'], isAttached })) return;
  try {
    execve.call(process, execPath, [program, ...execArgv, ...youngGenerationFlags, script, ...args], env);
  } catch {
    // Not allowed here, such as under `--permission`: it works without, only slower.
  }
}
