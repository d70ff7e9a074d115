import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** A module that runs in a separate process and has reported that it is ready. */
export interface ForkedModule<TReady> {
  /** Its first message. */
  readonly ready: TReady;
  /** Sends a message and returns the next message of the module. */
  request<TResponse>(message: string): Promise<TResponse>;
  /** CPU time of the process so far, in milliseconds. */
  cpuMs(): number;
  /** Sends `close` and waits for the exit. */
  close(): Promise<void>;
}

/**
 * Starts a module in a separate process, with `--expose-gc`, and waits for its first message.
 *
 * @param modulePath - absolute
 * @throws when the process ends before
 */
export async function forkModule<TReady>(
  modulePath: string,
  args: readonly string[] = [],
): Promise<ForkedModule<TReady>> {
  const child = fork(modulePath, args, { execArgv: ['--expose-gc', ...process.execArgv] });
  const exited = once(child, 'exit');
  const failed = exited.then(([code]): never => {
    throw new Error(`${path.basename(modulePath)} ended with code ${String(code)}`);
  });
  failed.catch(() => undefined);
  const nextMessage = async <TMessage>(): Promise<TMessage> => {
    const [message] = await Promise.race([once(child, 'message'), failed]);
    return message as TMessage;
  };
  return {
    ready: await nextMessage<TReady>(),
    request: (message) => {
      const response = nextMessage<never>();
      child.send(message);
      return response;
    },
    cpuMs: () => cpuMsOf(child),
    close: async () => {
      // The module may have ended by now.
      if (child.connected) child.send('close', () => undefined);
      await exited;
    },
  };
}

/** A program that reads requests from standard input and writes responses to standard output, one a line. */
export interface LineProgram {
  /** The next line of output. @throws when the program has ended */
  nextLine(): Promise<string>;
  write(line: string): void;
  /** Closes the input and waits for the exit. */
  close(): Promise<void>;
}

/** Starts a program that communicates in lines. */
export function startLineProgram(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): LineProgram {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...environment } });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    nextLine: async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${command} ${args.join(' ')} ended; its errors are above`);
      return value;
    },
    write: (line) => void child.stdin.write(`${line}\n`),
    close: async () => {
      child.stdin.end();
      await exited;
    },
  };
}

/** Clock ticks of /proc, in milliseconds. */
const tickMs = 10;

/** CPU time of a process so far, all threads, in milliseconds. */
export function cpuMsOf({ pid }: Pick<ChildProcess, 'pid'>): number {
  const [, fields = ''] = readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8').split(') ');
  const [userTicks, systemTicks] = fields.split(' ').slice(11, 13);
  return (Number(userTicks) + Number(systemTicks)) * tickMs;
}

/** CPU time of the ended child processes of this process, and of theirs, in seconds. */
export function cpuSecondsOfChildren(): number {
  const [, fields = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [userTicks, systemTicks] = fields.split(' ').slice(13, 15);
  return ((Number(userTicks) + Number(systemTicks)) * tickMs) / 1000;
}
