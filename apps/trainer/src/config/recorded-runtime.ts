import { addressText } from '@agentlightning/core/internal';
import type { ResolvedEndpoint } from './resolve-prompt-search.ts';
import type { ResolvedRuntime } from './sections/runtime-config.ts';

/** The runtime settings as stored with a run: without keys. JSON omits `undefined` fields. */
export function recordedRuntime(runtime: ResolvedRuntime | ResolvedEndpoint): Readonly<Record<string, unknown>> {
  const tls = runtime.type === 'grpc' ? runtime.tls : undefined;
  return {
    ...runtime,
    ...('baseUrl' in runtime ? { baseUrl: addressText(runtime.baseUrl) } : {}),
    apiKey: undefined,
    keySource: undefined,
    isScripted: undefined,
    inferenceApiKey: undefined,
    ...(tls === undefined ? {} : { tls: { ...tls, privateKey: undefined } }),
  };
}
