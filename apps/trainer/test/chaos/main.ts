/**
 * `pnpm chaos train [--kills 20] [--seed 1]`: kills the processes of training runs at random, and looks for rollouts that
 * were lost or counted twice. Half of the kills hit runs of `agl train` with its embedded runtime and worker processes, the
 * others runs with a runtime, a gateway and a runner in separate processes, which collect asynchronously.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { StoreClient } from '@agentlightning/core/store-client';
import { randomNumbers } from '../../../../tools/random-numbers.ts';
import { findFaults } from './find-faults.ts';
import { ChaosProcesses, type Topology } from './processes.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    /** Only runs of this kind: `embedded` or `services`. */
    only: { type: 'string' },
  },
});
const kills = Number(values.kills);
const random = randomNumbers(Number(values.seed));

/** Timeout for the next step of a run after a kill, in milliseconds. */
const progressTimeoutMs = 300_000;

/** Maximum number of resumptions after an error of the trainer. */
const maxFailures = 3;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Outcome {
  readonly kills: Readonly<Record<string, number>>;
  readonly runs: number;
  /** Number of resumptions after an error of the trainer. */
  readonly resumed: number;
  readonly faults: readonly string[];
}

async function injectFaults(topology: Topology, count: number): Promise<Outcome> {
  await using processes = await ChaosProcesses.start(topology);
  const store = new StoreClient({ baseUrl: processes.storeUrl, unreachableAfterMs: 60_000 });
  const killed = new Map<string, number>();
  let runs = 0;
  let resumed = 0;
  const runId = (): string => `${topology}-${runs}`;
  const startRun = async (): Promise<void> => {
    runs += 1;
    await processes.train(runId(), false);
  };
  /** Waits for the next step; resumes a trainer that has ended. */
  const untilProgress = async (): Promise<void> => {
    const before = processes.progress;
    const deadline = performance.now() + progressTimeoutMs;
    let failures = 0;
    while (processes.progress === before && !processes.isDone) {
      const { failure } = processes;
      if (failure !== null) {
        failures += 1;
        resumed += 1;
        process.stderr.write(`${runId()} ended: ${failure.trim().slice(-1000)}\n`);
        if (failures > maxFailures) throw new Error(`${runId()} ends again and again:\n${failure}`);
        // A trainer that was killed at its start has created no run.
        await processes.train(runId(), await isCreated(store, runId()));
      }
      if (performance.now() > deadline) throw new Error(`${runId()} makes no progress:\n${processes.diagnosis()}`);
      await sleep(50);
    }
  };
  await startRun();
  for (let kill = 1; kill <= count; ) {
    if (random() < 0.75) await untilProgress();
    await sleep(random() * 2000);
    if (processes.isDone) await startRun();
    const victim = processes.victims[Math.floor(random() * processes.victims.length)] ?? 'trainer';
    if (!(await processes.kill(victim))) {
      await untilProgress();
      continue;
    }
    killed.set(victim, (killed.get(victim) ?? 0) + 1);
    process.stderr.write(
      `${topology}: kill ${kill}/${count}: ${victim}, run ${runs}, progress ${processes.progress}\n`,
    );
    kill += 1;
  }
  while (!processes.isDone) await untilProgress();
  const faults: string[] = [];
  for (let run = 1; run <= runs; run += 1) {
    const found = await findFaults(store, `${topology}-${run}`);
    faults.push(...found.map((fault) => `${topology}-${run}: ${fault}`));
  }
  await store.close();
  return { kills: Object.fromEntries(killed), runs, resumed, faults };
}

async function isCreated(store: StoreClient, runId: string): Promise<boolean> {
  const { items } = await store.queryRuns();
  return items.some((run) => run.runId === runId);
}

const startedMs = performance.now();
const topologies: readonly Topology[] = (['embedded', 'services'] as const).filter(
  (topology) => values.only === undefined || values.only === topology,
);
const outcomes: Outcome[] = [];
for (const [index, topology] of topologies.entries()) {
  const share = Math.floor((kills + topologies.length - 1 - index) / topologies.length);
  if (share > 0) outcomes.push(await injectFaults(topology, share));
}
const faults = outcomes.flatMap((outcome) => outcome.faults);
for (const fault of faults) process.stderr.write(`FAULT: ${fault}\n`);
const seconds = Math.round((performance.now() - startedMs) / 1000);
process.stdout.write(
  `${JSON.stringify({ kills, seed: Number(values.seed), seconds, outcomes, faults: faults.length })}\n`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
