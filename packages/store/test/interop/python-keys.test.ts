import { AttemptTokens } from '@agentlightning/core/protocol';
import { expect, test } from 'vitest';
import { createStoreServer, type KeyRole, openStore } from '../../src/index.ts';
import { describeInterop } from './describe-interop.ts';
import { PythonClient } from './python-peer.ts';

const attemptTokens = new AttemptTokens({ secrets: ['s'.repeat(32)] });

describeInterop('the Python client of Agent Lightning 0.3 with a key in its URL', (python) => {
  async function keyed(): Promise<KeyedServer> {
    const store = await openStore(':memory:');
    const server = await createStoreServer({ store, port: 0, attemptTokens });
    const withKey = (key: string): PythonClient =>
      new PythonClient(python, server.url.replace('//', `//agl:${encodeURIComponent(key)}@`));
    return {
      store,
      withKey,
      withRole: async (role) => withKey((await store.createAccessKey({ name: role, role })).key),
      [Symbol.asyncDispose]: async () => {
        await server.close();
        await store.close();
      },
    };
  }

  test('does what its key may, and nothing else', async () => {
    await using server = await keyed();
    await server.store.enqueueRollouts([{ input: 'task' }]);
    await using runner = await server.withRole('worker');
    const claimed = await runner.call<{ attempt: { attempt_id: string } }>('dequeue_rollout', { worker_id: 'w' });
    expect(claimed.attempt.attempt_id).toMatch(/^at-/);
    await expect(runner.call('enqueue_rollout', { input: 'another' })).rejects.toThrow(/403/);
    await using trainer = await server.withRole('trainer');
    expect(await trainer.call('enqueue_rollout', { input: 'another' })).toMatchObject({ status: 'queuing' });
  });

  test('speaks for one attempt with its token, by OpenTelemetry too', async () => {
    await using server = await keyed();
    // From the first key on the server asks for one.
    await server.store.createAccessKey({ name: 'anybody', role: 'admin' });
    const own = await server.store.startRollout({ input: 1 });
    const other = await server.store.startRollout({ input: 2 });
    const ids = { rolloutId: own.rolloutId, attemptId: own.attempt.attemptId };
    await using agent = server.withKey(await attemptTokens.create(ids));
    const of = (rollout: typeof own): { rollout_id: string; attempt_id: string } => ({
      rollout_id: rollout.rolloutId,
      attempt_id: rollout.attempt.attemptId,
    });
    expect(await agent.call('get_next_span_sequence_id', of(own))).toBe(1);
    await expect(agent.call('get_next_span_sequence_id', of(other))).rejects.toThrow(/403/);
    await agent.call('export_by_otlp', of(own));
    const { items } = await server.store.querySpans({ rolloutId: own.rolloutId });
    expect(items.length).toBeGreaterThan(0);
  });
});

interface KeyedServer extends AsyncDisposable {
  readonly store: Awaited<ReturnType<typeof openStore>>;
  readonly withKey: (key: string) => PythonClient;
  readonly withRole: (role: KeyRole) => Promise<PythonClient>;
}
