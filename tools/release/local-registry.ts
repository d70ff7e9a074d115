import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { runCommand } from '../verify/run-command.ts';

const verdaccio = 'verdaccio@6.10.4';
/** Its dependency `node-fetch@cjs` is a dist-tag, which mirrors of the registry may lack. */
const overrides = { 'node-fetch': '2.7.0' };

/** Timeout for the start of the registry, in milliseconds. */
const startTimeoutMs = 120_000;

/** An npm registry on loopback: ours are published to it, all other packages come from the configured registry. */
export class LocalRegistry implements AsyncDisposable {
  readonly url: string;
  readonly #server: ChildProcess;

  private constructor(url: string, server: ChildProcess) {
    this.url = url;
    this.#server = server;
  }

  /**
   * Installs Verdaccio if necessary and starts it with empty storage.
   *
   * @param tools - the folder of its installation, which is kept
   * @param folder - for its storage, new for each run
   */
  static async start(tools: string, folder: string): Promise<LocalRegistry> {
    await installVerdaccio(tools);
    await mkdir(folder, { recursive: true });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const config = join(folder, 'config.yaml');
    await writeFile(config, configText(folder, await configuredRegistry()));
    const program = join(tools, 'node_modules/verdaccio/bin/verdaccio');
    const args = [program, '--config', config, '--listen', `127.0.0.1:${port}`];
    const server = spawn(process.execPath, args, { stdio: 'ignore' });
    const registry = new LocalRegistry(url, server);
    await registry.#responds();
    return registry;
  }

  /** Settings for npm to publish to it: it accepts every client, but npm requires a token. */
  get environment(): Readonly<Record<string, string>> {
    return { [`npm_config_//${new URL(this.url).host}/:_authToken`]: 'local' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.exitCode !== null || this.#server.signalCode !== null) return;
    this.#server.kill('SIGKILL');
    await once(this.#server, 'exit');
  }

  async #responds(): Promise<void> {
    const deadline = performance.now() + startTimeoutMs;
    while (performance.now() < deadline && this.#server.exitCode === null) {
      const isUp = await fetch(`${this.url}/-/ping`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return;
      await sleep(100);
    }
    await this[Symbol.asyncDispose]();
    throw new Error(`Verdaccio does not respond at ${this.url}.`);
  }
}

async function installVerdaccio(folder: string): Promise<void> {
  if (existsSync(join(folder, 'node_modules/verdaccio/bin/verdaccio'))) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'a-registry', private: true, overrides }));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { isOk, output } = await runCommand(['npm', 'install', ...flags, verdaccio], { cwd: folder });
  if (!isOk) throw new Error(`Installation failed: ${verdaccio}.\n${output}`);
}

/** The registry that npm is configured with on this machine. */
export async function configuredRegistry(): Promise<string> {
  const { isOk, output } = await runCommand(['npm', 'config', 'get', 'registry', '--loglevel=error']);
  if (!isOk) throw new Error(`npm has no registry.\n${output}`);
  return output.trim();
}

function configText(folder: string, uplink: string): string {
  const open = { access: '$all', publish: '$all' };
  return JSON.stringify({
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd'), max_users: -1 } },
    uplinks: { configured: { url: uplink, timeout: '120s' } },
    packages: {
      '@agentlightning/*': open,
      'create-agentlightning': open,
      agentlightning: open,
      '**': { access: '$all', proxy: 'configured' },
    },
    max_body_size: '100mb',
    log: { type: 'stdout', format: 'json', level: 'fatal' },
  });
}
