import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const programs = {
  everything: import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
  memory: import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'),
};

/** The command of an official example server, as installed here. */
export function officialServer(name: 'everything' | 'memory'): { readonly command: string; readonly args: string[] } {
  return { command: process.execPath, args: [fileURLToPath(programs[name])] };
}

/** The memory server, whose graph is in a folder of the rollout. */
export const memoryServer = {
  ...officialServer('memory'),
  env: { MEMORY_FILE_PATH: '{folder}/memory.jsonl' },
};

/** The example server on streamable HTTP. */
export async function startEverythingOverHttp(): Promise<AsyncDisposable & { readonly url: string }> {
  const port = await freePort();
  const { command, args } = officialServer('everything');
  const child = spawn(command, [...args, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const text of child.stderr) if (String(text).includes('listening on port')) break;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
