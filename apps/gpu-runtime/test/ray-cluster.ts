import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

const folder = path.join(import.meta.dirname, '..');

/** Variables of all processes on the cluster: Ray connects to 127.0.0.1, and listens there only. */
export const rayVariables = { RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER: '0' } as const;

/** A Ray cluster of two nodes on loopback, in separate processes. */
export interface RayCluster {
  /** `host:port` of its head. */
  readonly address: string;
  /** Kills the training worker of a node with SIGKILL. */
  killWorker(node: number): Promise<void>;
  /** Stops all its processes. */
  stop(): Promise<void>;
}

/** Starts a cluster of two nodes with a core each. */
export async function startRayCluster(python: string): Promise<RayCluster> {
  const child = spawn(python, ['-m', 'tests.cluster.two_nodes'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: path.join(folder, 'src'), HF_HUB_OFFLINE: '1' },
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('The Ray cluster ended; see its log above');
    return JSON.parse(value);
  };
  const { address } = await nextLine();
  return {
    address: String(address),
    killWorker: async (node) => {
      child.stdin.write(`kill ${node}\n`);
      await nextLine();
    },
    stop: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
