import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import pg from 'pg';
import { findPostgresBinaries } from './postgres-binaries.ts';
import { killTree } from './process-tree.ts';

/** Options of `startPostgres`. */
export interface StartPostgresOptions {
  /** Whether each commit is synced to disk, as in production. @default false */
  readonly isDurable?: boolean;
  /** Settings of the server, such as `max_connections`. @default PostgreSQL's own */
  readonly settings?: Readonly<Record<string, string | number>>;
  /**
   * Search path for PostgreSQL when its npm package is not installed, in the format of `PATH`. @default Debian's folder
   */
  readonly path?: string;
}

/** A PostgreSQL server in a temporary folder, on a free local port. */
export interface PostgresServer extends AsyncDisposable {
  /** URL of its default database. */
  readonly url: string;
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Shuts the server down and keeps its data. */
  stop(): Promise<void>;
  /** Kills all processes of the server and keeps its data. */
  kill(): Promise<void>;
  /** Restarts the server with its data, on the same port. */
  start(): Promise<void>;
  /** Shuts the server down and removes its data. */
  close(): Promise<void>;
}

// Unprivileged user and group: PostgreSQL refuses to run as root.
const unprivilegedId = 65_534;

/**
 * Starts a PostgreSQL server for tests and benchmarks. It shuts down when this process exits or crashes.
 *
 * @throws AgentLightningError CONFIG when PostgreSQL is not installed or does not start
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
  const user = isRoot ? { uid: unprivilegedId, gid: unprivilegedId } : {};
  if (isRoot) await chown(folder, unprivilegedId, unprivilegedId);
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
    throw startFailure(errorMessage(cause), cause);
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
  #supervisor: ChildProcess | null = null;
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
    // The shell shuts the server down at the end of its stdin, which closes when this process exits.
    const keep = '"$@" & server=$!; cat >/dev/null; kill -INT $server 2>/dev/null; wait $server';
    const supervisor = spawn('sh', ['-c', keep, 'sh', program, ...this.#arguments()], {
      ...user,
      cwd: folder,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#supervisor = supervisor;
    const log: string[] = [];
    for await (const line of createInterface({ input: supervisor.stderr })) {
      log.push(line);
      if (line.includes('ready to accept connections')) {
        supervisor.stderr.resume();
        return;
      }
      // Early connections are rejected with FATAL as well, which is not a failure of the server.
      if (line.includes('FATAL') && !line.includes('the database system is')) break;
    }
    await this.stop();
    throw startFailure(log.slice(-5).join('; '));
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
    const supervisor = this.#supervisor;
    this.#supervisor = null;
    if (supervisor === null) return;
    const exited = supervisor.exitCode === null && supervisor.signalCode === null ? once(supervisor, 'exit') : null;
    supervisor.stdin?.end();
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
  if (address === null || typeof address === 'string') throw startFailure('no free port');
  return address.port;
}

function startFailure(reason: string, cause?: unknown): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: `PostgreSQL does not start: ${reason}`,
    remedy: 'Make sure that the temporary folder is readable and a port is free.',
    cause,
  });
}
