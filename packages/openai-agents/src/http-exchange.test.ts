import { expect, test } from 'vitest';
import { HttpExchange } from './http-exchange.ts';

const begun = { id: 'chatcmpl-1', choices: [{ index: 0, delta: { content: 'one' } }] };

test.for([
  ['OpenAI', [begun, { error: { message: 'no capacity' } }]],
  ['vLLM', [begun, { object: 'error', message: 'no capacity', code: 500 }]],
  ['Ollama, as the first event', [{ error: 'no capacity' }]],
  ['FastAPI', [begun, { detail: 'no capacity' }]],
  [
    'the Responses API',
    [
      { type: 'response.created', response: { id: 'resp-1', output: [] } },
      { type: 'response.failed', response: { id: 'resp-1', error: { message: 'no capacity' } } },
    ],
  ],
] as const)('a stream error in the format of %s is read', ([, events]) => {
  const exchange = new HttpExchange();
  exchange.sent('{}');
  for (const event of events) exchange.take(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
  exchange.ended();
  expect(exchange.readResponse()).toMatchObject({ failure: 'no capacity', isWhole: false });
});
