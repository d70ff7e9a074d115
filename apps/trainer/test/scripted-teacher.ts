import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';

/** A response other than the scores of the prompt. */
export interface ScriptedScores {
  readonly status?: number;
  readonly body?: unknown;
  /** Never responds. */
  readonly isSilent?: boolean;
}

/** The body of a request, as vLLM validates it. */
async function readRequest(request: IncomingMessage): Promise<readonly number[]> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  const { model, prompt, max_tokens: maxTokens, prompt_logprobs: count, ...others } = JSON.parse(text);
  expect({ model, maxTokens, count, others }).toEqual({ model: 'large', maxTokens: 1, count: 1, others: {} });
  expect(request).toMatchObject({ method: 'POST', url: '/v1/completions' });
  expect(request.headers.authorization).toBe('Bearer key');
  return prompt;
}

/** A server of the test. */
export interface ScriptedTeacher {
  readonly url: string;
  /** The prompts so far. */
  readonly requests: readonly (readonly number[])[];
  /** Ends it in the middle of a test. */
  readonly stop: () => void;
}

/** A server that responds as scripted, and afterwards with the scores of a model of bytes. */
export async function scriptedTeacher(script: readonly ScriptedScores[] = []): Promise<ScriptedTeacher> {
  const requests: number[][] = [];
  const rest = [...script];
  const server = createServer((request, response) => {
    void readRequest(request).then((prompt) => {
      requests.push([...prompt]);
      const { status = 200, body = completion(prompt), isSilent = false } = rest.shift() ?? {};
      if (!isSilent) response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, stop };
}

/** As of vLLM: null for the first token; for others the token, and the likeliest one where it is another. */
function completion(prompt: readonly number[]): object {
  const scores = prompt.map((id, position) =>
    position === 0
      ? null
      : {
          [String(id)]: { logprob: -id / 100, rank: 2, decoded_token: String.fromCharCode(id) },
          [String(id + 1)]: { logprob: -0.01, rank: 1, decoded_token: String.fromCharCode(id + 1) },
        },
  );
  return { choices: [{ index: 0, text: 'x', finish_reason: 'length', prompt_logprobs: scores }] };
}
