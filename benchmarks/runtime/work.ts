import type { InferenceEndpoint, TrainingBatch, TrainingDatum } from '@agentlightning/core/training-runtime';
import type { RuntimeModel } from '@agentlightning/runtime';
import { z } from 'zod';

/** The training and sampling work, equal for all contenders. */
export interface Work {
  /** Sequences of a batch. */
  readonly rows: number;
  /** Tokens of a sequence; the first {@link promptTokens} are not trained. */
  readonly rowTokens: number;
  readonly promptTokens: number;
  /** Number of concurrent responses, and their token limit. */
  readonly answers: number;
  readonly answerTokens: number;
  /** Number of responses per request. */
  readonly group: number;
  /** Sampling temperature; a higher one makes the responses of a small model longer. */
  readonly temperature: number;
}

/** An endpoint and its API key, where it requires one. */
export type KeyedEndpoint = InferenceEndpoint & { readonly apiKey?: string | undefined };

/** Seconds of a training step: upload of the batch, gradients, and an Adam step. */
export async function secondsOfStep(model: RuntimeModel, work: Work): Promise<number> {
  const batch: TrainingBatch = { data: Array.from({ length: work.rows }, (_, row) => datumOf(row, work)) };
  const began = performance.now();
  const pass = await model.forwardBackward(batch, { name: 'importance_sampling', parameters: {} });
  const step = await model.optimStep({ learningRate: 1e-6 });
  await Promise.all([pass.result, step.result]);
  return (performance.now() - began) / 1000;
}

function datumOf(row: number, { rowTokens, promptTokens }: Work): TrainingDatum {
  const count = rowTokens - promptTokens;
  return {
    // Printable bytes, as in conversations; no two sequences begin alike, so that nothing is computed once for several.
    tokenIds: Int32Array.from(
      { length: rowTokens },
      (_, at) => 32 + ((at * (37 + Math.floor(row / 90)) + row * 53) % 90),
    ),
    trained: [{ start: promptTokens, end: rowTokens }],
    samplingLogprobs: new Float32Array(count).fill(-3),
    advantages: new Float32Array(count).fill(row % 2 === 0 ? 1 : -1),
    weights: new Float32Array(count).fill(1 / count),
    temperature: 1,
    rolloutId: `ro-${row}`,
    groupId: 'gr',
    minPolicyVersion: 0,
    maxPolicyVersion: 0,
  };
}

/** Tokens per second that an endpoint samples for concurrent requests, each with its own prompt. */
export async function sampledPerSecond(endpoint: KeyedEndpoint, work: Work, round: number): Promise<number> {
  const began = performance.now();
  const callers = Array.from({ length: work.answers / work.group }, (_, index) => `${round}-${index}`);
  const counts = await Promise.all(callers.map((text) => completionTokens(endpoint, work, text)));
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - began) / 1000);
}

const completion = z.object({ usage: z.object({ completion_tokens: z.number() }) });

async function completionTokens({ baseUrl, model, apiKey }: KeyedEndpoint, work: Work, text: string): Promise<number> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify({
      model,
      messages: [{ role: 'user', content: `Tell me of ${text}.` }],
      max_tokens: work.answerTokens,
      temperature: work.temperature,
      n: work.group,
      logprobs: true,
    }),
  });
  if (!response.ok) throw new Error(`${baseUrl} returned ${response.status}: ${await response.text()}`);
  return completion.parse(await response.json()).usage.completion_tokens;
}
