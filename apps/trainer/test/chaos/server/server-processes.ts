import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openStore } from '@agentlightning/store';
import { type PostgresServer, startPostgres } from '@agentlightning/store/testing';
import { freePort } from '../../../../../tools/free-port.ts';
import { AglProcess } from '../../agl-process.ts';
import { RunFolder, smallConfigFile } from '../../run-folder.ts';

/** Where the server keeps its records. */
export type Database = 'sqlite' | 'postgres';

/** A process that can be killed. The clients and runners of both projects count once each, and `run` is the training of one run. */
export type Victim = 'client' | 'runner' | 'server' | 'runtime' | 'run' | 'database';

/** The projects that use the server at the same time. */
export const projects = ['red', 'blue'] as const;

export type Project = (typeof projects)[number];

const clientScript = path.resolve(import.meta.dirname, '../../fixtures/client-script.ts');

/** Training steps of a run. */
const steps = 5;

/** `agl server`, with a client and a runner for each of two projects. */
export class ServerProcesses implements AsyncDisposable {
  readonly url: string;
  readonly #folder = new RunFolder();
  readonly #port: number;
  readonly #postgres: { readonly server: PostgresServer; readonly url: string } | null;
  readonly #keys = new Map<string, string>();
  readonly #clients = new Map<Project, { readonly process: AglProcess; readonly runId: string }>();
  readonly #runners = new Map<Project, AglProcess>();
  #server: AglProcess;

  private constructor(port: number, postgres: { readonly server: PostgresServer; readonly url: string } | null) {
    this.#port = port;
    this.#postgres = postgres;
    this.url = `http://127.0.0.1:${port}`;
    this.#server = this.#startServer();
  }

  static async start(database: Database): Promise<ServerProcesses> {
    const server = database === 'postgres' ? await startPostgres({ isDurable: true }) : null;
    const postgres = server === null ? null : { server, url: await server.createDatabase() };
    const processes = new ServerProcesses(await freePort(), postgres);
    await processes.#server.event('ready');
    const store = await openStore(processes.#storeUrl);
    for (const project of projects) {
      for (const role of ['trainer', 'worker'] as const) {
        const { key } = await store.createAccessKey({ name: `${role} of ${project}`, role, project });
        processes.#keys.set(`${role} of ${project}`, key);
      }
    }
    await store.close();
    return processes;
  }

  get victims(): readonly Victim[] {
    return [
      'client',
      'runner',
      'server',
      'runtime',
      'run',
      ...(this.#postgres === null ? [] : (['database'] as const)),
    ];
  }

  /** The key of a project. */
  key(project: Project, role: 'trainer' | 'worker' = 'trainer'): string {
    return this.#keys.get(`${role} of ${project}`) ?? '';
  }

  /** Starts a client that creates a run, or joins the run of this id. */
  train(project: Project, runId: string): void {
    const command = [process.execPath, '--conditions=@agentlightning/source', clientScript];
    const env = { AGL_URL: this.url, AGL_KEY: this.key(project), NEW_RUN: runId, STEPS: String(steps) };
    this.#clients.set(project, { process: new AglProcess([], { command, env }), runId });
  }

  /** Starts runners without a client, which run the agents of every run of their project. */
  startRunners(): void {
    for (const project of projects) this.#startRunner(project);
  }

  /** The run of the client of a project, and its end: null while it works. */
  client(project: Project): { readonly runId: string; readonly isDone: boolean; readonly failure: string | null } {
    const { process, runId } = this.#clientOf(project);
    const isDone = process.events.some(({ type }) => type === 'result');
    return { runId, isDone, failure: process.hasExited && !isDone ? process.stderr.slice(-1500) : null };
  }

  /** Kills a process, and starts it again unless the server does. False when it does not run at the moment. */
  async kill(victim: Victim, project: Project): Promise<boolean> {
    switch (victim) {
      case 'client': {
        const { process, runId } = this.#clientOf(project);
        if (process.hasExited) return false;
        await process.kill();
        this.train(project, runId);
        return true;
      }
      case 'runner':
        await this.#runners.get(project)?.kill();
        this.#startRunner(project);
        return true;
      case 'server':
        await this.#server.kill();
        this.#server = this.#startServer();
        return true;
      case 'database':
        await this.#postgres?.server.kill();
        await this.#postgres?.server.start();
        return true;
      default:
        return this.#killChild(victim);
    }
  }

  /** What the processes wrote last. */
  diagnosis(): string {
    const clients = [...this.#clients].map(([project, { process }]) => [`client of ${project}`, process] as const);
    return [...clients, ['server', this.#server] as const]
      .map(([name, { stderr, output }]) => `${name}:\n${output.slice(-1500)}\n${stderr.slice(-1500)}`)
      .join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const clients = [...this.#clients.values()].map(({ process }) => process);
    for (const child of [...clients, ...this.#runners.values(), this.#server]) await child[Symbol.asyncDispose]();
    await this.#postgres?.server.close();
    this.#folder[Symbol.dispose]();
  }

  #clientOf(project: Project): { readonly process: AglProcess; readonly runId: string } {
    const client = this.#clients.get(project);
    if (client === undefined) throw new Error(`No run of ${project} was started.`);
    return client;
  }

  get #storeUrl(): string {
    return this.#postgres?.url ?? this.#folder.storeUrl;
  }

  #startServer(): AglProcess {
    return new AglProcess([
      ...['server', '--data', this.#folder.path, '--port', String(this.#port), '--model', 'tiny-random'],
      ...['--max-concurrent-runs', String(projects.length)],
      ...(this.#postgres === null ? [] : ['--store', this.#postgres.url]),
    ]);
  }

  #startRunner(project: Project): void {
    const command = ['runner', '--store', this.url, '--agent', smallConfigFile, '--concurrency', '4', '--lease', '4s'];
    const runner = new AglProcess([...command, '--wait', '120s'], {
      env: { AGL_STORE_KEY: this.key(project, 'worker') },
    });
    this.#runners.set(project, runner);
  }

  /** The children of a server are its runtime and the trainings of runs. */
  #killChild(victim: 'runtime' | 'run'): boolean {
    if (this.#server.hasExited) return false;
    const pid = this.#server.childPids().find((child) => child !== 0 && isTraining(child) === (victim === 'run'));
    if (pid === undefined) return false;
    process.kill(pid, 'SIGKILL');
    return true;
  }
}

function isTraining(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('training-worker');
  } catch {
    return false;
  }
}
