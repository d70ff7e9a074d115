import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TrainingBatch } from '@agentlightning/core/training-runtime';
import type { Way } from './way.ts';

/** JSON in the body of an HTTP request. */
export function jsonWay(port: number): Way {
  const agent = new Agent({ keepAlive: true });
  return {
    name: 'JSON',
    send: async (batch) => {
      const body = Buffer.from(JSON.stringify(plain(batch)));
      await post(body, { agent, port });
      return body.byteLength;
    },
    close: async () => agent.destroy(),
  };
}

function plain({ data }: TrainingBatch): object {
  return data.map(({ tokenIds, samplingLogprobs, advantages, weights, ...rest }) => ({
    ...rest,
    tokenIds: [...tokenIds],
    samplingLogprobs: [...samplingLogprobs],
    advantages: [...advantages],
    weights: [...weights],
  }));
}

function post(body: Buffer, { agent, port }: { readonly agent: Agent; readonly port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const sending = request({ agent, port, method: 'POST', headers: { 'content-length': body.byteLength } });
    sending.on('error', reject);
    sending.on('response', (response) => void text(response).then(resolve, reject));
    sending.end(body);
  });
}
