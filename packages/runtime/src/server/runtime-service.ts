import type { RuntimeService } from '../gen/agentlightning/runtime/v1/runtime_pb.ts';
import type { ServiceHandlers } from '../grpc/service-handlers.ts';
import { maxMessageBytes } from '../runtime-limits.ts';
import { assertName } from './invalid.ts';
import type { RuntimeHost } from './runtime-host.ts';

/** The version of the contract, as the capabilities name it. */
export const apiVersion: string = 'v1';

/** Capabilities and sessions. */
export function runtimeHandlers(host: RuntimeHost): ServiceHandlers<(typeof RuntimeService)['method']> {
  const { capabilities, limits, sessions } = host;
  return {
    getCapabilities: async () => ({
      runtimeVersion: capabilities.runtimeVersion,
      apiVersions: [apiVersion],
      device: capabilities.device,
      baseModels: capabilities.models.map((model) => ({ ...model })),
      losses: capabilities.losses.map((loss) => ({ ...loss, defaults: { ...loss.defaults } })),
      maxMessageBytes,
      maxBatchTokens: capabilities.maxBatchTokens,
      ...limits,
    }),
    createSession: async ({ clientSessionKey }) => {
      assertName('client_session_key', clientSessionKey);
      return { sessionId: sessions.open(clientSessionKey) };
    },
    heartbeat: async ({ sessionId }) => {
      host.touch(sessionId);
      return {};
    },
    closeSession: async ({ sessionId }) => {
      sessions.close(sessionId);
      return {};
    },
  };
}
