import { type ChildProcess, spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { repositoryRoot } from '../repository-files.ts';

/** Options of a program. */
export interface CommandOptions {
  /** The working folder. @default the repository's root */
  readonly cwd?: string;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Timeout in milliseconds, after which it counts as failed. @default 600_000 */
  readonly timeoutMs?: number;
  /** Called with each line of output, without colours. */
  readonly onLine?: (line: string) => void;
}

/** Result of a program. */
export interface CommandResult {
  /** Whether it exited with code 0 before the timeout. */
  readonly isOk: boolean;
  /** Its output, standard output and standard error interleaved, without colours. */
  readonly output: string;
}

/** The programs that run now: an interrupted run ends them too, since each has its own process group. */
const running = new Set<ChildProcess>();

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of running) killGroup(child);
    process.exit(130);
  });
}

/**
 * Runs a program, preferably from `node_modules/.bin`, and collects its output.
 *
 * The program has its own process group, so that a timeout also ends its child processes.
 *
 * @example
 * ```ts
 * const { isOk, output } = await runCommand(['biome', 'check', '.']);
 * ```
 */
export async function runCommand(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [program = '', ...args] = command;
  const { cwd = repositoryRoot, timeoutMs = 600_000 } = options;
  const child = spawn(program, args, {
    cwd,
    env: environment(options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  const lines: string[] = [];
  const collect = lineSplitter((line) => {
    lines.push(line);
    options.onLine?.(line);
  });
  child.stdout.setEncoding('utf8').on('data', collect.push);
  child.stderr.setEncoding('utf8').on('data', collect.push);

  return await new Promise((resolve) => {
    const timer = setTimeout(() => {
      collect.push(`\nStopped: it took longer than ${Math.round(timeoutMs / 1000)} s.\n`);
      killGroup(child);
    }, timeoutMs);
    child.on('error', (error) => collect.push(`\n${program} could not be started: ${error.message}\n`));
    child.on('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      collect.end();
      resolve({ isOk: code === 0, output: lines.join('\n').trim() });
    });
  });
}

/** A program that runs until it is stopped. */
export interface StartedCommand {
  /** The output so far. */
  readonly output: () => string;
  /** Ends it and its child processes. */
  readonly stop: () => Promise<void>;
}

/** Starts a program such as a server. */
export function startCommand(command: readonly string[], options: CommandOptions = {}): StartedCommand {
  const [program = '', ...args] = command;
  const { cwd = repositoryRoot } = options;
  const child = spawn(program, args, {
    cwd,
    env: environment(options.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running.add(child);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => chunks.push(text));
  const closed = new Promise<void>((resolve) => {
    child.on('error', (error) => chunks.push(`${program} could not be started: ${error.message}`));
    child.on('close', () => resolve());
  });
  return {
    output: () => stripVTControlCharacters(chunks.join('')).trim(),
    stop: async () => {
      killGroup(child);
      running.delete(child);
      if (child.pid !== undefined) await closed;
    },
  };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  process.kill(-child.pid, 'SIGKILL');
}

function environment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const path = [join(repositoryRoot, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter);
  // Disables telemetry and colours of tools.
  const quiet = { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', NO_COLOR: '1', NO_UPDATE_NOTIFIER: '1' };
  const { FORCE_COLOR: _, ...inherited } = process.env;
  return { ...inherited, ...quiet, PATH: path, ...extra };
}

function lineSplitter(onLine: (line: string) => void): { push: (text: string) => void; end: () => void } {
  let rest = '';
  return {
    push: (text) => {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(stripVTControlCharacters(line));
    },
    end: () => {
      if (rest !== '') onLine(stripVTControlCharacters(rest));
      rest = '';
    },
  };
}
