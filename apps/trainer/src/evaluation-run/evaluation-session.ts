import { AgentLightningError, type JsonObject, type JsonValue, type Run, type Store } from '@agentlightning/core';
import { addressText } from '@agentlightning/core/internal';
import { findInStore, waitOptions } from '../opening/open-session.ts';
import { cancelUnfinished } from '../rollouts/collect-rollouts.ts';
import { findOrCreateRecord } from '../run/find-or-create-record.ts';
import type { RunLease } from '../run/run-lease.ts';
import { requiredAttemptTokens } from '../runtime/attempt-secret.ts';
import type { ServiceWait } from '../runtime/wait-for-service.ts';
import type { Closer } from '../session/close-all.ts';
import { startRunner } from '../workers/start-runner.ts';
import type { SubjectOptions } from './evaluate-options.ts';
import type { EvaluationListener } from './evaluation-event.ts';
import type { EvaluatedSubject, EvaluationReport } from './evaluation-report.ts';
import type { EvaluationSettings } from './evaluation-settings.ts';
import { resolveSubject, type Subject } from './subject.ts';

/** A run that evaluates subjects, with its open store and runner. */
export interface EvaluationSession {
  readonly settings: EvaluationSettings;
  readonly store: Store;
  readonly run: Run;
  readonly lease: RunLease;
  /** The evaluated subjects, in order. */
  readonly subjects: readonly Subject[];
  readonly emit: EvaluationListener;
  readonly wait: ServiceWait;
  /** Called when a service that rollouts depend on fails. */
  readonly onFailure: (error: AgentLightningError) => void;
  /** Aborts when the run is stopped, or when a service fails. */
  readonly signal: AbortSignal;
}

/** Options of a session. */
export interface SessionRequest {
  readonly settings: EvaluationSettings;
  readonly options: Pick<SubjectOptions, 'runId' | 'store' | 'signal'>;
  /** The purpose of the run, as its record has it. */
  readonly purpose: 'evaluation' | 'development';
  /** References to the subjects. */
  readonly references: readonly string[];
  readonly tasks: readonly JsonValue[];
  readonly emit: EvaluationListener;
  readonly onOpen: (close: Closer) => void;
}

/**
 * Opens the store, finds the subjects, creates the run, and starts the runner. Nothing is created when a subject does not
 * exist.
 */
export async function openEvaluationSession(request: SessionRequest): Promise<EvaluationSession> {
  const { options, emit, onOpen, references, tasks } = request;
  const attemptTokens = await requiredAttemptTokens(request.settings.shared);
  const settings = withTokens(request.settings, attemptTokens);
  const { shared } = settings;
  const failures = new AbortController();
  const onFailure = (error: AgentLightningError): void => failures.abort(error);
  const onStopRequest = (): void => failures.abort(new DOMException('stop requested', 'AbortError'));
  const signal = AbortSignal.any([failures.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const opening = { store: options.store ?? null, onOpen, emit, signal };
  let subjects: readonly Subject[] = [];
  const found = await findInStore<EvaluationRunState>(opening, shared, async (store) => {
    subjects = await Promise.all(references.map((reference) => resolveSubject(reference, settings, store)));
    const choice = { runId: options.runId ?? null, resume: null, onStopRequest };
    return await findOrCreateRecord(store, choice, {
      name: shared.name,
      shape: {},
      config: recordOf(request, subjects, tasks.length),
      initial: initialEvaluationState,
      read: readEvaluationState,
      resumedState: () => null,
    });
  });
  const { store, run, lease } = found;
  onOpen(startRunner({ config: shared, store, run, emit, onFailure }));
  const wait = waitOptions({ emit, signal }, shared);
  return { settings, store, run, lease, subjects, emit, wait, onFailure, signal };
}

function withTokens(
  settings: EvaluationSettings,
  attemptTokens: EvaluationSettings['shared']['attemptTokens'],
): EvaluationSettings {
  const shared = { ...settings.shared, attemptTokens };
  const { config } = settings;
  return { ...settings, shared, config: 'kind' in config ? { ...config, shared } : { ...config, attemptTokens } };
}

/** The configuration in the store: without functions, keys and passwords. */
function recordOf({ purpose, settings }: SessionRequest, subjects: readonly Subject[], tasks: number): JsonObject {
  const { endpoint, evaluation, shared } = settings;
  const { tags, agents, limits, prices, seed, storeUrl } = shared;
  return JSON.parse(
    JSON.stringify({
      purpose,
      tags,
      subjects: subjects.map(({ label }) => label),
      tasks,
      evaluation,
      endpoint: endpoint === null ? null : { ...endpoint, baseUrl: addressText(endpoint.baseUrl) },
      storeUrl: addressText(storeUrl),
      agents: { concurrency: agents.concurrency },
      limits,
      prices,
      seed,
    }),
  ) as JsonObject;
}

/**
 * Runs the work of a session. When it fails, unfinished rollouts are cancelled and the run has the status `failed`, or
 * `stopped` after an abort.
 *
 * @throws AgentLightningError CANCELLED when the run was stopped; else the error of the work
 */
export async function recordEnd<TResult>(
  { store, run, signal }: Pick<EvaluationSession, 'store' | 'run' | 'signal'>,
  work: () => Promise<TResult>,
): Promise<TResult> {
  try {
    return await work();
  } catch (error) {
    const isStopped = signal.aborted && !AgentLightningError.isInstance(signal.reason);
    // The error that ended the run is the one to report.
    await cancelUnfinished(store, { runId: run.runId }).catch(() => undefined);
    await store.updateRun(run.runId, { status: isStopped ? 'stopped' : 'failed' }).catch(() => undefined);
    if (!isStopped) throw error;
    throw new AgentLightningError({ code: 'CANCELLED', message: `run ${run.runId} was stopped`, cause: error });
  }
}

/** The state of an evaluation, stored with its run. */
export interface EvaluationRunState {
  readonly kind: 'evaluation';
  /** The subject of the comparison; null until evaluated. */
  readonly before: EvaluatedSubject | null;
  /** The evaluated subject; null until evaluated. */
  readonly after: EvaluatedSubject | null;
  readonly comparison: EvaluationReport['comparison'];
}

/** The state of a new evaluation. */
export const initialEvaluationState: EvaluationRunState = {
  kind: 'evaluation',
  before: null,
  after: null,
  comparison: null,
};

/**
 * Evaluations are not resumed: the state of an existing one is not read.
 *
 * @throws AgentLightningError CONFIG
 */
export function readEvaluationState(run: Run): EvaluationRunState {
  throw new AgentLightningError({ code: 'CONFIG', message: `run ${run.runId} cannot be resumed as an evaluation` });
}
