import { AgentLightningError, type Clock, type Rollout, type RolloutConfig, type Store } from '@agentlightning/core';
import { KeyedMutex } from '@agentlightning/core/internal';
import { hasAttempt } from '@agentlightning/core/protocol';
import { type AttemptedRollout, type EnqueueRolloutRequest, isTerminalRolloutStatus } from '@agentlightning/core/store';
import { AglServerError, rolloutNotFound } from './agl-server-error.ts';
import { attemptIdOf, newSection, type RolloutSection, sectionOf, stateOf, withSection } from './rollout-section.ts';
import { type ServerRun, serverRunId } from './server-run.ts';
import type { TerminalLog } from './terminal-log.ts';
import {
  defaultAttemptName,
  statusesOfState,
  type WireRolloutCreate,
  type WireState,
  type WireStatusPatch,
  wireTransitions,
} from './wire.ts';

/** Worker id of 1.0 controllers in the store. */
const controllerWorkerId = 'agl-controller';

/** Controllers enforce timeouts themselves; the store's timeout is for lost controllers. */
const controllerGraceMs = 120_000;

const pageSize = 500;

const maxRemembered = 10_000;

/** Dependencies of {@link Rollouts}. */
export interface AglRolloutsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly run: ServerRun;
  readonly log: TerminalLog;
}

/** The rollouts of the 1.0 protocol, stored as rollouts. */
export class AglRollouts {
  readonly #options: AglRolloutsOptions;
  readonly #mutex: KeyedMutex = new KeyedMutex();
  /** Running attempts of agents: by rollout, then by name. */
  readonly #attemptIds: Map<string, Map<string, string>> = new Map();

  constructor(options: AglRolloutsOptions) {
    this.#options = options;
  }

  /** Enqueues rollouts; known ids are ignored. */
  async create(requests: readonly WireRolloutCreate[]): Promise<readonly Rollout[]> {
    const { store, clock, run } = this.#options;
    await run.create();
    return await store.enqueueRollouts(requests.map((request) => toEnqueueRequest(request, clock.now())));
  }

  /** @throws AglServerError 404 when it does not exist */
  async get(rolloutId: string): Promise<Rollout | AttemptedRollout> {
    const rollout = await this.#find(rolloutId);
    if (rollout === null) throw rolloutNotFound(rolloutId);
    return rollout;
  }

  /** The rollouts in one of the states, in order of creation. */
  async list(states: readonly WireState[], limit: number): Promise<readonly Rollout[]> {
    const statusIn = [...new Set(states.flatMap((state) => statusesOfState[state]))];
    const found: Rollout[] = [];
    for (let offset = 0; found.length < limit; offset += pageSize) {
      const query = { runId: serverRunId, statusIn, limit: pageSize, offset };
      const { items } = await this.#options.store.queryRollouts(query);
      found.push(...items.filter((rollout) => states.includes(stateOf(rollout))));
      if (items.length < pageSize) break;
    }
    return found.slice(0, limit);
  }

  /** Applies a controller's report. @throws AglServerError 404; 409 for an invalid transition */
  async patch(rolloutId: string, patch: WireStatusPatch): Promise<Rollout> {
    return await this.#mutex.runExclusive(rolloutId, async () => {
      const rollout = await this.get(rolloutId);
      if (Object.values(patch).every((value) => value === undefined)) return rollout;
      if (patch.state !== undefined) assertTransition(rollout, patch.state);
      const hasEnded = patch.state === 'succeeded' || patch.state === 'failed';
      const current =
        patch.state === 'running' || (hasEnded && !hasAttempt(rollout))
          ? await this.#open(rollout, patch.last_attempt_id ?? defaultAttemptName)
          : rollout;
      const section = patchedSection(sectionOf(current), patch, this.#options.clock.now());
      const { store } = this.#options;
      await store.updateRollout(rolloutId, {
        metadata: withSection(current.metadata, section),
        ...(patch.state ? { status: patch.state } : {}),
        ...(patch.state === 'running' ? { config: controlled(current.config, section) } : {}),
      });
      return await store.getRollout(rolloutId);
    });
  }

  /** Deletes a rollout and its data, finished or not. Idempotent. */
  async delete(rolloutId: string): Promise<void> {
    await this.#mutex.runExclusive(rolloutId, async () => {
      this.#attemptIds.delete(rolloutId);
      const rollout = await this.#find(rolloutId);
      if (rollout === null) return;
      const { store, log } = this.#options;
      if (isTerminalRolloutStatus(rollout.status)) await log.noteDeleted(rolloutId);
      else await store.updateRollout(rolloutId, { status: 'cancelled' });
      await store.deleteRollouts([rolloutId]);
    });
  }

  /**
   * The store id of an attempt that a controller or its agent names. A missing attempt is created: an agent may call
   * before its controller reports it.
   *
   * @throws AglServerError 404 when the rollout or attempt does not exist
   */
  async attemptId(rolloutId: string, name: string): Promise<string> {
    const remembered = this.#attemptIds.get(rolloutId)?.get(name);
    if (remembered !== undefined) return remembered;
    return await this.#mutex.runExclusive(rolloutId, async () => {
      const rollout = await this.get(rolloutId);
      const known = await this.knownAttemptId(rollout, name);
      if (known !== null) return this.#remember(rolloutId, name, known);
      const section = sectionOf(rollout);
      const isRunByWorker = hasAttempt(rollout) && !Object.values(section.attempts).includes(rollout.attempt.attemptId);
      if (isRunByWorker || isTerminalRolloutStatus(rollout.status)) throw attemptNotFound(rolloutId, name);
      const opened = attemptIdOf(sectionOf(await this.#open(rollout, name)), name);
      if (opened === undefined) throw attemptNotFound(rolloutId, name);
      return this.#remember(rolloutId, name, opened);
    });
  }

  /** The store id of a named attempt; null before it begins. */
  async knownAttemptId(rollout: Rollout | AttemptedRollout, name: string): Promise<string | null> {
    const named = attemptIdOf(sectionOf(rollout), name);
    if (named !== undefined) return named;
    if (!hasAttempt(rollout)) return null;
    const isControlled = Object.values(sectionOf(rollout).attempts).includes(rollout.attempt.attemptId);
    // 1.0 agents use this name for every attempt, including those of runners.
    if (rollout.attempt.attemptId === name || (name === defaultAttemptName && !isControlled)) {
      return rollout.attempt.attemptId;
    }
    const { items } = await this.#options.store.queryAttempts(rollout.rolloutId);
    return items.find(({ attemptId }) => attemptId === name)?.attemptId ?? null;
  }

  #remember(rolloutId: string, name: string, attemptId: string): string {
    const ofRollout = this.#attemptIds.get(rolloutId) ?? new Map<string, string>();
    this.#attemptIds.set(rolloutId, ofRollout.set(name, attemptId));
    const oldest = this.#attemptIds.keys().next();
    if (this.#attemptIds.size > maxRemembered && oldest.done === false) this.#attemptIds.delete(oldest.value);
    return attemptId;
  }

  async #find(rolloutId: string): Promise<Rollout | AttemptedRollout | null> {
    try {
      const rollout = await this.#options.store.getRollout(rolloutId);
      return rollout.runId === serverRunId ? rollout : null;
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  }

  /** Claims a rollout for its controller, unless it is claimed. */
  async #open(rollout: Rollout | AttemptedRollout, name: string): Promise<Rollout | AttemptedRollout> {
    const section = sectionOf(rollout);
    const isOpen = rollout.status === 'preparing' || rollout.status === 'running';
    if (isOpen && attemptIdOf(section, name) !== undefined) return rollout;
    this.#attemptIds.delete(rollout.rolloutId);
    const { store } = this.#options;
    const { rolloutId, attempt } = await store.startAttempt(rollout.rolloutId, controllerWorkerId);
    const attempts = { ...section.attempts, [name]: attempt.attemptId };
    await store.updateRollout(rolloutId, { metadata: withSection(rollout.metadata, { ...section, attempts }) });
    return await store.getRollout(rolloutId);
  }
}

function toEnqueueRequest(request: WireRolloutCreate, nowMs: number): EnqueueRolloutRequest {
  const { timeout_seconds: timeoutSeconds } = request.config;
  return {
    ...(request.rollout_id === null ? {} : { rolloutId: request.rollout_id }),
    input: request.input,
    mode: request.is_train ? 'train' : 'val',
    runId: serverRunId,
    config: { timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : null },
    metadata: withSection(request.metadata, newSection(request.config, nowMs)),
  };
}

function controlled(config: RolloutConfig, section: RolloutSection): RolloutConfig {
  const { timeout_seconds: timeoutSeconds } = section.config;
  return { ...config, timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 + controllerGraceMs : null };
}

function patchedSection(section: RolloutSection, patch: WireStatusPatch, nowMs: number): RolloutSection {
  return {
    ...section,
    ...(patch.state ? { state: patch.state } : {}),
    ...(patch.k8s_job_name === undefined ? {} : { k8sJobName: patch.k8s_job_name }),
    ...(patch.last_attempt_id === undefined ? {} : { lastAttemptName: patch.last_attempt_id }),
    ...(patch.error_message === undefined ? {} : { errorMessage: patch.error_message }),
    version: section.version + 1,
    updateTimeMs: nowMs,
  };
}

function assertTransition(rollout: Rollout, to: WireState | null): void {
  const from = stateOf(rollout);
  if (to !== null && wireTransitions[from].includes(to)) return;
  throw new AglServerError({
    code: 'ILLEGAL_TRANSITION',
    httpStatus: 409,
    message: `Rollout ${rollout.rolloutId}: cannot transition ${from} -> ${to ?? 'None'}`,
    remedy: 'Read the rollout again: it may have ended.',
  });
}

function attemptNotFound(rolloutId: string, name: string): AglServerError {
  return new AglServerError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    message: `Attempt not found: ${name} of rollout ${rolloutId}`,
    remedy: 'The rollout has ended, or another worker runs it; use the address of the attempt.',
  });
}
