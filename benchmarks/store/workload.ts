import type { HttpLoad, LoadRequest, LoadResult } from './http-load.ts';

/** An attempt that spans can be recorded for. */
export interface OpenAttempt {
  readonly rolloutId: string;
  readonly attemptId: string;
}

/** The parts of a rollout's JSON that loads need. */
interface WireAttempted {
  readonly rollout_id: string;
  readonly attempt: { readonly attempt_id: string };
}

/** A typical small span, about 500 bytes on the wire. */
export function wireSpan(attempt: OpenAttempt, spanId: string, sequenceId: number): object {
  return {
    rollout_id: attempt.rolloutId,
    attempt_id: attempt.attemptId,
    sequence_id: sequenceId,
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    span_id: spanId,
    parent_id: null,
    name: 'chat.completion',
    status: { status_code: 'OK', description: null },
    attributes: { 'gen_ai.request.model': 'small', 'gen_ai.usage.input_tokens': 12, 'gen_ai.usage.output_tokens': 5 },
    events: [],
    links: [],
    start_time: 1_760_000_000.125,
    end_time: 1_760_000_000.625,
    context: null,
    parent: null,
    resource: { attributes: { 'service.name': 'benchmark' }, schema_url: '' },
  };
}

/** A number as the 16 digits of a span's id. */
export function spanIdOf(index: number): string {
  return index.toString(16).padStart(16, '0');
}

/** Starts rollouts and returns their attempts. */
export async function openAttempts(load: HttpLoad, count: number): Promise<readonly OpenAttempt[]> {
  const open: OpenAttempt[] = [];
  for (let index = 0; index < count; index += 1) {
    const body = JSON.stringify({ input: { index } });
    const started = await load.json<WireAttempted>({ method: 'POST', path: '/v1/agl/rollouts', body });
    open.push({ rolloutId: started.rollout_id, attemptId: started.attempt.attempt_id });
  }
  return open;
}

/** Enqueues rollouts. */
export async function enqueue(load: HttpLoad, count: number): Promise<void> {
  const perRequest = 500;
  for (let done = 0; done < count; done += perRequest) {
    const rollouts = Array.from({ length: Math.min(perRequest, count - done) }, (_, index) => ({
      input: { question: `What is ${done + index} times 7?` },
    }));
    await load.send({ method: 'POST', path: '/v1/agl/queues/rollouts/enqueue', body: JSON.stringify({ rollouts }) });
  }
}

/** Records spans, one request each. */
export async function singleSpans(load: HttpLoad, count: number, clients: number): Promise<LoadResult> {
  const attempts = await openAttempts(load, clients);
  return load.closedLoop(count, clients, (index, client) => ({
    method: 'POST',
    path: '/v1/agl/spans',
    body: JSON.stringify(wireSpan(attempts[client] ?? missing(), spanIdOf(index), index + 1)),
  }));
}

/** Records spans in batches: spans per second, and the latency of each batch. */
export async function batchedSpans(
  load: HttpLoad,
  size: { readonly batches: number; readonly perBatch: number; readonly clients: number },
): Promise<LoadResult> {
  const attempts = await openAttempts(load, size.batches);
  // Encoded before the measurement.
  const bodies = attempts.map((attempt) =>
    Buffer.from(
      JSON.stringify({
        spans: Array.from({ length: size.perBatch }, (_, index) => wireSpan(attempt, spanIdOf(index), index + 1)),
      }),
    ),
  );
  const path = '/v1/agl/spans/batch';
  const result = await load.closedLoop(size.batches, size.clients, (index) => ({
    method: 'POST',
    path,
    body: bodies[index] ?? missing(),
  }));
  return { ...result, perSecond: result.perSecond * size.perBatch };
}

/** Claims rollouts from the queue, one per request. */
export async function claims(load: HttpLoad, count: number, workers: number): Promise<LoadResult> {
  await enqueue(load, count);
  return load.closedLoop(count, workers, (_, worker) => claimRequest(worker));
}

/** A worker's request for a rollout. */
export function claimRequest(worker: number): LoadRequest {
  return {
    method: 'POST',
    path: '/v1/agl/queues/rollouts/dequeue',
    body: JSON.stringify({ limit: 1, worker_id: `worker-${worker}` }),
    idempotencyKey: crypto.randomUUID(),
  };
}

function missing(): never {
  throw new Error('the load exceeds the prepared requests');
}
