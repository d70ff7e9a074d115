import type { Span, Store } from '@agentlightning/core';
import { feedbackFromSpan } from '@agentlightning/core/internal';
import { costOfCalls, type Prices, usageOfSpans } from '@agentlightning/core/protocol';
import { findFinalReward, productionAttributes, readProductionMetadata } from '@agentlightning/core/spans';
import type { FoundRollout } from '@agentlightning/core/store';

/** The two sides of a trial. */
export type CanaryArm = 'live' | 'candidate';

/** What is known of one side. Each user counts once in each list, with the first trace that has the value. */
export interface ArmEvidence {
  /** Number of traces. */
  readonly traces: number;
  /** Number of users, of conversations where the user is unknown, and of traces where both are. */
  readonly units: number;
  /** In the order in which they became known. */
  readonly scores: readonly number[];
  /** 1 for a failed first trace, 0 otherwise. A call that the candidate was away for is its failure. */
  readonly failures: readonly number[];
  /** Seconds. */
  readonly latencies: readonly number[];
  /** In the currency of the prices; null where a price is unknown. */
  readonly costs: readonly (number | null)[];
  /** The values of each part of a reward with several, such as a scorer, by name. */
  readonly parts: Readonly<Record<string, readonly number[]>>;
  /** Number of traces at the end that failed without a success between them. */
  readonly failuresInARow: number;
}

/** What is known of both sides. */
export type CanaryEvidence = Readonly<Record<CanaryArm, ArmEvidence>>;

/** The trial to read. */
export interface CanaryQuery {
  readonly deployment: string;
  readonly live: string;
  readonly candidate: string;
  /** The key of the candidate. */
  readonly trial: string;
  readonly sinceMs: number;
  /** Null when no price is known. */
  readonly prices: Prices | null;
}

/** What was read of a trial, so that the next assessment reads only what is new. */
export interface TrialMemory {
  /** By rollout, in the order of creation. */
  readonly traces: Map<string, Trace>;
  /** The first feedback with a score, by rollout. */
  readonly feedback: Map<string, { readonly timeMs: number; readonly score: number }>;
  /** What was read of the spans of traces, by rollout. */
  readonly details: Map<string, TraceDetails>;
}

/** The memory of a trial of which nothing was read. */
export function emptyMemory(): TrialMemory {
  return { traces: new Map(), feedback: new Map(), details: new Map() };
}

/** What only the spans of a trace have. */
export interface TraceDetails {
  /** Null where a price is unknown. */
  readonly cost: number | null;
  /** The parts of its reward by name; empty for a reward without parts. */
  readonly parts: Readonly<Record<string, number>>;
}

/** First traces of users whose spans are read, of each side; reading a trace is slow. */
const maxRead = 2000;

const pageSize = 1000;

/** Maximum lag of the clocks of gateways and applications behind that of the machine that started the trial, in milliseconds. */
const clockToleranceMs = 86_400_000;

/** What is read again because it may have arrived late or changed, in milliseconds before the latest that was read. */
const overlapMs = 60_000;

/** A trace of one side. */
interface Trace {
  readonly arm: CanaryArm;
  readonly rolloutId: string;
  readonly unit: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly isFailed: boolean;
  /** Null without one, or with feedback. */
  readonly reward: number | null;
}

/**
 * Reads the traces and the feedback of a trial. The gateway has marked the traces, so those that it has not routed at random are not
 * among them, whatever the clocks say. The side of a trace is the version that it was for, also where that was away.
 */
export async function readCanaryEvidence(
  store: Store,
  query: CanaryQuery,
  memory: TrialMemory = emptyMemory(),
): Promise<CanaryEvidence> {
  await readTraces(store, query, memory);
  await readFeedback(store, query, memory);
  const evidence = async (arm: CanaryArm): Promise<ArmEvidence> => {
    const all = [...memory.traces.values()].filter((trace) => trace.arm === arm);
    const first = firstOfUnits(all);
    const { prices } = query;
    const details = await readDetails(store, { first, prices, known: memory.details });
    return {
      traces: all.length,
      units: first.length,
      scores: scoresOf(all, memory.feedback),
      failures: first.map(({ isFailed }) => Number(isFailed)),
      latencies: first.map(({ startMs, endMs }) => Math.max(0, endMs - startMs) / 1000),
      costs: prices === null ? [] : details.map(({ cost }) => cost),
      parts: partsOf(details),
      failuresInARow: all.length - 1 - all.findLastIndex(({ isFailed }) => !isFailed),
    };
  };
  return { live: await evidence('live'), candidate: await evidence('candidate') };
}

/** The time from which on the store is read: that of the trial, at first. */
function readFromMs(sinceMs: number, knownMs: readonly number[]): number {
  let latestMs = sinceMs - clockToleranceMs + overlapMs;
  for (const timeMs of knownMs) latestMs = Math.max(latestMs, timeMs);
  return latestMs - overlapMs;
}

async function readTraces(
  store: Store,
  { deployment, live, candidate, trial, sinceMs }: CanaryQuery,
  { traces }: TrialMemory,
): Promise<void> {
  const startTimeFromMs = readFromMs(
    sinceMs,
    [...traces.values()].map(({ startMs }) => startMs),
  );
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Store['searchRollouts']>> = await store.searchRollouts({
      runId: deployment,
      modeIn: ['production'],
      startTimeFromMs,
      metadata: { [productionAttributes.trial]: trial },
      sortOrder: 'asc',
      limit: pageSize,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const found of page.items) {
      const { version, fallbackFrom } = readProductionMetadata(found.rollout.metadata);
      const assigned = fallbackFrom ?? version;
      if (assigned !== live && assigned !== candidate) continue;
      const arm = assigned === candidate ? 'candidate' : 'live';
      traces.set(found.rollout.rolloutId, traceOf(found, arm, fallbackFrom !== null));
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
}

function traceOf({ rollout, reward }: FoundRollout, arm: CanaryArm, isFallenBack: boolean): Trace {
  const { rolloutId, startTimeMs, endTimeMs, status, metadata } = rollout;
  const { user, conversation } = readProductionMetadata(metadata);
  const unit = user === null ? (conversation === null ? `t:${rolloutId}` : `c:${conversation}`) : `u:${user}`;
  return {
    arm,
    rolloutId,
    unit,
    startMs: startTimeMs,
    endMs: endTimeMs ?? startTimeMs,
    isFailed: isFallenBack || status === 'failed',
    reward,
  };
}

async function readFeedback(
  store: Store,
  { deployment, sinceMs }: CanaryQuery,
  { feedback }: TrialMemory,
): Promise<void> {
  const timeFromMs = readFromMs(
    sinceMs,
    [...feedback.values()].map(({ timeMs }) => timeMs),
  );
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Store['queryFeedback']>> = await store.queryFeedback({
      runId: deployment,
      timeFromMs,
      limit: pageSize,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const { rolloutId, timeMs, score } of page.items) {
      const known = feedback.get(rolloutId);
      if (score !== undefined && (known === undefined || timeMs < known.timeMs)) {
        feedback.set(rolloutId, { timeMs, score });
      }
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/**
 * The first score of each user, in the order in which scores became known: feedback when it was given, and the reward of a scorer at the
 * end of the trace. Later scores of a user are not independent of the first, and an order that later looks keep is what a sequential
 * test needs.
 */
function scoresOf(
  traces: readonly Trace[],
  feedback: ReadonlyMap<string, { readonly timeMs: number; readonly score: number }>,
): readonly number[] {
  const scored = traces.flatMap(({ rolloutId, unit, endMs, reward }) => {
    const given = feedback.get(rolloutId);
    if (given !== undefined) return [{ unit, ...given }];
    return reward === null ? [] : [{ unit, timeMs: endMs, score: reward }];
  });
  const seen = new Set<string>();
  const ordered = scored.toSorted((one, other) => one.timeMs - other.timeMs);
  return ordered.flatMap(({ unit, score }) => {
    if (seen.has(unit)) return [];
    seen.add(unit);
    return [score];
  });
}

function firstOfUnits(traces: readonly Trace[]): readonly Trace[] {
  const seen = new Set<string>();
  return traces.filter(({ unit }) => {
    const isNew = !seen.has(unit);
    seen.add(unit);
    return isNew;
  });
}

/** The details of first traces: of all where costs are known, otherwise of those with a reward. */
async function readDetails(
  store: Store,
  {
    first,
    prices,
    known,
  }: { readonly first: readonly Trace[]; readonly prices: Prices | null; readonly known: TrialMemory['details'] },
): Promise<readonly TraceDetails[]> {
  const read = prices === null ? first.filter(({ reward }) => reward !== null) : first;
  const ids = read.slice(0, maxRead).map(({ rolloutId }) => rolloutId);
  let unknown = ids.filter((id) => !known.has(id));
  while (unknown.length > 0) {
    const traces = await store.readTraces(unknown.slice(0, pageSize));
    for (const { rolloutId, spans } of traces) known.set(rolloutId, detailsOf(spans, prices));
    unknown = unknown.slice(traces.length);
  }
  return ids.flatMap((id) => known.get(id) ?? []);
}

function detailsOf(spans: readonly Span[], prices: Prices | null): TraceDetails {
  const { amount, missing } =
    prices === null ? { amount: null, missing: [] } : costOfCalls(usageOfSpans(spans), prices);
  // The reward of the application; feedback is not a part of it.
  const rewards = findFinalReward(spans.filter((span) => feedbackFromSpan(span) === null))?.rewards ?? [];
  const parts = rewards.length < 2 ? [] : rewards.map(({ name, value }): [string, number] => [name, value]);
  return { cost: missing.length > 0 ? null : amount, parts: Object.fromEntries(parts) };
}

function partsOf(details: readonly TraceDetails[]): Readonly<Record<string, readonly number[]>> {
  const names = [...new Set(details.flatMap(({ parts }) => Object.keys(parts)))].toSorted();
  return Object.fromEntries(
    names.map((name) => [name, details.flatMap(({ parts }) => (parts[name] === undefined ? [] : [parts[name]]))]),
  );
}
