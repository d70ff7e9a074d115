import { type ChildProcess, spawn } from 'node:child_process';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';

/**
 * Reads `+pid` and `-pid` from its standard input, and ends the groups of the processes that remain when the input ends,
 * which it does however its parent dies. In a separate process group, it also survives Ctrl-C.
 */
const guardProgram = `
const { spawnSync } = require('node:child_process');
const pids = new Set();
let text = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (text + chunk).split('\\n');
  text = lines.pop();
  for (const line of lines) pids[line[0] === '+' ? 'add' : 'delete'](Number(line.slice(1)));
});
process.stdin.on('end', () => {
  const end = (signal) => {
    for (const pid of pids) {
      if (process.platform === 'win32') spawnSync('taskkill', ['/pid', String(pid), '/T', '/F']);
      else try { process.kill(-pid, signal); } catch {}
    }
  };
  end('SIGTERM');
  setTimeout(() => end('SIGKILL'), 1000);
});
`;

let guard: ChildProcess | null = null;

/** Whether process groups are available. Windows has trees of processes instead. */
export const hasProcessGroups: boolean = process.platform !== 'win32';

/**
 * Ends a process and its group when this process dies, even by SIGKILL. Call the result when the process has ended.
 *
 * One guard process per process watches over all of them.
 */
export function guardProcess(pid: number): () => void {
  guard ??= startGuard();
  const { stdin } = guard;
  stdin?.write(`+${pid}\n`);
  return () => void stdin?.write(`-${pid}\n`);
}

function startGuard(): ChildProcess {
  const child = spawn(process.execPath, ['-e', guardProgram], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    // Without flags of this process, such as a debugger's.
    env: getDefaultEnvironment(),
  });
  const forget = (): void => {
    if (guard === child) guard = null;
  };
  child.on('error', forget);
  child.on('exit', forget);
  child.stdin?.on('error', forget);
  // Neither the guard nor its pipe keeps this process alive.
  child.unref();
  (child.stdin as { unref?(): void } | null)?.unref?.();
  return child;
}
