import type { BenchmarkResult } from '../report.ts';
import { HttpLoad, type LoadRequest } from './http-load.ts';
import { serve } from './serve.ts';
import { latencies } from './throughput.ts';
import { claimRequest, enqueue, openAttempts, spanIdOf, wireSpan } from './workload.ts';

const calls = 2000;
const clients = 8;

/** Latency of each call, below the capacity of the server. */
export async function measureCalls(location: string): Promise<readonly BenchmarkResult[]> {
  const store = await serve(location);
  const load = new HttpLoad(store.url);
  const attempts = await openAttempts(load, 200);
  const attemptOf = (index: number) => attempts[index % attempts.length] ?? { rolloutId: '', attemptId: '' };
  const post = (path: string, body: object): LoadRequest => ({
    method: 'POST',
    path: `/v1/agl${path}`,
    body: JSON.stringify(body),
    idempotencyKey: crypto.randomUUID(),
  });
  const get = (path: string): LoadRequest => ({ method: 'GET', path: `/v1/agl${path}`, body: null });
  const requests: Readonly<Record<string, (index: number, client: number) => LoadRequest>> = {
    enqueue: (index) => post('/queues/rollouts/enqueue', { rollouts: [{ input: { index } }] }),
    claim: (_, client) => claimRequest(client),
    'append a span': (index) => post('/spans', wireSpan(attemptOf(index), spanIdOf(index), index + 1)),
    heartbeat: (_, client) => post(`/workers/worker-${client}`, { heartbeat_stats: { load: 1 } }),
    'get a rollout': (index) => get(`/rollouts/${attemptOf(index).rolloutId}`),
    'list 20 rollouts': () => get('/rollouts?limit=20'),
    'latest attempt': (index) => get(`/rollouts/${attemptOf(index).rolloutId}/attempts/latest`),
    'spans of a rollout': (index) => get(`/spans?rollout_id=${attemptOf(index).rolloutId}`),
    'finish an attempt': (index) => {
      const { rolloutId, attemptId } = attemptOf(index);
      return post(`/rollouts/${rolloutId}/attempts/${attemptId}`, { status: 'succeeded' });
    },
  };
  await enqueue(load, calls);
  const results: BenchmarkResult[] = [];
  for (const [name, requestOf] of Object.entries(requests)) {
    const { latenciesMs } = await load.closedLoop(calls, clients, requestOf);
    results.push(...latencies(`${name}, ${clients} clients`, latenciesMs.slice(calls / 10)));
  }
  load.close();
  await store.close();
  return results;
}
