import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { AglProcess } from '../agl-process.ts';
import { RunFolder } from '../run-folder.ts';

/** Which processes a run has, besides the trainer and the store's server. */
export type Topology = 'embedded' | 'services';

/** A process that can be killed. */
export type Victim = 'trainer' | 'store' | 'worker' | 'runtime' | 'gateway' | 'runner';

const config = path.resolve(import.meta.dirname, '../fixtures/chaos.config.ts');

/** The processes around the trainer, each of which is started again after it was killed. */
const services: Readonly<Record<Topology, readonly Exclude<Victim, 'trainer' | 'worker'>[]>> = {
  embedded: ['store'],
  services: ['store', 'runtime', 'gateway', 'runner'],
};

/** Those that the trainer starts, and starts again. */
const children: Readonly<Record<Topology, readonly ('worker' | 'runtime')[]>> = {
  embedded: ['runtime', 'worker'],
  services: [],
};

/** The processes of training runs, one run after another, on one store. */
export class ChaosProcesses implements AsyncDisposable {
  readonly folder: RunFolder = new RunFolder();
  readonly #topology: Topology;
  readonly #ports: readonly number[];
  readonly #running = new Map<Victim, AglProcess>();
  #runId = '';
  /** Steps of earlier processes of the trainer. */
  #steps = 0;

  private constructor(topology: Topology, ports: readonly number[]) {
    this.#topology = topology;
    this.#ports = ports;
  }

  /** Starts the services; the environment of this process holds their keys. */
  static async start(topology: Topology): Promise<ChaosProcesses> {
    process.env['CHAOS_MODE'] = topology === 'services' ? 'async' : 'sync';
    process.env['AGL_TOKEN_SECRET'] = 'a secret of thirty-two bytes or more';
    process.env['AGL_RUNTIME_KEY'] = process.env['AGL_UPSTREAM_KEY'] = 'key-of-the-runtime';
    const processes = new ChaosProcesses(topology, await freePorts(4));
    for (const name of services[topology]) if (name !== 'gateway') processes.#start(name);
    return processes;
  }

  get victims(): readonly Victim[] {
    return ['trainer', ...services[this.#topology], ...children[this.#topology]];
  }

  /** Steps and evaluations that were finished, those that were repeated included. */
  get progress(): number {
    return this.#steps + this.#progressOfTrainer();
  }

  /** Whether the trainer has finished its run. */
  get isDone(): boolean {
    return this.#trainer().events.some(({ type }) => type === 'finished' || type === 'nothing-left');
  }

  /** The exit of the trainer: what it wrote, when it ended on its own without finishing; null while it runs. */
  get failure(): string | null {
    const trainer = this.#trainer();
    return trainer.hasExited && !this.isDone ? trainer.stderr : null;
  }

  /** What the processes wrote last. */
  diagnosis(): string {
    const texts = [...this.#running].map(([name, { stderr, events }]) => {
      const last = events.slice(-5).map((event) => JSON.stringify(event).slice(0, 300));
      return `${name}:\n${last.join('\n')}\n${stderr.slice(-1500)}`;
    });
    return texts.join('\n');
  }

  /** Starts the trainer of a run instead of the last one. */
  async train(runId: string, isResumed: boolean): Promise<void> {
    this.#steps = this.#running.has('trainer') ? this.progress : 0;
    this.#runId = runId;
    if (!isResumed && this.#topology === 'services') {
      // The gateway serves the model of the run.
      await this.#running.get('gateway')?.kill();
      this.#start('gateway');
    }
    const [, runtime, gateway] = this.#ports;
    const remote = ['--runtime', `127.0.0.1:${runtime}`, '--gateway', `http://127.0.0.1:${gateway}`, '--no-runner'];
    this.#running.set(
      'trainer',
      this.folder.trainFile(
        config,
        ...['--store', this.storeUrl, isResumed ? '--resume' : '--run', runId],
        ...(this.#topology === 'services' ? remote : []),
      ),
    );
  }

  get storeUrl(): string {
    return `http://127.0.0.1:${this.#ports[0]}`;
  }

  /** Kills a process, and starts it again unless the trainer does. False when it does not run at the moment. */
  async kill(victim: Victim): Promise<boolean> {
    const child = this.#running.get(victim);
    if (child === undefined) return this.#killChild(victim);
    if (child.hasExited) return false;
    await child.kill();
    if (victim === 'trainer') await this.train(this.#runId, true);
    else this.#start(victim);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running.values()) await child[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }

  #killChild(victim: Victim): boolean {
    const trainer = this.#trainer();
    if (trainer.hasExited) return false;
    const pids = trainer.childPids().filter((pid) => isWorker(pid) === (victim === 'worker'));
    const [pid] = pids;
    if (pid === undefined || pid === 0) return false;
    process.kill(pid, 'SIGKILL');
    return true;
  }

  #trainer(): AglProcess {
    const trainer = this.#running.get('trainer');
    if (trainer === undefined) throw new Error('No run was started.');
    return trainer;
  }

  #progressOfTrainer(): number {
    return this.#trainer().events.filter(({ type }) => type === 'stepped' || type === 'evaluated').length;
  }

  #start(name: Victim): void {
    const [store, runtime, gateway, model] = this.#ports.map(String);
    const commands: Readonly<Partial<Record<Victim, () => AglProcess>>> = {
      store: () => new AglProcess(['store', '--db', this.folder.storeUrl, '--port', store ?? '']),
      runtime: () =>
        new AglProcess([
          ...['runtime', '--dir', path.join(this.folder.path, 'checkpoints')],
          ...['--port', runtime ?? '', '--inference-port', model ?? ''],
        ]),
      gateway: () =>
        new AglProcess([
          ...['gateway', '--store', this.storeUrl, '--port', gateway ?? ''],
          ...['--upstream', `http://127.0.0.1:${model}/v1`, '--model', this.#runId],
        ]),
      runner: () =>
        new AglProcess([
          ...['runner', '--store', this.storeUrl, '--agent', config],
          ...['--processes', '2', '--concurrency', '16', '--lease', '4s'],
        ]),
    };
    const started = commands[name]?.();
    if (started !== undefined) this.#running.set(name, started);
  }
}

function isWorker(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('agent-worker');
  } catch {
    return false;
  }
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
