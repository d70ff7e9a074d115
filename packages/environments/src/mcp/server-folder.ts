import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerCommand, ServerUrl } from './server-process.ts';

const placeholder = '{folder}';

/** A server whose command names a separate folder, and what removes the folder. */
export interface PlacedServer {
  readonly server: ServerCommand | ServerUrl;
  remove(): Promise<void>;
}

/**
 * Replaces `{folder}` in the arguments and variables of a command by a new, empty folder: servers that write files would pass
 * them on to the next rollout.
 */
export async function placeServer(server: ServerCommand | ServerUrl): Promise<PlacedServer> {
  if ('url' in server || !JSON.stringify([server.args, server.env, server.cwd]).includes(placeholder)) {
    return { server, remove: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), 'agl-environment-'));
  const fill = (text: string): string => text.replaceAll(placeholder, folder);
  const { command, args = [], env = {}, cwd } = server;
  const placed = {
    command,
    args: args.map(fill),
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)])),
    ...(cwd === undefined ? {} : { cwd: fill(cwd) }),
  };
  return { server: placed, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
}
