import { AgentLightningClient } from '@agentlightning/client';
import type { Span, Store } from '@agentlightning/core';
import { systemClock } from '@agentlightning/core/internal';
import { recordedFailure } from '@agentlightning/core/protocol';
import { modelCallFromSpan } from '@agentlightning/core/spans';
import { attemptFailureOrigin } from '@agentlightning/core/store';
import { StoreClient } from '@agentlightning/core/store-client';
import { aSpan } from '@agentlightning/core/testing';
import { randomNumbers } from '../../../../../tools/random-numbers.ts';
import { findFaults } from '../find-faults.ts';
import { type Database, type Project, projects, ServerProcesses, type Victim } from './server-processes.ts';

/** What to kill, and how often. */
export interface ServerChaosOptions {
  readonly database: Database;
  readonly kills: number;
  readonly seed: number;
  /** Called after each kill. @default no callback */
  readonly onKill?: (victim: Victim, project: Project) => void;
}

/** How it went. */
export interface ServerChaosReport {
  readonly kills: Readonly<Partial<Record<Victim, number>>>;
  /** Finished runs of both projects. */
  readonly runs: number;
  /** Runs that failed and were resumed, and clients that ended with an error. */
  readonly resumed: number;
  /** Rollouts that clients have recorded beside the runs, which the server has acknowledged. */
  readonly acknowledged: number;
  /** What is lost, counted twice or differs from an uninterrupted run: nothing, if all is well. */
  readonly faults: readonly string[];
}

/** Timeout for the next step of a run after a kill, in milliseconds. */
const progressTimeoutMs = 300_000;
/** Maximum number of resumptions of a run. */
const maxResumptions = 5;
/** Retry limit for requests to a server that was killed, in milliseconds. */
const unreachableAfterMs = 120_000;

/** Kills the processes of a server, of its clients and of its runners at random while two projects train on it. */
export async function runServerChaos(options: ServerChaosOptions): Promise<ServerChaosReport> {
  await using processes = await ServerProcesses.start(options.database);
  const chaos = new ServerChaos(processes);
  return await chaos.run(options);
}

class ServerChaos {
  readonly #processes: ServerProcesses;
  readonly #stores: Readonly<Record<Project, StoreClient>>;
  readonly #clients: Readonly<Record<Project, AgentLightningClient>>;
  readonly #runs: Record<Project, number> = { red: 0, blue: 0 };
  readonly #resumptions = new Map<string, number>();

  constructor(processes: ServerProcesses) {
    this.#processes = processes;
    const { url } = processes;
    const storeOf = (project: Project): StoreClient =>
      new StoreClient({ baseUrl: url, apiKey: processes.key(project), unreachableAfterMs });
    this.#stores = { red: storeOf('red'), blue: storeOf('blue') };
    const clientOf = (project: Project): AgentLightningClient =>
      new AgentLightningClient({ url, apiKey: processes.key(project), unreachableAfterMs });
    this.#clients = { red: clientOf('red'), blue: clientOf('blue') };
  }

  async run({ kills, seed, onKill }: ServerChaosOptions): Promise<ServerChaosReport> {
    const random = randomNumbers(seed);
    const killed: Partial<Record<Victim, number>> = {};
    // Run 0 of the first project is not interrupted.
    this.#processes.train('red', 'red-0');
    await this.#untilFinished('red');
    this.#processes.startRunners();
    for (const project of projects) this.#startRun(project);
    const writers = projects.map((project) => new AcknowledgedWriter(this.#stores[project]));
    const writing = Promise.all(writers.map((writer) => writer.run()));
    for (let kill = 0; kill < kills; ) {
      if (random() < 0.75) await this.#untilProgress();
      await systemClock.sleep(random() * 2000);
      for (const project of projects) if (this.#processes.client(project).isDone) this.#startRun(project);
      const { victims } = this.#processes;
      const victim = victims[Math.floor(random() * victims.length)] ?? 'server';
      const project = random() < 0.5 ? 'red' : 'blue';
      if (!(await this.#processes.kill(victim, project))) {
        await this.#untilProgress();
        continue;
      }
      killed[victim] = (killed[victim] ?? 0) + 1;
      kill += 1;
      onKill?.(victim, project);
    }
    await Promise.all(projects.map((project) => this.#untilFinished(project)));
    for (const writer of writers) writer.stop();
    await writing;
    const faults = [...(await this.#findFaults()), ...(await Promise.all(writers.map((each) => each.losses()))).flat()];
    await Promise.all(Object.values(this.#stores).map((store) => store.close()));
    return {
      kills: killed,
      runs: 1 + this.#runs.red + this.#runs.blue,
      resumed: [...this.#resumptions.values()].reduce((sum, count) => sum + count, 0),
      acknowledged: writers.reduce((sum, { count }) => sum + count, 0),
      faults,
    };
  }

  #startRun(project: Project): void {
    this.#runs[project] += 1;
    this.#processes.train(project, `${project}-${this.#runs[project]}`);
  }

  /** Waits for the next step or the end of a run of any project. */
  async #untilProgress(): Promise<void> {
    const before = await this.#progress();
    await this.#until(async () => (await this.#progress()) !== before, projects);
  }

  async #untilFinished(project: Project): Promise<void> {
    await this.#until(async () => this.#processes.client(project).isDone, [project]);
  }

  async #until(isReached: () => Promise<boolean>, watched: readonly Project[]): Promise<void> {
    const deadline = performance.now() + progressTimeoutMs;
    while (!(await isReached())) {
      for (const project of watched) await this.#resumeIfEnded(project);
      if (performance.now() > deadline) throw new Error(`no progress:\n${this.#processes.diagnosis()}`);
      await systemClock.sleep(100);
    }
  }

  async #progress(): Promise<string> {
    const states = projects.map(async (project) => {
      const { runId, isDone } = this.#processes.client(project);
      const { items } = await this.#stores[project].queryMetrics(runId).catch(() => ({ items: [] }));
      return `${runId}:${items.length}:${isDone}`;
    });
    return (await Promise.all(states)).join();
  }

  /** Continues a run whose client has ended with an error, such as that of a failed run. */
  async #resumeIfEnded(project: Project): Promise<void> {
    const { runId, failure } = this.#processes.client(project);
    if (failure === null) return;
    const count = (this.#resumptions.get(runId) ?? 0) + 1;
    this.#resumptions.set(runId, count);
    process.stderr.write(`${runId} ended: ${failure.trim()}\n`);
    if (count > maxResumptions) throw new Error(`${runId} ends again and again:\n${failure}`);
    const run = this.#clients[project].run(runId);
    if ((await run.info().catch(() => null))?.status === 'failed') await run.resume();
    this.#processes.train(project, runId);
  }

  async #findFaults(): Promise<readonly string[]> {
    const expected = await learned(this.#stores.red, 'red-0');
    const faults: string[] = [];
    for (const project of projects) {
      for (let index = 1; index <= this.#runs[project]; index += 1) {
        const runId = `${project}-${index}`;
        const store = this.#stores[project];
        faults.push(...(await findFaults(store, runId)).map((fault) => `${runId}: ${fault}`));
        const differing = differences(expected, await learned(store, runId));
        faults.push(...differing.map((fault) => `${runId}: ${fault}`));
        if (differing.length > 0) {
          const [calls, found] = [await sampled(this.#stores.red, 'red-0'), await sampled(store, runId)];
          const changed = [...calls].filter(([rollouts, text]) => found.get(rollouts) !== text);
          const texts = changed.map(([rollouts, text]) => `${rollouts}: ${found.get(rollouts)}, not ${text}`);
          faults.push(
            ...texts.slice(0, 3).map((text) => `${runId}: ${text}`),
            ...(await this.#repetitions(project, runId)),
          );
        }
      }
    }
    return faults;
  }

  /** The rollouts of a run with several attempts or several calls, which are those that kills interrupted. */
  async #repetitions(project: Project, runId: string): Promise<readonly string[]> {
    const store = this.#stores[project];
    const { items } = await store.queryRollouts({ runId, modeIn: ['train'] });
    const texts: string[] = [];
    for (const { rolloutId, metadata } of items) {
      const { items: attempts } = await store.queryAttempts(rolloutId);
      const { items: spans } = await store.querySpans({ rolloutId });
      const calls = spans.flatMap((span) => callText(span) ?? []);
      if (attempts.length < 2 && calls.length < 2) continue;
      const ends = attempts.map((attempt) => {
        const failure = attemptFailureOrigin(attempt) ?? 'no failure';
        return `${attempt.status} (${failure} ${recordedFailure(attempt)?.message ?? ''})`;
      });
      texts.push(`${runId}: repeated at step ${metadata?.['step']}: ${ends.join(', ')}: ${calls.join(' and ')}`);
    }
    return texts;
  }
}

/** The metrics of a run by step, without times. */
type Learned = ReadonlyMap<number, Readonly<Record<string, number>>>;

async function learned(store: Store, runId: string): Promise<Learned> {
  const { items } = await store.queryMetrics(runId);
  const isLearned = ([name]: readonly [string, number]): boolean => !name.startsWith('time/');
  return new Map(items.map(({ step, values }) => [step, Object.fromEntries(Object.entries(values).filter(isLearned))]));
}

/** The calls of the last attempts of each group, with their seeds, which say why metrics differ; by step. */
async function sampled(store: Store, runId: string): Promise<ReadonlyMap<string, string>> {
  const { items } = await store.queryRollouts({ runId, modeIn: ['train'] });
  const groups = new Map<string, string[]>();
  for (const { rolloutId, metadata } of items) {
    const group = `step ${metadata?.['step']}, task ${metadata?.['task_index']}`;
    const { items: spans } = await store.querySpans({ rolloutId, attemptId: 'latest' });
    const calls = spans.flatMap((span) => callText(span) ?? []).filter((text) => !text.endsWith(': '));
    groups.set(group, [...(groups.get(group) ?? []), calls.join(' and ')]);
  }
  const texts = [...groups].map(([group, calls]) => [group, calls.toSorted().join('; ')] as const);
  return new Map(texts.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** The seed and the tokens of a model call; null for another span. */
function callText(span: Span): string | null {
  const call = modelCallFromSpan(span);
  const seed = Object.entries(span.attributes).find(([name]) => name.endsWith('seed'))?.[1];
  return call === null ? null : `${seed}: ${call.choices[0]?.responseTokenIds ?? ''}`;
}

/** The metrics that differ from those of an uninterrupted run, a sentence for each step. */
function differences(expected: Learned, actual: Learned): readonly string[] {
  return [...expected].flatMap(([step, values]) => {
    const found = actual.get(step) ?? {};
    const differing = Object.keys({ ...values, ...found }).filter((name) => values[name] !== found[name]);
    const texts = differing.map((name) => `${name} ${found[name]} instead of ${values[name]}`);
    return texts.length === 0 ? [] : [`step ${step} differs from an uninterrupted run: ${texts.join(', ')}`];
  });
}

/** Records rollouts as a program beside the runs does, and remembers those that the server has acknowledged. */
class AcknowledgedWriter {
  readonly #store: StoreClient;
  readonly #spans = new Map<string, string>();
  #isOver = false;

  constructor(store: StoreClient) {
    this.#store = store;
  }

  get count(): number {
    return this.#spans.size;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const { rolloutId, attempt } = await this.#store.startRollout({ input: this.#spans.size });
      const { attemptId } = attempt;
      const span = aSpan({ rolloutId, attemptId });
      await this.#store.appendSpans([span]);
      await this.#store.updateAttempt(rolloutId, attemptId, { status: 'succeeded' });
      this.#spans.set(rolloutId, span.spanId);
      await systemClock.sleep(100);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async losses(): Promise<readonly string[]> {
    const losses: string[] = [];
    for (const [rolloutId, spanId] of this.#spans) {
      const { status } = await this.#store.getRollout(rolloutId);
      const { items: attempts } = await this.#store.queryAttempts(rolloutId);
      const { items: spans } = await this.#store.querySpans({ rolloutId });
      const found = JSON.stringify([status, attempts.length, spans.map((span) => span.spanId)]);
      if (found !== JSON.stringify(['succeeded', 1, [spanId]]))
        losses.push(`${rolloutId} was recorded, and is ${found}`);
    }
    return losses;
  }
}
