import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RuntimeUnderTest, StartRuntimeOptions } from '../../src/testing/index.ts';

/** Starts the test runtime as a process. */
export async function startBagRuntime({
  directory,
  apiKey,
  ...limits
}: StartRuntimeOptions): Promise<RuntimeUnderTest> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const args = ['--conditions=@agentlightning/source', main, '--directory', directory, '--key', apiKey];
  args.push('--limits', JSON.stringify(limits));
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const [address]: string[] = await once(lines, 'line');
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return { address: address ?? '', kill: () => end('SIGKILL'), stop: () => end('SIGTERM') };
}
