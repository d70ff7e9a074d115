import { decodeTokens } from '@agentlightning/runtime-cpu/internal';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startScriptedEndpoint } from '../scripted-endpoint.ts';

const tool = (name: string): OpenAI.ChatCompletionFunctionTool => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { key: { type: 'string' } } } },
});

test('the response of the script has the token ids of the embedded model', async () => {
  const { baseUrl } = await startScriptedEndpoint(({ messages, tools }) =>
    messages[0]?.content === 'Hi' ? { content: 'ok' } : { call: { name: tools[1] ?? '', arguments: { key: 'K3' } } },
  );
  const client = new OpenAI({ apiKey: 'none', baseURL: baseUrl });
  const ask = async (content: string) =>
    await client.chat.completions.create({
      model: 'rules',
      messages: [{ role: 'user', content }],
      tools: [tool('a'), tool('b')],
    });
  const [text, call] = [await ask('Hi'), await ask('Call')];
  expect([text.choices[0]?.message.content, text.choices[0]?.finish_reason]).toEqual(['ok', 'stop']);
  expect(call.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'b', arguments: '{"key":"K3"}' } }]);
  const tokensOf = (reply: object): readonly number[] =>
    (reply as { choices: { token_ids: number[] }[] }).choices[0]?.token_ids ?? [];
  expect(decodeTokens(tokensOf(text))).toBe('ok<|end|>');
  expect(decodeTokens(tokensOf(call))).toBe('<|tool_1|>K3<|end|>');
  expect(call.usage?.completion_tokens).toBe(tokensOf(call).length);
});

test('a request that is not a chat completion is rejected', async () => {
  const { baseUrl } = await startScriptedEndpoint(() => ({ content: 'ok' }));
  const response = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', body: '{"model":"rules"}' });
  expect(response.status).toBe(400);
});
