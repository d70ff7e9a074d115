import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { connectRuntime } from '../../client/connect-runtime.ts';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import type { Bench } from '../bench.ts';
import { refusalOf } from '../raw-client.ts';

/** Authentication and capabilities. */
export function describeSessions(bench: Bench): void {
  describe('capabilities and sessions', () => {
    it('reports its models, losses and limits', async () => {
      const capabilities = await (await bench.connect()).capabilities();
      expect(capabilities.models.length).toBeGreaterThan(0);
      for (const model of capabilities.models) expect(model.vocabSize).toBeGreaterThanOrEqual(16);
      const losses = capabilities.losses.map((loss) => loss.name);
      const named = ['cross_entropy', 'importance_sampling', 'ppo', 'cispo', 'gspo', 'dro'];
      expect(losses).toEqual(expect.arrayContaining(named));
      expect(capabilities.maxMessageBytes).toBeGreaterThanOrEqual(4 * 1024 * 1024);
    });

    it.each([undefined, 'wrong-key'])('rejects the key %s', async (key) => {
      const connecting = connectRuntime({
        address: bench.address,
        ...(key === undefined ? {} : { apiKey: key }),
      });
      await expect(connecting).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    });

    it('accepts health probes without a key', async () => {
      const { status } = await bench.raw('').health.check({});
      expect(status).toBe(ServingStatus.SERVING);
    });

    it('returns the same session to the same client', async () => {
      const { runtime } = bench.raw();
      const clientSessionKey = randomUUID();
      const first = await runtime.createSession({ clientSessionKey });
      const again = await runtime.createSession({ clientSessionKey });
      const other = await runtime.createSession({ clientSessionKey: randomUUID() });
      expect(again.sessionId).toBe(first.sessionId);
      expect(other.sessionId).not.toBe(first.sessionId);
    });

    it('refuses a session that was closed', async () => {
      const { runtime } = bench.raw();
      const { sessionId } = await runtime.createSession({ clientSessionKey: randomUUID() });
      await runtime.heartbeat({ sessionId });
      await runtime.closeSession({ sessionId });
      const refusal = await refusalOf(runtime.heartbeat({ sessionId }));
      expect(refusal).toMatchObject({ reason: ErrorReason.SESSION_EXPIRED, code: 'RUNTIME_UNAVAILABLE' });
    });
  });
}
