import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { AgentLightningError } from '@agentlightning/core';
import pg from 'pg';
import { findPostgresBinaries } from './postgres-binaries.ts';
import { killTree } from './process-tree.ts';

/** How to start a server. */
export interface StartPostgresOptions {
  /** Whether commits survive a power failure, as in production: at a disk sync each. @default false */
  readonly isDurable?: boolean;
  /** Settings of the server, such as `max_connections`. @default PostgreSQL's own */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Where to look for PostgreSQL when its npm package is not installed, as in `PATH`. @default Debian's folder */
  readonly path?: string;
}

/** A real PostgreSQL server in a temporary folder, on a free port of this machine. */
export interface PostgresServer extends AsyncDisposable {
  /** Where its first database is. */
  readonly url: string;
  /** Makes an empty database and gives back where it is. */
  createDatabase(): Promise<string>;
  /** Ends the server in good order; its data stays. */
  stop(): Promise<void>;
  /** Kills every process of the server at once, as a crash would; its data stays. */
  kill(): Promise<void>;
  /** Starts it again where it was, with its data. */
  start(): Promise<void>;
  /** Ends the server and removes its data. */
  close(): Promise<void>;
}

// The user who owns nothing: PostgreSQL refuses to run as root.
const nobody = 65_534;

/**
 * Starts a PostgreSQL server for tests and benchmarks. It ends when this process ends, however it ends.
 *
 * @throws AgentLightningError CONFIG when there is no PostgreSQL on this machine, or it does not start
 * @example
 * ```ts
 * await using postgres = await startPostgres();
 * const store = await openStore(await postgres.createDatabase());
 * ```
 */
export async function startPostgres(options: StartPostgresOptions = {}): Promise<PostgresServer> {
  const binaries = await findPostgresBinaries(options.path ?? '');
  const folder = await mkdtemp(join(tmpdir(), 'agl-postgres-'));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: nobody, gid: nobody } : {};
  if (isRoot) await chown(folder, nobody, nobody);
  const data = join(folder, 'data');
  const initialize = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  try {
    await promisify(execFile)(join(binaries, 'initdb'), initialize, { ...user, cwd: folder });
    const server = new TestServer({
      program: join(binaries, 'postgres'),
      folder,
      data,
      user,
      port: await freePort(),
      options,
    });
    await server.start();
    return server;
  } catch (cause) {
    await rm(folder, { recursive: true, force: true });
    if (cause instanceof AgentLightningError) throw cause;
    throw doesNotStart(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

interface TestServerSetup {
  readonly program: string;
  readonly folder: string;
  readonly data: string;
  readonly user: { readonly uid?: number; readonly gid?: number };
  readonly port: number;
  readonly options: StartPostgresOptions;
}

class TestServer implements PostgresServer {
  readonly url: string;
  readonly #setup: TestServerSetup;
  #keeper: ChildProcess | null = null;
  #databases = 0;

  constructor(setup: TestServerSetup) {
    this.#setup = setup;
    this.url = this.#urlOf('postgres');
  }

  async createDatabase(): Promise<string> {
    this.#databases += 1;
    const name = `test_${process.pid}_${this.#databases}`;
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return this.#urlOf(name);
  }

  async start(): Promise<void> {
    const { program, folder, user } = this.#setup;
    // The shell ends the server when its own input ends, which it does when this process is gone.
    const keep = '"$@" & server=$!; cat >/dev/null; kill -INT $server 2>/dev/null; wait $server';
    const keeper = spawn('sh', ['-c', keep, 'sh', program, ...this.#arguments()], {
      ...user,
      cwd: folder,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#keeper = keeper;
    const log: string[] = [];
    for await (const line of createInterface({ input: keeper.stderr })) {
      log.push(line);
      if (line.includes('ready to accept connections')) {
        keeper.stderr.resume();
        return;
      }
      // Those who connect too early are told so, which does not mean that the server fails.
      if (line.includes('FATAL') && !line.includes('the database system is')) break;
    }
    await this.stop();
    throw doesNotStart(log.slice(-5).join('; '));
  }

  stop(): Promise<void> {
    return this.#end();
  }

  async kill(): Promise<void> {
    const [first = ''] = (await readFile(join(this.#setup.data, 'postmaster.pid'), 'utf8')).split('\n');
    await killTree(Number(first));
    await this.#end();
  }

  async close(): Promise<void> {
    await this.#end();
    await rm(this.#setup.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    const keeper = this.#keeper;
    this.#keeper = null;
    if (keeper === null) return;
    const exited = keeper.exitCode === null && keeper.signalCode === null ? once(keeper, 'exit') : null;
    keeper.stdin?.end();
    await exited;
  }

  #urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.#setup.port}/${database}`;
  }

  #arguments(): readonly string[] {
    const { data, port, options } = this.#setup;
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 200,
      fsync: options.isDurable === true ? 'on' : 'off',
      ...options.settings,
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return ['-D', data, '-p', String(port), ...flags];
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw doesNotStart('there is no free port');
  return address.port;
}

function doesNotStart(reason: string, cause?: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `PostgreSQL does not start: ${reason}`,
    remedy: 'Read the reason; the server needs a readable temporary folder and a free port.',
    cause,
  });
}
