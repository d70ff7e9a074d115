import { AgentLightningError, type Attempt, type RolloutMode, type Store } from '@agentlightning/core';
import { assertId } from '@agentlightning/core/protocol';
import { spanNames } from '@agentlightning/core/spans';
import { attemptFailureOrigin, isTerminalAttemptStatus } from '@agentlightning/core/store';
import { GatewayError, storeUnavailable } from '../wire/gateway-error.ts';
import { type AttemptAddress, attemptTraceId, type CallingAttempt, callIndexAttribute } from './calling-attempt.ts';
import type { UnattributedCalls } from './unattributed-calls.ts';

/**
 * Returns an attempt of a rollout; null if it does not exist. Tries the latest attempt first: nearly all calls come from
 * it, and stores find it fastest. An older one may still be running if it was given up too early.
 */
export async function findAttempt(store: Store, rolloutId: string, attemptId: string): Promise<Attempt | null> {
  const latest = await store.getLatestAttempt(rolloutId);
  if (latest === null || latest.attemptId === attemptId) return latest;
  const { items } = await store.queryAttempts(rolloutId);
  return items.find((attempt) => attempt.attemptId === attemptId) ?? null;
}

interface KnownAttempt {
  readonly traceId: string;
  /** See {@link CallingAttempt.seedNumber}. */
  readonly seedNumber: Promise<number>;
  /** With those of recorded calls when this gateway first knew the attempt: a gateway that served it before has ended. */
  readonly callIndexes: Promise<CallIndexes>;
}

interface KnownRollout {
  readonly runId: string | null;
  readonly mode: RolloutMode | null;
  readonly samplingKey: string;
  readonly samplingSeed: number | null;
  readonly attempts: Map<string, KnownAttempt>;
}

/** The indexes of the calls of an attempt. */
class CallIndexes {
  readonly #taken: Set<number>;
  #lowest = 0;

  constructor(taken: readonly number[]) {
    this.#taken = new Set(taken);
  }

  /** Takes the lowest free index. */
  take(): number {
    while (this.#taken.has(this.#lowest)) this.#lowest += 1;
    this.#taken.add(this.#lowest);
    return this.#lowest;
  }

  giveBack(index: number): void {
    this.#taken.delete(index);
    this.#lowest = Math.min(this.#lowest, index);
  }
}

/** Page size for the recorded calls of an attempt, whose spans can have megabytes each. */
const spansAtATime = 20;

/** Metadata field that replaces the rollout id in sampling seeds, so that a run with another id can reproduce them. */
const samplingKeyName = 'sampling_key';

/** Metadata field with the seed of the run, for gateways that are not started for the run. */
const samplingSeedName = 'sampling_seed';

/** Size of the rollout cache. */
const maxRollouts = 10_000;

/**
 * Resolves attempts that may call models. The rollout's mode is cached; the attempt's status is read for every call (one
 * indexed read), because a call of an ended attempt must not become training data.
 */
export class AttemptDirectory {
  readonly #store: Store;
  readonly #unattributedCalls: UnattributedCalls | null;
  readonly #rollouts: Map<string, KnownRollout> = new Map();

  /** @param unattributedCalls - recorder of calls without an attempt; null: they are not recorded */
  constructor(store: Store, unattributedCalls: UnattributedCalls | null) {
    this.#store = store;
    this.#unattributedCalls = unattributedCalls;
  }

  /**
   * Returns the attempt to record a call with; null if the call belongs to no attempt and is not recorded.
   *
   * @throws GatewayError 404 for unknown ids, 409 when the attempt is finished, 503 when the store fails
   */
  async find(address: AttemptAddress | null): Promise<CallingAttempt | null> {
    if (address === null) return (await this.#unattributedCalls?.attempt()) ?? null;
    const { rolloutId, attemptId, mode } = address;
    const [rollout, attempt] = await this.#read(rolloutId, attemptId);
    if (attempt === null) throw unknown(`Attempt ${attemptId} of rollout ${rolloutId}`);
    if (isTerminalAttemptStatus(attempt.status)) throw finished(`Attempt ${attemptId}`, attempt.status);
    const known = rollout.attempts.get(attemptId) ?? this.#newAttempt(attempt);
    rollout.attempts.set(attemptId, known);
    const [seedNumber, callIndexes] = await Promise.all([known.seedNumber, known.callIndexes]);
    const callIndex = callIndexes.take();
    return {
      rolloutId,
      attemptId,
      runId: rollout.runId,
      seedNumber,
      mode: rollout.mode ?? mode,
      traceId: known.traceId,
      callIndex,
      giveBackIndex: () => callIndexes.giveBack(callIndex),
      samplingKey: rollout.samplingKey,
      samplingSeed: rollout.samplingSeed,
      isUnattributed: false,
      production: null,
    };
  }

  #newAttempt(attempt: Attempt): KnownAttempt {
    const { rolloutId, attemptId } = attempt;
    const seedNumber = this.#seedNumber(attempt);
    const callIndexes = this.#callIndexes(attempt);
    // The call awaits these promises later; without a handler, an earlier rejection would be uncaught.
    for (const read of [seedNumber, callIndexes]) {
      read.catch(() => this.#rollouts.get(rolloutId)?.attempts.delete(attemptId));
    }
    return { traceId: attemptTraceId(rolloutId, attemptId), seedNumber, callIndexes };
  }

  /** The next call of an attempt has another seed than its last one also after a restart of the gateway. */
  async #callIndexes({ rolloutId, attemptId }: Attempt): Promise<CallIndexes> {
    const indexes: number[] = [];
    try {
      for (let offset = 0, total = 1; offset < total; offset += spansAtATime) {
        const query = { rolloutId, attemptId, name: spanNames.modelCall, limit: spansAtATime, offset };
        const page = await this.#store.querySpans(query);
        for (const { attributes } of page.items) {
          const index = attributes[callIndexAttribute];
          if (typeof index === 'number') indexes.push(index);
        }
        total = page.total;
      }
      return new CallIndexes(indexes);
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  async #seedNumber({ rolloutId, attemptId, sequenceId }: Attempt): Promise<number> {
    if (sequenceId === 1) return 1;
    try {
      const { items } = await this.#store.queryAttempts(rolloutId);
      return seedNumbers(items).get(attemptId) ?? 1;
    } catch (error) {
      throw storeUnavailable(error);
    }
  }

  async #read(rolloutId: string, attemptId: string): Promise<[KnownRollout, Attempt | null]> {
    try {
      assertId('rolloutId', rolloutId);
      assertId('attemptId', attemptId);
      const known = this.#rollouts.get(rolloutId);
      if (known !== undefined) return [known, await findAttempt(this.#store, rolloutId, attemptId)];
      return await Promise.all([this.#rollout(rolloutId), findAttempt(this.#store, rolloutId, attemptId)]);
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') throw unknown(`Rollout ${rolloutId}`);
      if (AgentLightningError.isInstance(error) && error.code === 'VALIDATION') throw invalidId(error);
      throw storeUnavailable(error);
    }
  }

  async #rollout(rolloutId: string): Promise<KnownRollout> {
    const { runId, mode, metadata } = await this.#store.getRollout(rolloutId);
    const key = metadata?.[samplingKeyName];
    const samplingKey = typeof key === 'string' ? key : rolloutId;
    const seed = metadata?.[samplingSeedName];
    const samplingSeed = typeof seed === 'number' ? seed : null;
    // Two concurrent first calls must share one counter.
    const rollout = this.#rollouts.get(rolloutId) ?? {
      runId,
      mode,
      samplingKey,
      samplingSeed,
      attempts: new Map<string, KnownAttempt>(),
    };
    this.#rollouts.set(rolloutId, rollout);
    const oldest = this.#rollouts.keys().next();
    if (this.#rollouts.size > maxRollouts && oldest.done === false) this.#rollouts.delete(oldest.value);
    return rollout;
  }
}

/**
 * The seed numbers of the attempts of a rollout. A failure of the agent changes the seeds of later attempts only: those that
 * have started before, because its runner was considered lost, repeat its calls.
 */
function seedNumbers(attempts: readonly Attempt[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  const failures: { readonly number: number; readonly endTimeMs: number }[] = [];
  for (const attempt of attempts.toSorted((left, right) => left.sequenceId - right.sequenceId)) {
    const earlier = failures.filter(({ endTimeMs }) => endTimeMs <= attempt.startTimeMs);
    const number = 1 + Math.max(0, ...earlier.map((failure) => failure.number));
    numbers.set(attempt.attemptId, number);
    if (attemptFailureOrigin(attempt) === 'agent') failures.push({ number, endTimeMs: attempt.endTimeMs ?? 0 });
  }
  return numbers;
}

function unknown(subject: string): GatewayError {
  return new GatewayError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    type: 'invalid_request_error',
    message: `${subject} not found`,
    remedy: 'Use the base URL of the rollout: /rollout/{rolloutId}/attempt/{attemptId}/v1.',
  });
}

function finished(subject: string, status: string): GatewayError {
  return new GatewayError({
    code: 'CONFLICT',
    httpStatus: 409,
    type: 'conflict_error',
    message: `${subject} is ${status}; the call was not sent and not recorded`,
    remedy: 'Stop the agent when its rollout ends, such as with the signal of the rollout context.',
    // The official clients retry a 409 by default, without effect here.
    headers: { 'x-should-retry': 'false' },
  });
}

/** The error for an id of the address that no rollout can have. */
function invalidId(cause: AgentLightningError): GatewayError {
  return new GatewayError({
    code: 'VALIDATION',
    httpStatus: 400,
    type: 'invalid_request_error',
    message: cause.message.replace(/^\[\w+\] /, ''),
    remedy: 'Use the base URL of an attempt.',
    cause,
  });
}
