/**
 * Measures one adapter in a separate process, without other adapters. Reports by `process.send`:
 *
 * - the duration of a framework call in each {@link Setting}, alternating in the same run;
 * - the growth of call duration and memory over many calls in one rollout.
 *
 * Durations are CPU time of the agent's thread, which other programs on the machine hardly affect.
 *
 * @module
 */
import { setImmediate } from 'node:timers/promises';
import { withRollout } from '@agentlightning/core';
import { measureInTurns } from '../rounds.ts';
import { median, quartiles } from '../statistics.ts';
import type { FrameworkUnderTest, OpenFramework } from './framework-under-test.ts';
import { answer, installInstantModel, requestCount } from './instant-model.ts';
import { CountingSink, measuredRollout } from './measured-rollout.ts';

/**
 * Configuration of a measurement. `bare`: without the adapter; `listened`: with an empty listener instead; `ownTelemetry`:
 * with the framework's own telemetry instead; `outside`: with the adapter outside of a rollout, as in production; `traced`:
 * in a rollout; `sent`: in a rollout whose model calls are sent to its endpoint, as in training.
 */
export type Setting = 'bare' | 'listened' | 'ownTelemetry' | 'outside' | 'traced' | 'sent';

/** The measurement of one adapter. */
export interface AdapterMeasurement {
  /** Microseconds of a call in each setting; the median of the rounds. */
  readonly callUs: Readonly<Partial<Record<Setting, number>>>;
  /** Microseconds that a setting adds to a bare call of the same round; the median of the rounds. */
  readonly addedUs: Readonly<Partial<Record<Setting, number>>>;
  /** Quartiles over the rounds of the time that a rollout with an endpoint adds, which show the noise of the machine. */
  readonly sentQuartilesUs: readonly [lower: number, upper: number];
  /** Number of spans per call. */
  readonly spansPerCall: number;
  readonly growth: Growth;
}

/** Growth over many calls. */
export interface Growth {
  readonly calls: number;
  /** Microseconds per call in the first and in the last tenth. */
  readonly firstUs: number;
  readonly lastUs: number;
  /** Retained bytes per call: the slope of the heap size over all tenths except the first. */
  readonly heapBytesPerCall: number;
}

const [name = '', roundsText = '30', growthText = '100000'] = process.argv.slice(2);
const callsInRound = 300;
/** Warm-up calls per round: each round instruments again, and new code is slow until V8 has optimised it. */
const uncountedCallsInRound = 200;
const warmUpCalls = 3000;
const callsBetweenWaits = 20;

async function main(): Promise<AdapterMeasurement> {
  installInstantModel();
  const { open } = (await import(`./frameworks/${name}.ts`)) as { open: OpenFramework };
  const framework = await open();
  const settings: readonly Setting[] = [
    'bare',
    ...(framework.listen === undefined ? [] : (['listened'] as const)),
    ...(framework.ownTelemetry === undefined ? [] : (['ownTelemetry'] as const)),
    'outside',
    'traced',
    'sent',
  ];
  for (const setting of settings) await timeOf(framework, setting, warmUpCalls / settings.length);
  const samples = await measureInTurns(settings, { rounds: Number(roundsText) }, (setting) =>
    timeOf(framework, setting, callsInRound),
  );
  const bareUs = samples.get('bare') ?? [];
  const added = (setting: Setting): number[] =>
    (samples.get(setting) ?? []).map((us, round) => us - (bareUs[round] ?? Number.NaN));
  const bySetting = (figure: (setting: Setting) => number): Partial<Record<Setting, number>> =>
    Object.fromEntries(settings.map((setting) => [setting, figure(setting)]));
  return {
    callUs: bySetting((setting) => median(samples.get(setting) ?? [])),
    addedUs: bySetting((setting) => median(added(setting))),
    sentQuartilesUs: quartiles(added('sent')),
    spansPerCall: await spansPerCall(framework),
    growth: await growthOf(framework, Number(growthText)),
  };
}

/** Activates a setting. Returns a function that runs calls in it, and one that deactivates it. */
function arrange(
  { call, instrument, listen, ownTelemetry }: FrameworkUnderTest,
  setting: Setting,
): {
  readonly run: <T>(calls: () => T) => T;
  readonly call: () => Promise<string>;
  readonly end: () => void;
  readonly sink: CountingSink;
} {
  const sink = new CountingSink();
  const nothing = (): void => {};
  if (setting === 'bare') return { run: (calls) => calls(), call, end: nothing, sink };
  if (setting === 'listened') return { run: (calls) => calls(), call, end: listen?.() ?? nothing, sink };
  if (setting === 'ownTelemetry') return { run: (calls) => calls(), call, end: ownTelemetry?.() ?? nothing, sink };
  const end = instrument();
  if (setting === 'outside') return { run: (calls) => calls(), call, end, sink };
  const rollout = measuredRollout(sink, setting === 'sent');
  return { run: (calls) => withRollout(rollout, calls), call, end, sink };
}

/** Microseconds per call, without the warm-up calls. */
async function timeOf(framework: FrameworkUnderTest, setting: Setting, calls: number): Promise<number> {
  const { run, call, end } = arrange(framework, setting);
  try {
    await run(() => repeat(call, uncountedCallsInRound));
    return await run(() => timed(call, calls));
  } finally {
    end();
  }
}

async function timed(call: () => Promise<string>, calls: number): Promise<number> {
  const before = threadTimeUs();
  await repeat(call, calls);
  return (threadTimeUs() - before) / calls;
}

const nothingToWaitFor = new Int32Array(new SharedArrayBuffer(4));

/**
 * CPU time of this thread. It pauses for a moment, because Linux otherwise updates the value only every few milliseconds.
 */
function threadTimeUs(): number {
  Atomics.wait(nothingToWaitFor, 0, 0, 0.1);
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

async function repeat(call: () => Promise<string>, calls: number): Promise<void> {
  const asked = requestCount;
  let made = 0;
  for (; made < calls; made += 1) {
    const text = await call();
    if (text !== answer) throw new Error(`${name} answered ${JSON.stringify(text)}`);
    // Like a call over the network, this yields to the event loop, which weak references need to be collected.
    if (made % callsBetweenWaits === 0) await setImmediate();
  }
  if (requestCount - asked !== made) throw new Error(`${made} calls were ${requestCount - asked} requests`);
}

async function spansPerCall(framework: FrameworkUnderTest): Promise<number> {
  const { run, call, end, sink } = arrange(framework, 'traced');
  await run(() => repeat(call, 10));
  end();
  return sink.count / 10;
}

async function growthOf(framework: FrameworkUnderTest, calls: number): Promise<Growth> {
  const { run, call, end } = arrange(framework, 'sent');
  const tenth = calls / 10;
  const times: number[] = [];
  const heaps: number[] = [];
  await run(async () => {
    await repeat(call, warmUpCalls);
    // Forced garbage collection discards optimised code, so all parts start after one.
    heapBytes();
    for (let part = 0; part < 10; part += 1) {
      times.push(await timed(call, tenth));
      heaps.push(heapBytes());
    }
  });
  end();
  return { calls, firstUs: times[0] ?? 0, lastUs: times.at(-1) ?? 0, heapBytesPerCall: slope(heaps.slice(1)) / tenth };
}

function heapBytes(): number {
  for (let times = 0; times < 3; times += 1) globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** The slope of a least-squares line through values at 0, 1, 2, … */
function slope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const covariance = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0);
  return covariance / values.reduce((sum, _, index) => sum + (index - middle) ** 2, 0);
}

process.send?.(await main());
process.disconnect?.();
