import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { execPath } from 'node:process';

/** The limits of a program in a child process. */
export interface ChildLimits {
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** Ends the program. @default never */
  readonly signal?: AbortSignal | undefined;
}

/** What a program wrote, and why it failed; null if it succeeded. */
export interface ChildResult {
  readonly stdout: string;
  readonly failure: string | null;
}

/** Largest output of a program, in bytes. */
const maxOutputBytes = 4_000_000;

/**
 * Refuses modules of the network before anything else is imported: the permission model of Node has no rule for it before
 * Node 25.
 */
const refuseNetwork = `
import { registerHooks } from 'node:module';
const refused = new Set(['net', 'dgram', 'dns', 'dns/promises', 'http', 'http2', 'https', 'tls', 'inspector', 'inspector/promises', 'cluster']);
registerHooks({
  resolve: (name, context, next) => {
    const module = String(name).replace(/^node:/, '');
    if (refused.has(module)) throw new Error('No network: ' + module);
    // Hooks of imported code would replace what is imported after it.
    if (module === 'module' && context.parentURL?.startsWith('data:')) throw new Error('No hooks: ' + module);
    return next(name, context);
  },
});
Object.defineProperty(process, 'getBuiltinModule', { value: () => undefined });
for (const name of ['fetch', 'WebSocket', 'EventSource']) delete globalThis[name];
`;

const flags = [
  '--permission',
  '--no-warnings',
  '--input-type=module',
  '--import',
  `data:text/javascript,${encodeURIComponent(refuseNetwork)}`,
  '-',
];

/**
 * Runs an ES module in a child process under Node's permission model: without files, child processes, workers, addons,
 * network and environment.
 */
export async function runChildProgram(program: string, limits: ChildLimits): Promise<ChildResult> {
  return new Promise((resolve) => {
    const child = execFile(
      execPath,
      [`--max-old-space-size=${limits.memoryMb}`, ...flags],
      {
        timeout: limits.timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: maxOutputBytes,
        env: {},
        cwd: tmpdir(),
        signal: limits.signal,
      },
      (error, stdout, stderr) => resolve({ stdout, failure: error === null ? null : failureOf(error, stderr, limits) }),
    );
    // A program that ends early does not read its input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(program);
  });
}

function failureOf(
  error: { readonly killed?: boolean | undefined; readonly message: string },
  stderr: string,
  limits: ChildLimits,
): string {
  if (stderr.includes('heap out of memory')) return `needs more than ${limits.memoryMb} MB`;
  if (error.killed === true)
    return `did not end within ${limits.timeoutMs} ms, or wrote more than ${maxOutputBytes} bytes`;
  const line = stderr.split('\n').find((text) => /^\w*(Error|Exception)\b/.test(text));
  return (line ?? error.message.split('\n')[0] ?? 'failed').slice(0, 300);
}
