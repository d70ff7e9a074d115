import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../tools/free-port.ts';
import { cpuMsOf } from './processes.ts';

/** A proxy of another project that serves the same calls in the same run. */
export interface Peer {
  readonly name: 'agl-server' | 'LiteLLM';
  /** The base URL for calls. */
  readonly url: string;
  /** What it wants to see of those who call; null for nothing. */
  readonly key: string | null;
  readonly hasStreams: boolean;
  /** The CPU time that it has used so far, in milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

/** A started server that is ready. */
export interface PeerProcess {
  readonly child: ChildProcess;
  /** Its address, without a path. */
  readonly base: string;
  cpuMs(): number;
  close(): Promise<void>;
}

/** How to start a server on a port. */
export interface PeerCommand {
  readonly command: string;
  readonly args: (port: number) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The path that answers when the server is up. */
  readonly healthPath: string;
}

/** Starts a server of another project. Resolves when it is ready; throws when it exits before. */
export async function startPeer({ command, args, environment, healthPath }: PeerCommand): Promise<PeerProcess> {
  const port = await freePort();
  const options: SpawnOptions = { stdio: 'ignore', env: { ...process.env, ...environment } };
  const child = spawn(command, args(port), options);
  const ended = once(child, 'exit');
  const base = `http://127.0.0.1:${port}`;
  await untilUp(`${base}${healthPath}`, child);
  return {
    child,
    base,
    cpuMs: () => cpuMsOf(child),
    close: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function untilUp(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with code ${child.exitCode}`);
    const isUp = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
