import { connectRuntime } from '@agentlightning/runtime';
import type { Way } from './way.ts';

/** The contract: packed arrays in pieces, checked by the runtime before it says that it has them. */
export async function packedWay(address: string): Promise<Way> {
  const runtime = await connectRuntime({ address });
  const model = await runtime.createModel({ baseModel: 'nothing', modelId: 'benchmark', seed: 1 });
  return {
    name: 'packed',
    send: async (batch) => {
      const { result } = await model.forwardBackward(batch, { name: 'importance_sampling', parameters: {} });
      return (await result).metrics['payload_bytes'] ?? Number.NaN;
    },
    close: () => runtime.close(),
  };
}
