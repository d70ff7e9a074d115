import { createHash } from 'node:crypto';
import { AgentLightningError } from '@agentlightning/core';
import { backoffMs, systemClock } from '@agentlightning/core/internal';
import { runMetrics } from '@agentlightning/core/metrics';
import type { TrainingSummary } from '@agentlightning/core/protocol';
import { environmentVariables } from '../config/environment.ts';
import type { ResolvedConfig } from '../config/resolve-config.ts';
import type { ResolvedRuntime } from '../config/sections/runtime-config.ts';
import type { TrainingListener } from '../events/training-listener.ts';
import { summariseRun } from '../loop/summarise-run.ts';
import type { OpenRun } from '../opening/open-session.ts';
import { type RunState, type VendorState, writeState } from '../run/run-state.ts';
import { noEvaluation } from '../run/stored-evaluation.ts';
import { FineTuningApi, type FineTuningJob, type FineTuningJobEvent, type JobRequest } from './fine-tuning-api.ts';
import { vendorFile } from './vendor-file.ts';

/** The runtime of a vendor that trains on files. */
export type FineTuningRuntime = Extract<ResolvedRuntime, { readonly type: 'openai-fine-tuning' }>;

/** A run that a vendor trains. */
export interface FineTuningSession extends OpenRun {
  readonly config: ResolvedConfig;
  readonly runtime: FineTuningRuntime;
  readonly emit: TrainingListener;
  readonly signal: AbortSignal;
}

/** Intervals of the first polls are short: small jobs end within seconds. */
const pollBackoff = { baseDelayMs: 50, maxDelayMs: 10_000 };

/**
 * Trains at a vendor: uploads the data, creates a job, follows it, and records the name of the new model. Each id is recorded
 * immediately, and looked up where it was not, so that a resumed run neither uploads nor pays twice.
 *
 * @throws AgentLightningError UPSTREAM_FAILED when the job fails, CANCELLED when it is cancelled at the vendor
 */
export async function fineTune(session: FineTuningSession): Promise<TrainingSummary> {
  const { config, run, tasks, runtime } = session;
  const startMs = systemClock.now();
  const api = await FineTuningApi.open({
    baseUrl: runtime.baseUrl,
    apiKey: runtime.apiKey ?? keyOf(runtime),
    outageToleranceMs: config.limits.outageToleranceMs,
    signal: session.signal,
  });
  let vendor = session.state.vendor ?? { fileId: null, jobId: null, eventId: null, model: null };
  const save = async (changes: Partial<VendorState>): Promise<void> => {
    vendor = { ...vendor, ...changes };
    await session.store.updateRun(run.runId, { state: writeState({ ...session.state, vendor }) });
  };
  if (vendor.fileId === null) await save({ fileId: await upload(session, api) });
  if (vendor.jobId === null) {
    await save({ jobId: await api.createJob(jobRequest(config, runtime, vendor.fileId ?? '')) });
  }
  const job = await follow(session, { api, jobId: vendor.jobId ?? '', eventId: vendor.eventId, save });
  const model = finishedModel(job);
  session.emit({ type: 'fine-tuning', message: `the model is ${model}`, jobId: job.id });
  const state: RunState = {
    ...session.state,
    finishedStep: config.steps,
    before: noEvaluation(1),
    after: noEvaluation(1),
    vendor: { ...vendor, model },
  };
  await session.lease.renew();
  await session.store.updateRun(run.runId, { status: 'finished', state: writeState(state) });
  return summariseRun({ run, state, tasks, config, seconds: (systemClock.now() - startMs) / 1000 });
}

async function upload({ data, config, run, emit }: FineTuningSession, api: FineTuningApi): Promise<string> {
  if (data === null) throw new AgentLightningError({ code: 'INTERNAL', message: `run ${run.runId} has no data` });
  const content = await vendorFile(data, config.algorithm);
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const name = `${run.runId}-${digest}.jsonl`;
  emit({ type: 'fine-tuning', message: `uploading ${name}`, jobId: null });
  return await api.upload(name, content);
}

function jobRequest({ algorithm, seed }: ResolvedConfig, runtime: FineTuningRuntime, fileId: string): JobRequest {
  const epochs = runtime.epochs === undefined ? {} : { n_epochs: runtime.epochs };
  const request = { model: runtime.model, training_file: fileId, seed: seed % 2 ** 31 };
  if (algorithm.type !== 'dpo') {
    return { ...request, method: { type: 'supervised', supervised: { hyperparameters: epochs } } };
  }
  const beta = algorithm.beta === undefined ? {} : { beta: algorithm.beta };
  return { ...request, method: { type: 'dpo', dpo: { hyperparameters: { ...epochs, ...beta } } } };
}

interface FollowedJob {
  readonly api: FineTuningApi;
  readonly jobId: string;
  /** The last event that was reported. */
  readonly eventId: string | null;
  readonly save: (changes: Partial<VendorState>) => Promise<void>;
}

/** Reports the events of a job until it has ended. */
async function follow(session: FineTuningSession, { api, jobId, eventId, save }: FollowedJob): Promise<FineTuningJob> {
  let last = eventId;
  for (let poll = 1; ; poll += 1) {
    const job = await api.job(jobId);
    const events = await api.eventsAfter(jobId, last);
    for (const event of events) await report(session, event, jobId);
    last = events.at(-1)?.id ?? last;
    await session.lease.renew();
    if (events.length > 0) await save({ eventId: last });
    if (isEnded(job)) return job;
    await systemClock.sleep(backoffMs(pollBackoff, events.length > 0 ? 1 : poll), session.signal);
  }
}

/** An event as progress; its metrics as those of a step. */
async function report(
  { emit, store, run }: FineTuningSession,
  event: FineTuningJobEvent,
  jobId: string,
): Promise<void> {
  emit({ type: 'fine-tuning', message: event.message, jobId });
  const { data } = event;
  if (event.type !== 'metrics' || typeof data !== 'object' || data === null) return;
  const step = Reflect.get(data, 'step');
  const loss = Reflect.get(data, 'train_loss');
  if (typeof step !== 'number' || !Number.isInteger(step) || typeof loss !== 'number') return;
  const values = { [runMetrics.policyLoss.name]: loss };
  await store.updateRun(run.runId, {}, [{ runId: run.runId, step, timeMs: event.created_at * 1000, values }]);
}

function isEnded({ status }: FineTuningJob): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

function finishedModel({ id, status, error, fine_tuned_model: model }: FineTuningJob): string {
  if (status === 'succeeded' && model !== null) return model;
  const reason = error?.message === undefined ? '' : `: ${error.message}`;
  throw new AgentLightningError({
    code: status === 'cancelled' ? 'CANCELLED' : 'UPSTREAM_FAILED',
    message: `the fine-tuning job ${id} ${status === 'cancelled' ? 'was cancelled' : 'failed'} at the vendor${reason}`,
    remedy: 'Correct the cause, and start a new run: a job cannot be started again.',
    details: { jobId: id },
  });
}

function keyOf({ baseUrl }: FineTuningRuntime): string {
  const key = environmentVariables()['OPENAI_API_KEY'] ?? '';
  if (key !== '') return key;
  throw new AgentLightningError({
    code: 'CONFIG',
    message: `the fine-tuning API at ${baseUrl} needs a key, and neither \`runtime.apiKey\` nor OPENAI_API_KEY is set`,
    remedy: 'Set OPENAI_API_KEY to the key of the vendor.',
  });
}
