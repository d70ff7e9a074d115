import type { JsonObject } from '@agentlightning/core';
import { aModelCallSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { createStoreServer, openStore } from '../src/index.ts';

const call = { id: 'call_1', type: 'function', function: { name: 'count', arguments: '{"part":"bolt"}' } };
const request = {
  model: 'tiny',
  messages: [
    { role: 'system', content: 'Count.' },
    { role: 'user', content: [{ type: 'text', text: 'Bolts?' }] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '7' },
  ],
  tools: [{ type: 'function', function: { name: 'count', parameters: { type: 'object' } } }],
};
const response = { choices: [{ index: 0, message: { role: 'assistant', content: 'Seven.' }, finish_reason: 'stop' }] };

test('model calls are read below /llm-proxy with the name and attributes of Python’s LLM proxy', async () => {
  const store = await openStore(':memory:');
  const server = await createStoreServer({ store, port: 0, apiKey: 'key' });
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const { sequenceId: _, ...span } = aModelCallSpan({ request, response });
  await store.appendSpans([{ ...span, rolloutId, attemptId: attempt.attemptId }]);
  const spansAt = async (root: string): Promise<readonly JsonObject[]> => {
    const url = `${server.url}${root}/v1/agl/spans?rollout_id=${rolloutId}`;
    const sent = await fetch(url, { headers: { authorization: 'Bearer key' } });
    expect(sent.status).toBe(200);
    return JSON.parse(await sent.text()).items;
  };
  const [plain] = await spansAt('');
  const [proxied] = await spansAt('/llm-proxy');
  expect(plain).toMatchObject({ name: 'openai.chat.completion' });
  expect(JSON.stringify(plain)).not.toContain('gen_ai.prompt.');
  expect(proxied).toMatchObject({
    ...plain,
    name: 'raw_gen_ai_request',
    attributes: {
      'gen_ai.prompt.0.role': 'system',
      'gen_ai.prompt.1.content': 'Bolts?',
      'gen_ai.prompt.2.tool_calls.0.name': 'count',
      'gen_ai.prompt.2.tool_calls.0.arguments': '{"part":"bolt"}',
      'gen_ai.prompt.3.tool_call_id': 'call_1',
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.content': 'Seven.',
      'gen_ai.completion.0.finish_reason': 'stop',
      'gen_ai.request.functions.0.name': 'count',
      'llm.hosted_vllm.prompt_token_ids': expect.stringMatching(/^\[\d+(,\d+)*\]$/),
      'llm.hosted_vllm.response_token_ids': expect.stringMatching(/^\[\[\d+(,\d+)*\]\]$/),
    },
  });
  const refused = await fetch(`${server.url}/llm-proxy/v1/agl/spans?rollout_id=${rolloutId}`);
  expect(refused.status).toBe(401);
  await server.close();
  await store.close();
});
