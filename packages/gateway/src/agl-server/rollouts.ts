import {
  AgentLightningError,
  type AttemptedRollout,
  type Clock,
  type Rollout,
  type RolloutConfig,
  type Store,
} from '@agentlightning/core';
import { type EnqueueRolloutRequest, hasAttempt, isTerminalRolloutStatus } from '@agentlightning/core/store';
import { AglServerError, rolloutNotFound } from './answer-error.ts';
import { attemptIdOf, newSection, type RolloutSection, sectionOf, stateOf, withSection } from './rollout-section.ts';
import { type ServerRun, serverRunId } from './server-run.ts';
import type { TerminalLog } from './terminal-log.ts';
import { Turns } from './turns.ts';
import {
  defaultAttemptName,
  statusesOfState,
  type WireRolloutCreate,
  type WireState,
  type WireStatusPatch,
  wireTransitions,
} from './wire.ts';

/** The name under which controllers of 1.0 appear as workers of the store. */
const controllerWorkerId = 'agl-controller';

/** A controller ends what takes too long itself; the store only does when the controller is gone. */
const controllerGraceMs = 120_000;

const pageSize = 500;

const maxRemembered = 10_000;

/** What the rollouts of the 1.0 protocol are made of. */
export interface AglRolloutsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly run: ServerRun;
  readonly log: TerminalLog;
}

/** The rollouts of the 1.0 protocol, as rollouts of the store. */
export class AglRollouts {
  readonly #options: AglRolloutsOptions;
  readonly #turns: Turns = new Turns();
  /** The attempts of the agents that are at work: by rollout, then by name. */
  readonly #attemptIds: Map<string, Map<string, string>> = new Map();

  constructor(options: AglRolloutsOptions) {
    this.#options = options;
  }

  /** Puts rollouts into the queue; those whose id is known are left alone. */
  async create(requests: readonly WireRolloutCreate[]): Promise<readonly Rollout[]> {
    const { store, clock, run } = this.#options;
    await run.create();
    return await store.enqueueRollouts(requests.map((request) => toEnqueueRequest(request, clock.now())));
  }

  /** @throws AglServerError 404 when there is none */
  async get(rolloutId: string): Promise<Rollout | AttemptedRollout> {
    const rollout = await this.#find(rolloutId);
    if (rollout === null) throw rolloutNotFound(rolloutId);
    return rollout;
  }

  /** Those in one of the states, in the order they came in. */
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

  /** Writes what a controller says. @throws AglServerError 404; 409 for a state that cannot follow */
  async patch(rolloutId: string, patch: WireStatusPatch): Promise<Rollout> {
    return await this.#turns.take(rolloutId, async () => {
      const rollout = await this.get(rolloutId);
      if (Object.values(patch).every((value) => value === undefined)) return rollout;
      if (patch.state !== undefined) assertTransition(rollout, patch.state);
      const isOver = patch.state === 'succeeded' || patch.state === 'failed';
      const current =
        patch.state === 'running' || (isOver && !hasAttempt(rollout))
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

  /** Takes a rollout away with all that hangs on it, finished or not; one that is not there is no error. */
  async delete(rolloutId: string): Promise<void> {
    await this.#turns.take(rolloutId, async () => {
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
   * The store's id of an attempt that a controller, or its agent, names. One that the store does not have yet is
   * opened, because agents may be quicker than their controllers.
   *
   * @throws AglServerError 404 when there is no such rollout or attempt
   */
  async attemptId(rolloutId: string, name: string): Promise<string> {
    const remembered = this.#attemptIds.get(rolloutId)?.get(name);
    if (remembered !== undefined) return remembered;
    return await this.#turns.take(rolloutId, async () => {
      const rollout = await this.get(rolloutId);
      const known = await this.knownAttemptId(rollout, name);
      if (known !== null) return this.#remember(rolloutId, name, known);
      const section = sectionOf(rollout);
      const isRunByOthers = hasAttempt(rollout) && !Object.values(section.attempts).includes(rollout.attempt.attemptId);
      if (isRunByOthers || isTerminalRolloutStatus(rollout.status)) throw attemptNotFound(rolloutId, name);
      const opened = attemptIdOf(sectionOf(await this.#open(rollout, name)), name);
      if (opened === undefined) throw attemptNotFound(rolloutId, name);
      return this.#remember(rolloutId, name, opened);
    });
  }

  /** The store's id of an attempt that is named; null when it has not begun. */
  async knownAttemptId(rollout: Rollout | AttemptedRollout, name: string): Promise<string | null> {
    const named = attemptIdOf(sectionOf(rollout), name);
    if (named !== undefined) return named;
    if (!hasAttempt(rollout)) return null;
    const isControlled = Object.values(sectionOf(rollout).attempts).includes(rollout.attempt.attemptId);
    // Agents that only know 1.0 call every attempt so, also that of one of our own runners.
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

  /** Takes a rollout out of the queue for its controller, unless that is done. */
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
    remedy: 'Read the rollout again: it may have ended meanwhile.',
  });
}

function attemptNotFound(rolloutId: string, name: string): AglServerError {
  return new AglServerError({
    code: 'NOT_FOUND',
    httpStatus: 404,
    message: `Attempt not found: ${name} of rollout ${rolloutId}`,
    remedy: 'The rollout has ended, or is run by somebody else; use the address that the attempt was given.',
  });
}
