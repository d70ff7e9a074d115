import { callTool, respondWith, ScriptedModel } from '@agentlightning/core/testing';
import { InMemoryCache } from '@langchain/core/caches';
import { Document } from '@langchain/core/documents';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { BaseLLM } from '@langchain/core/language_models/llms';
import { AIMessageChunk, type AIMessageChunkFields, HumanMessage } from '@langchain/core/messages';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { BaseRetriever } from '@langchain/core/retrievers';
import { RunnableLambda } from '@langchain/core/runnables';
import { tool } from '@langchain/core/tools';
import { createAgent } from 'langchain';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { modelOf, spanNamed, traced } from './traced.ts';

describe('model calls', () => {
  test('a call without an agent is recorded with its request and response', async () => {
    await using model = await ScriptedModel.start([callTool('add', { a: 2, b: 3 })]);
    const add = tool(async () => '5', { name: 'add', description: 'Adds.', schema: z.object({ a: z.number() }) });
    const { spans } = await traced(() =>
      modelOf(model, { temperature: 0.3, topP: 0.9, maxTokens: 200 }).bindTools([add]).invoke('What is 2 + 3?'),
    );
    const { attributes, status } = spanNamed(spans, 'chat tiny');
    expect(status.code).toBe('UNSET');
    expect(attributes).toMatchObject({
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'tiny',
      'gen_ai.request.temperature': 0.3,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.max_tokens': 200,
      'gen_ai.response.id': 'chatcmpl-0',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"What is 2 + 3?"}]}]',
      'agentlightning.stream': false,
    });
    expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
      {
        role: 'assistant',
        parts: [{ type: 'tool_call', id: 'call_0_0', name: 'add', arguments: '{"a":2,"b":3}' }],
        finish_reason: 'tool_calls',
      },
    ]);
    expect(attributes, 'only calls recorded by the gateway are trainable').not.toHaveProperty(
      'agentlightning.trainable',
    );
  });

  test('a cached response is marked and not joined with a call', async () => {
    await using model = await ScriptedModel.start([respondWith('5')]);
    const llm = modelOf(model, { cache: new InMemoryCache() });
    const { spans } = await traced(async () => [await llm.invoke('2 + 3?'), await llm.invoke('2 + 3?')]);
    expect(spans.map(({ attributes }) => attributes['agentlightning.cached'])).toEqual([undefined, true]);
    expect(spans.map(({ attributes }) => attributes['gen_ai.response.id'])).toEqual(['chatcmpl-0', undefined]);
    expect(spans.map(({ attributes }) => attributes['agentlightning.stream'])).toEqual([false, false]);
  });

  test('the choices of a stream are recorded separately', async () => {
    await using model = await ScriptedModel.start([respondWith('one two')]);
    const { spans } = await traced(async () => {
      for await (const _ of await modelOf(model, { n: 2 }).stream('Count.'));
    });
    const { attributes } = spanNamed(spans, 'chat tiny');
    const messages: { parts: unknown }[] = JSON.parse(String(attributes['gen_ai.output.messages']));
    expect(messages.map(({ parts }) => parts)).toEqual([
      [{ type: 'text', content: 'one two' }],
      [{ type: 'text', content: 'one two' }],
    ]);
    expect(attributes['gen_ai.response.finish_reasons']).toEqual(['stop', 'stop']);
  });

  test('cancelling a stream ends its call and keeps the received tool calls', async () => {
    const toolCalls = [{ id: 'call_x', name: 'add', arguments: { a: 2, b: 3 } }];
    await using model = await ScriptedModel.start([
      respondWith('', { toolCalls, pauseAfterChunks: 3, until: new Promise(() => {}) }),
    ]);
    const { spans, tree } = await traced(async () => {
      for await (const piece of await modelOf(model).stream('Add.')) {
        if ((piece.tool_call_chunks ?? []).length > 0) break;
      }
      await model.waitForDisconnects(1);
    });
    expect(tree).toEqual(['chat tiny [partial]']);
    expect(String(spans[0]?.attributes['gen_ai.output.messages'])).toMatch(/"id":"call_x","name":"add"/);
  });

  test('streamed tool arguments and reasoning in Anthropic format are not recorded as text', async () => {
    const pieces: readonly AIMessageChunkFields[] = [
      { content: [{ index: 0, type: 'thinking', thinking: 'Sum.' }] },
      { content: [{ index: 1, type: 'text', text: 'I add.' }] },
      {
        content: [{ index: 2, type: 'input_json_delta', input: '{"a":2}' }],
        tool_call_chunks: [{ index: 2, id: 'call_x', name: 'add', args: '{"a":2}', type: 'tool_call_chunk' }],
      },
      { content: '', additional_kwargs: { stop_reason: 'tool_use' } },
    ];
    class Streaming extends BaseChatModel {
      _llmType(): string {
        return 'streaming';
      }
      async _generate(): Promise<ChatResult> {
        return { generations: [] };
      }
      override async *_streamResponseChunks(...args: Parameters<BaseChatModel['_streamResponseChunks']>) {
        for (const fields of pieces) {
          const [block] = Array.isArray(fields.content) ? fields.content : [];
          const text = String(block?.['text'] ?? block?.['input'] ?? '');
          const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(fields) });
          yield chunk;
          await args[2]?.handleLLMNewToken(text, { prompt: 0, completion: 0 }, undefined, undefined, undefined, {
            chunk,
          });
        }
      }
    }
    const { spans } = await traced(async () => {
      for await (const _ of await new Streaming({}).stream('Add.'));
      for await (const piece of await new Streaming({}).stream('Add.')) {
        if ((piece.tool_call_chunks ?? []).length > 0) break;
      }
    });
    const answered = spans.map(({ attributes }) => JSON.parse(String(attributes['gen_ai.output.messages']))[0]);
    const parts = [
      { type: 'reasoning', content: 'Sum.' },
      { type: 'text', content: 'I add.' },
      { type: 'tool_call', id: 'call_x', name: 'add', arguments: '{"a":2}' },
    ];
    expect(answered).toMatchObject([{ parts, finish_reason: 'tool_use' }, { parts }]);
  });

  test('concurrent calls of one model are attributed to their own spans', async () => {
    await using model = await ScriptedModel.start(({ messages }) => respondWith(String(messages[0]?.content)));
    const llm = modelOf(model);
    const endpoint = { baseUrl: model.baseUrl, model: 'policy', apiKey: 'key' };
    const { spans } = await traced(() => Promise.all(['a', 'b', 'c'].map((text) => llm.invoke(text))), { endpoint });
    expect(model.requests).toHaveLength(3);
    for (const { headers, messages } of model.requests) {
      const span = spans.find(({ spanId }) => spanId === headers['x-agl-parent-span-id']);
      expect(String(span?.attributes['gen_ai.input.messages'])).toContain(`"${messages[0]?.content}"`);
    }
  });

  test('text models are recorded like chat models', async () => {
    class Echo extends BaseLLM {
      _llmType(): string {
        return 'echo';
      }
      async _generate(prompts: string[]) {
        return { generations: prompts.map((text) => [{ text: `${text}!` }]) };
      }
    }
    const { spans } = await traced(() => new Echo({}).invoke('hello'));
    expect(spans[0]?.attributes).toMatchObject({
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"hello"}]}]',
      'gen_ai.output.messages':
        '[{"role":"assistant","parts":[{"type":"text","content":"hello!"}],"finish_reason":null}]',
    });
  });
});

describe('chains', () => {
  test('unnamed chains are hidden, and named ones are steps', async () => {
    await using model = await ScriptedModel.start([respondWith('five')]);
    const chain = ChatPromptTemplate.fromMessages([['user', '{question}']])
      .pipe(modelOf(model))
      .pipe(new StringOutputParser())
      .pipe(RunnableLambda.from((text: string) => text.trim()))
      .pipe(RunnableLambda.from((text: string) => text.toUpperCase()).withConfig({ runName: 'shout' }))
      .withConfig({ runName: 'answer loudly' });
    const { tree, result } = await traced(() => chain.invoke({ question: '2 + 3?' }));
    expect(result).toBe('FIVE');
    expect(tree).toEqual(['answer loudly', '  chat tiny', '  shout']);
  });

  test('a retriever is recorded with its query and documents', async () => {
    class Shelf extends BaseRetriever {
      lc_namespace: string[] = ['test'];
      override async _getRelevantDocuments(query: string): Promise<Document[]> {
        return [new Document({ pageContent: `about ${query}`, metadata: { page: 7 } })];
      }
    }
    const { spans } = await traced(() => new Shelf().invoke('lightning'));
    const { attributes } = spanNamed(spans, 'retrieval Shelf');
    expect(attributes['gen_ai.retrieval.query.text']).toBe('lightning');
    expect(JSON.parse(String(attributes['gen_ai.retrieval.documents']))).toMatchObject([
      { pageContent: 'about lightning', metadata: { page: 7 } },
    ]);
  });
});

describe('the names of agents', () => {
  test('a user-defined name in metadata or tags takes precedence, inherited duplicates are dropped', async () => {
    await using model = await ScriptedModel.start(() => respondWith('5'));
    const llm = modelOf(model);
    const chain = RunnableLambda.from(async (text: string) => {
      await llm.withConfig({ tags: ['agl:agent=critic'] }).invoke(text);
      return (await llm.invoke(text)).text;
    });
    const { spans } = await traced(() => chain.invoke('2 + 3?', { metadata: { agl_agent: 'writer' } }));
    const calls = spans.filter(({ name }) => name === 'chat tiny');
    expect(calls.map(({ attributes }) => attributes['agentlightning.agent.path'])).toEqual(['writer>critic', 'writer']);
    expect(calls.map(({ attributes }) => attributes['agent.name'])).toEqual(['critic', 'writer']);
  });

  test('a nested user-defined name takes precedence over the inherited one', async () => {
    await using model = await ScriptedModel.start(() => respondWith('5'));
    const critic = modelOf(model).withConfig({ tags: ['agl:agent=critic'] });
    // LangChain inherits run settings only after LangGraph is loaded, which `langchain` does.
    const chain = RunnableLambda.from(async (text: string) => (await critic.invoke(text)).text);
    const { spans } = await traced(async () => {
      await chain.invoke('2 + 3?', { metadata: { agl_agent: 'writer' } });
      await chain.invoke('2 + 3?', { tags: ['agl:agent=writer'] });
    });
    const calls = spans.filter(({ name }) => name === 'chat tiny');
    expect(calls.map(({ attributes }) => attributes['agentlightning.agent.path'])).toEqual([
      'writer>critic',
      'writer>critic',
    ]);
  });

  test('an agent has its creation name, independent of the run name', async () => {
    await using model = await ScriptedModel.start(({ messages, body }) =>
      body.tools === undefined || messages.at(-1)?.role === 'tool' ? respondWith('5') : callTool('ask', {}),
    );
    const question = { messages: [{ role: 'user', content: '2 + 3?' }] };
    const adder = createAgent({ model: modelOf(model), tools: [], name: 'adder' });
    const ask = tool(async () => (await adder.invoke(question, { runName: 'an inner run' })).messages.at(-1)?.text, {
      name: 'ask',
      description: 'Asks.',
      schema: z.object({}),
    });
    const boss = createAgent({ model: modelOf(model), tools: [ask], name: 'boss' });
    const { spans } = await traced(() => boss.invoke(question, { runName: 'evaluation 17' }));
    const calls = spans.filter(({ name }) => name === 'chat tiny');
    expect(calls.map(({ attributes }) => attributes['agentlightning.agent.path'])).toEqual([
      'boss',
      'boss>adder',
      'boss',
    ]);
  });
});

test('the requests of a batch are attributed to the run of each prompt', async () => {
  await using model = await ScriptedModel.start(({ messages }) => respondWith(`to ${messages[0]?.content}`));
  const endpoint = { baseUrl: model.baseUrl, model: 'policy', apiKey: 'key' };
  const prompts = ['a', 'b', 'c'].map((content) => [new HumanMessage(content)]);
  const { spans } = await traced(() => modelOf(model).generate(prompts), { endpoint });
  const inputs = new Map(spans.map(({ spanId, attributes }) => [spanId, attributes['gen_ai.input.messages']]));
  const placed = model.requests.map(({ headers, messages }) => {
    const input = String(inputs.get(String(headers['x-agl-parent-span-id'])));
    return input.includes(`"content":"${messages[0]?.content}"`);
  });
  expect(placed).toEqual([true, true, true]);
});
