import { runtimeMetrics } from '@agentlightning/core/metrics';
import type { BatchResult, StepResult } from '@agentlightning/core/training-runtime';
import type { HostedModel } from './hosted-model.ts';
import type { RuntimeHost } from './runtime-host.ts';

/** The work and duration of a pass. */
export interface TimedBatch {
  readonly result: BatchResult;
  /** All tokens of the batch, trained or not. */
  readonly tokens: number;
  readonly durationMs: number;
}

/** Publishes the metrics of a pass over a batch. */
export function publishBatchMetrics(
  host: RuntimeHost,
  model: HostedModel,
  { result, tokens, durationMs }: TimedBatch,
): void {
  const throughput = durationMs > 0 ? { [runtimeMetrics.trainTokensPerSecond.name]: tokens / (durationMs / 1000) } : {};
  measure(host, model, { [runtimeMetrics.trainLoss.name]: result.loss, ...throughput, ...result.metrics });
}

/** Publishes the metrics of a step. */
export function publishStepMetrics(host: RuntimeHost, model: HostedModel, { gradientNorm }: StepResult): void {
  if (gradientNorm === undefined) return;
  measure(host, model, { [runtimeMetrics.optimizerGradientNorm.name]: gradientNorm });
}

function measure(host: RuntimeHost, model: HostedModel, values: Readonly<Record<string, number>>): void {
  const timeMs = host.now();
  const step = model.engine?.state().step ?? 0;
  const ofRuntime = Object.entries(host.engine.measurements?.() ?? {});
  host.metrics.add([
    ...Object.entries(values).map(([name, value]) => ({ modelId: model.modelId, name, value, step, timeMs })),
    ...ofRuntime.map(([name, value]) => ({ modelId: '', name, value, step: 0, timeMs })),
  ]);
}
