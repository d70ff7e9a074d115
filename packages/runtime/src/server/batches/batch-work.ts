import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import { type BatchHeader, BatchKind } from '../../gen/agentlightning/runtime/v1/batch_pb.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';
import { packArray } from '../../wire/packed-array.ts';
import type { EngineModel, WorkContext } from '../engine.ts';
import type { HostedModel } from '../hosted-model.ts';
import { invalid } from '../invalid.ts';
import type { OperationOutcome } from '../operation-record.ts';
import { publishBatchMetrics } from '../publish-metrics.ts';
import { columnsNeeded, resolveLoss } from '../resolve-parameters.ts';
import { assertSound, type RuntimeHost } from '../runtime-host.ts';
import type { BatchRules } from './check-datum.ts';

/** The model of the batch. */
export interface BatchPlace {
  readonly host: RuntimeHost;
  readonly model: HostedModel;
  readonly seq: number;
}

/** The work of a batch, derived from its header. */
export interface BatchPlan {
  /** Constraints on the batch's data. */
  readonly rules: BatchRules;
  /** Executes it. */
  readonly execute: (batch: TrainingBatch) => Promise<OperationOutcome>;
}

/**
 * Plans the work of a batch before its payload is received.
 * @throws RuntimeError INVALID, naming the field of the header
 */
export function planBatch(header: BatchHeader, place: BatchPlace): BatchPlan {
  return header.kind === BatchKind.FORWARD ? planForward(header, place) : planLoss(header, place);
}

function planForward(header: BatchHeader, place: BatchPlace): BatchPlan {
  const { model, seq } = place;
  const { useReference, maxVersionLag } = header;
  const execute = async (batch: TrainingBatch): Promise<OperationOutcome> => {
    const engine = assertSound(model);
    assertFresh(batch, engine, maxVersionLag);
    const forward = await engine.forward(batch, { useReference, ...contextOf(batch, place) });
    const output = { logprobs: concatenated(forward.logprobs), values: concatenated(forward.values ?? []) };
    model.operation(seq).output = output;
    const trainedTokens = output.logprobs.byteLength / 4;
    const sizes = { outputBytes: output.logprobs.byteLength, valueOutputBytes: output.values.byteLength };
    return { case: 'batch', value: { loss: 0, trainedTokens, ...sizes } };
  };
  return { rules: rulesOf(place, {}), execute };
}

function planLoss(header: BatchHeader, place: BatchPlace): BatchPlan {
  const { host, model } = place;
  const loss = resolveLoss(header.loss, host.capabilities.losses);
  const needed = columnsNeeded(loss);
  if (needed.value_targets !== undefined && !model.hasValueHead) {
    throw invalid('loss.parameters.value_coefficient', `is not 0, but model "${model.modelId}" has no value head`);
  }
  const execute = async (batch: TrainingBatch): Promise<OperationOutcome> => {
    const engine = assertSound(model);
    assertFresh(batch, engine, header.maxVersionLag);
    const startedAtMs = host.now();
    const result = await engine.forwardBackward(batch, loss, contextOf(batch, place));
    assertFinite(result.loss);
    const tokens = tokensOf(batch);
    publishBatchMetrics(host, model, { result, tokens, durationMs: host.now() - startedAtMs });
    return { case: 'batch', value: { ...result, metrics: { ...result.metrics } } };
  };
  return { rules: rulesOf(place, needed), execute };
}

function rulesOf({ host, model }: BatchPlace, needed: BatchRules['needed']): BatchRules {
  const isUnitTemperature = host.capabilities.features?.includes('unit_temperature') ?? false;
  return { model: host.baseModel(model.baseModel), needed, isUnitTemperature };
}

function contextOf(batch: TrainingBatch, { model, seq }: BatchPlace): WorkContext {
  const tokensTotal = tokensOf(batch);
  return { onProgress: (tokensDone) => model.noteProgress(seq, { tokensDone, tokensTotal }) };
}

function tokensOf({ data }: TrainingBatch): number {
  return data.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
}

/** Checked when the batch starts: only then is the age of its data known. */
function assertFresh({ data }: TrainingBatch, engine: EngineModel, maxVersionLag: number | undefined): void {
  if (maxVersionLag === undefined) return;
  const { policyVersion } = engine.state();
  for (const [datumIndex, { minPolicyVersion }] of data.entries()) {
    const versionLag = policyVersion - minPolicyVersion;
    if (versionLag <= maxVersionLag) continue;
    throw new RuntimeError({
      reason: ErrorReason.STALE_WEIGHTS,
      message: `data[${datumIndex}] was sampled with policy version ${minPolicyVersion}, ${versionLag} behind the current version ${policyVersion}; the batch allows ${maxVersionLag}`,
      field: 'min_policy_version',
      datumIndex,
      staleness: { versionLag, maxVersionLag },
    });
  }
}

function assertFinite(loss: number): void {
  if (Number.isFinite(loss)) return;
  throw new RuntimeError({
    reason: ErrorReason.NON_FINITE,
    message: `The loss of the batch is ${loss}`,
  });
}

function concatenated(arrays: readonly Float32Array[]): Uint8Array {
  const all = new Float32Array(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return packArray(all);
}
