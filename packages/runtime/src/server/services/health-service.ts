import type { ServiceImpl } from '@connectrpc/connect';
import { ErrorReason } from '../../gen/agentlightning/runtime/v1/error_pb.ts';
import { type Health, HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import { RuntimeError } from '../../runtime-error.ts';
import type { RuntimeHost } from '../runtime-host.ts';

/** gRPC's health service; needs no key. */
export function healthHandlers(host: RuntimeHost, stopping: AbortSignal): ServiceImpl<typeof Health> {
  const isKnown = (service: string): boolean => service === '' || service.startsWith('agentlightning.runtime.v1.');
  const status = (): { status: ServingStatus } => ({
    status: host.isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING,
  });
  return {
    check: async ({ service }) => {
      if (isKnown(service)) return status();
      throw new RuntimeError({
        reason: ErrorReason.NOT_FOUND,
        message: `Service "${service}" not found`,
      });
    },
    watch: async function* ({ service }, { signal: gone }) {
      if (!isKnown(service)) {
        yield { status: ServingStatus.SERVICE_UNKNOWN };
        await aborted(AbortSignal.any([gone, stopping]));
        return;
      }
      yield status();
      await aborted(AbortSignal.any([gone, stopping]));
      yield { status: ServingStatus.NOT_SERVING };
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
