import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { randomNumbers } from '../../../../tools/random-numbers.ts';
import type { BagModel } from './bag-model.ts';
import { nextToken, vocabSize } from './bag-policy.ts';

/** An OpenAI-compatible endpoint, as small as the suite's requests allow. */
export interface BagEndpoint {
  readonly baseUrl: string;
  close(): Promise<void>;
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly max_tokens: number;
  readonly temperature: number;
}

/** Serves the models of a map at `/v1/chat/completions`. */
export async function serveBags(models: ReadonlyMap<string, BagModel>): Promise<BagEndpoint> {
  const server = createServer((request, response) => {
    void respond(request, response, models);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  models: ReadonlyMap<string, BagModel>,
): Promise<void> {
  const chat: ChatRequest = JSON.parse(await text(request));
  const model = models.get(chat.model);
  if (model === undefined) {
    response.writeHead(404).end('{"error":{"message":"no such model"}}');
    return;
  }
  if (model.isPaused) {
    response.writeHead(503, { 'retry-after': '1' }).end('{"error":{"message":"paused"}}');
    return;
  }
  const { policyVersion } = model.state();
  response.writeHead(200, {
    'content-type': 'application/json',
    'x-agl-policy-version': String(policyVersion),
  });
  response.end(JSON.stringify(completion(model, chat)));
}

function completion(model: BagModel, chat: ChatRequest): object {
  const conversation = chat.messages.map(({ content }) => content).join('\n');
  const prompt = Array.from(conversation, (letter) => (letter.codePointAt(0) ?? 0) % vocabSize);
  const random = randomNumbers(model.seed);
  const tokens: number[] = [];
  const logprobs: number[] = [];
  while (tokens.length < chat.max_tokens) {
    const next = nextToken(model.served, [...prompt, ...tokens], chat.temperature);
    const token = draw(next.logprobs, random());
    tokens.push(token);
    logprobs.push(next.logprobs[token] ?? 0);
  }
  const content = tokens.map((token, at) => ({ token: String(token), logprob: logprobs[at] }));
  return {
    object: 'chat.completion',
    model: chat.model,
    prompt_token_ids: prompt,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: tokens.join(' ') },
        token_ids: tokens,
        logprobs: { content },
        finish_reason: 'length',
      },
    ],
  };
}

function draw(logprobs: Float64Array, random: number): number {
  let left = random;
  const at = logprobs.findIndex((logprob) => {
    left -= Math.exp(logprob);
    return left < 0;
  });
  return at < 0 ? logprobs.length - 1 : at;
}
